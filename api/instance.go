package api

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

// exampleInstance shows in errors what an identifier looks like.
const exampleInstance = "0197c0de-0000-7000-8000-000000000001"

// NewInstance makes the identifier of an instance that is about to be started.
func NewInstance() (InstanceID, error) { return uuid.NewV7() }

// KeyedInstance derives the identifier of an instance from a key of the caller's, so
// that starting twice with one key starts one instance (N2). It is a UUIDv8: the first
// bits of a SHA-256 over the process's name, without version, and the key.
func KeyedInstance(processName, key string) InstanceID {
	h := sha256.New()
	h.Write([]byte("fmqm start key 1"))
	for _, s := range []string{processName, key} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	id := InstanceID(h.Sum(nil)[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseInstance reads the identifier of an instance as it is printed.
func ParseInstance(s string) (InstanceID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 { // uuid.Parse takes other forms too
		return InstanceID{}, Errorf(CodeUsage, "write it as start and list print it, such as "+exampleInstance, "%q is not the identifier of an instance", s)
	}
	return id, nil
}
