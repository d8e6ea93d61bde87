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
				key := AppendMessageKey(nil, id, &entry, message.Key{Kind: message.KindConnector, Source: "s", Scope: scope})
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

// N11: each message of an entry has a key of its own, among those of its entry alone, that can be
// read again, also where it stands in a longer one; the key of a plain message is what it was.
func TestN11EachMessageHasAKeyOfItsEntry(t *testing.T) {
	id := processtable.ProcessID{Name: "p", Version: 1}
	scopes := []message.Scope{"", "pay#1", "pay#10", "pay", "line[3]#1/pick"}
	seen := map[string]bool{}
	for _, activity := range []processtable.ActivityID{"a", "ab", "pay"} {
		for _, scope := range scopes {
			entry := message.Entry{Instance: message.InstanceID{1, 0, 1}, Scope: scope, Activity: activity}
			prefix := AppendEntry(AppendProcess(nil, ClassMessage, id), &entry)
			for _, source := range []processtable.ActivityID{"", "s", "sa"} {
				for _, from := range scopes {
					for _, number := range []uint64{0, 1, 1 << 8, 1<<64 - 1} {
						want := message.Key{Kind: message.KindConnector, Source: source, Scope: from, Number: number}
						key := AppendMessageKey(nil, id, &entry, want)
						if seen[string(key)] || !bytes.HasPrefix(key, prefix) {
							t.Fatalf("%+v of %+v: key %q: there already, or not of its entry", want, entry, key)
						}
						seen[string(key)] = true
						if plain := string(prefix) + "\x01" + string(source); (from == scope && number == 0) != (string(key) == plain) {
							t.Fatalf("%+v of %+v: key %q, and a plain one is %q", want, entry, key, plain)
						}
						for _, behind := range []string{"", "\x00peer\x00\x00"} {
							k := KeyReader{Rest: append(bytes.Clone(key[1:]), behind...)}
							k.Process()
							e := k.Entry()
							if got := k.MessageKey(&e); got != want || e != entry || k.Bad || string(k.Rest) != behind {
								t.Fatalf("key %q is read as %+v of %+v, and %q behind it", key, got, e, k.Rest)
							}
						}
					}
				}
			}
		}
	}
	for _, key := range []string{"", "\x01s\x01", "\x01s\x01x\x00123", "\x01s\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
		k := KeyReader{Rest: []byte(key)}
		if got := k.MessageKey(&message.Entry{}); k.End() == nil {
			t.Errorf("key %q is read as %+v", key, got)
		}
	}
}

// N11: a message's record has its arrival number, but for those of version 1, which stay readable
// and came before all others.
func TestN11MessagesHaveArrivalNumbers(t *testing.T) {
	m := message.Message{Header: message.Header{
		Queue:    message.Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A"},
		Instance: message.InstanceID{1}, Activity: "a", Source: "s", Kind: message.KindConnector, Control: message.True,
	}}
	encoded, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	entry := m.Entry()
	key := AppendMessageKey(nil, m.Queue.Process, &entry, m.Key())
	second := End(append(append(BeginMessage(nil), PlaceInline), encoded...))
	SealMessage(key, second, message.Arrival{Commit: 0x0102, Index: 3})
	for _, tc := range []struct {
		value []byte
		head  string
		want  message.Arrival
	}{
		{New(key, append([]byte{PlaceInline}, encoded...)...), "\x01\x00", message.Arrival{}},
		{second, "\x02\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x03\x00", message.Arrival{Commit: 258, Index: 3}},
	} {
		if want := tc.head + string(encoded); string(tc.value[:len(tc.value)-CRCSize]) != want {
			t.Errorf("record %x, want %x", tc.value, want)
		}
		s, err := ReadMessage(key, tc.value)
		if err != nil || s.Message.Arrival != tc.want || s.Message.Header != m.Header {
			t.Errorf("%x is read as %+v, %v", tc.value, s.Message, err)
		}
		if at, err := ReadArrival(key, tc.value); err != nil || at != tc.want {
			t.Errorf("%x: arrived as %v, %v", tc.value, at, err)
		}
		if _, staged, err := RefOf(key, tc.value); staged || err != nil {
			t.Errorf("%x: staged %t, %v", tc.value, staged, err)
		}
	}
	short := append([]byte{MessageVersion}, make([]byte, 4+CRCSize)...)
	Seal(key, short)
	if _, err := ReadMessage(key, short); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record without its number: %v", err)
	}
	for _, later := range []message.Arrival{{Commit: 1}, {Commit: 1, Index: 1}, {Commit: 2}} {
		if (message.Arrival{}).Compare(later) >= 0 || later.Compare(message.Arrival{Commit: 1<<64 - 1}) >= 0 || later.Compare(later) != 0 {
			t.Errorf("%v is in the wrong order", later)
		}
	}
}

// TestRecords: a record is what its key says, of this version, and whole.
func TestRecords(t *testing.T) {
	key := []byte("tkey")
	value := New(key, 1, 2, 3)
	if content, err := Open(key, value); err != nil || !bytes.Equal(content, []byte{1, 2, 3}) {
		t.Fatalf("content %x, %v", content, err)
	}
	if _, err := Open([]byte("tkez"), value); !errors.Is(err, ErrDamaged) {
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
	if _, err := Open(key, later); err == nil || err.Error() != `record "tkey": it has version 2, and this program knows up to 1: `+ErrDamaged.Error() {
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

// What waits apart has its place among what was sent, also where that is as much as an audit
// record can name.
func TestPlaceOfWhatWaitsApart(t *testing.T) {
	sent := SentAt{Key: []byte("H"), Index: maxMentions - 1, Of: maxMentions}
	op := NewApart(&Apart{Peer: "B", Number: 1, Sent: sent}, []byte{PlaceInline})
	if got, err := ReadApart(op.Key, op.Value); err != nil || got.Sent.Index != sent.Index || got.Sent.Of != sent.Of {
		t.Errorf("it is read as %+v, %v", got.Sent, err)
	}
}
