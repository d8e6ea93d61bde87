package record

import (
	"bytes"
	"errors"
	"testing"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// TestKeys: keys sort as names do, and can be read again, whatever the names.
func TestKeys(t *testing.T) {
	names := []string{"a", "a-b", "a0", "aB", "a_", "ab", "b"}
	var last []byte
	for _, name := range names {
		for _, version := range []int{1, 2, 255, 256, 1 << 30} {
			for _, scope := range []message.Scope{"", "x", "x/1"} {
				entry := message.Entry{Instance: message.InstanceID{1}, Scope: scope, Activity: "act"}
				id := processtable.ProcessID{Name: name, Version: version}
				key := AppendMessageKey(nil, id, &entry, message.Key{Kind: message.KindConnector, Source: "s"})
				if bytes.Compare(last, key) >= 0 {
					t.Errorf("key %q is not behind %q", key, last)
				}
				last = key
				k := KeyReader{Rest: key[1:]}
				if p, e := k.Process(), k.Entry(); p != id || e != entry || string(k.Rest) != "\x01s" {
					t.Errorf("key %q is read as %v %v %q", key, p, e, k.Rest)
				}
			}
		}
	}
	k := KeyReader{Rest: []byte("no end")}
	if k.Name(); k.End() == nil {
		t.Error("a key without an end was read")
	}
	k = KeyReader{Rest: []byte{1, 2}}
	if k.Uint64(); k.End() == nil {
		t.Error("a key that is too short was read")
	}
	if store.After([]byte{0xff, 0xff}) != nil || !bytes.Equal(store.After([]byte{1, 0xff}), []byte{2}) {
		t.Error("what comes behind a prefix is wrong")
	}
}

// TestRecords: a record is what its key says, of this version, and whole.
func TestRecords(t *testing.T) {
	key := []byte("qkey")
	value := New(key, 1, 2, 3)
	if content, err := Open(key, value); err != nil || !bytes.Equal(content, []byte{1, 2, 3}) {
		t.Fatalf("content %x, %v", content, err)
	}
	if _, err := Open([]byte("qkez"), value); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another key: %v", err)
	}
	for bit := range 8 * len(value) {
		damaged := bytes.Clone(value)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := Open(key, damaged); !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	for size := range value {
		if _, err := Open(key, value[:size]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	later := bytes.Clone(value)
	later[0] = 2
	Seal(key, later)
	if _, err := Open(key, later); err == nil || err.Error() != `record "qkey": it has version 2, and this program knows up to 1: `+ErrDamaged.Error() {
		t.Errorf("later version: %v", err)
	}
	for name, content := range map[string][]byte{
		"nothing": {}, "unknown form": {9}, "short reference": {PlaceStaged, 1, 2},
	} {
		if _, _, err := ReadPlace(key, content); !errors.Is(err, ErrDamaged) {
			t.Errorf("place of %s: %v", name, err)
		}
	}
}
