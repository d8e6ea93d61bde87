package record

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"fmqm/message"
)

// StoredMessage is a message as it was read, before its staged body was.
type StoredMessage struct {
	key     []byte
	Message message.Message
	Place   Place
}

// ReadMessage reads a message's record; nothing of it is a part of value.
func ReadMessage(key, value []byte) (s StoredMessage, err error) {
	version, content, err := openVersion(key, value)
	if err != nil {
		return s, err
	}
	arrival, content, err := takeArrival(key, version, content)
	if err != nil {
		return s, err
	}
	var encoded []byte
	if s.Place, encoded, err = ReadPlace(key, bytes.Clone(content)); err != nil {
		return s, err
	}
	if s.Place.Ref.Count == 0 {
		encoded = s.Place.Inline
	}
	s.key = key
	if s.Message, err = message.Decode(encoded); err != nil {
		return s, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read its message"), err)
	}
	s.Message.Arrival = arrival
	return s, nil
}

// NewCommits gives the record at KeyCommits.
func NewCommits(n uint64) []byte {
	return New(KeyCommits, binary.BigEndian.AppendUint64(nil, n)...)
}

// ReadCommits reads it.
func ReadCommits(key, value []byte) (uint64, error) {
	content, err := Open(key, value)
	if err == nil && len(content) != 8 {
		err = Damaged(key, "this program does not know the form of its content")
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(content), nil
}

// arrivalSize is how much of a message's record its arrival number takes.
const arrivalSize = 8 + 4

// takeArrival takes the arrival number off a message's content.
func takeArrival(key []byte, version byte, content []byte) (at message.Arrival, rest []byte, err error) {
	switch {
	case version < MessageVersion:
		return at, content, nil
	case len(content) < arrivalSize:
		return at, nil, Damaged(key, "it is too short")
	}
	at.Commit, at.Index = binary.BigEndian.Uint64(content), binary.BigEndian.Uint32(content[8:])
	return at, content[arrivalSize:], nil
}

// ReadArrival reads the arrival number of a message's record, and nothing else of it.
func ReadArrival(key, value []byte) (message.Arrival, error) {
	version, content, err := openVersion(key, value)
	if err != nil {
		return message.Arrival{}, err
	}
	at, _, err := takeArrival(key, version, content)
	return at, err
}

// BeginMessage begins the record of a message in a process queue: its arrival number is not
// known yet.
func BeginMessage(b []byte) []byte {
	var arrival [arrivalSize]byte
	return append(append(b, MessageVersion), arrival[:]...)
}

// SealMessage completes what BeginMessage has begun: with the arrival number and the checksum.
func SealMessage(key, value []byte, at message.Arrival) {
	binary.BigEndian.PutUint64(value[1:], at.Commit)
	binary.BigEndian.PutUint32(value[1+8:], at.Index)
	Seal(key, value)
}

// EntryMessages is an entry with its messages, in the order of their keys.
type EntryMessages struct {
	Entry    message.Entry
	Messages []message.Message
}
