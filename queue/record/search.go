package record

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	// MaxSearch is how many members of its input a process may declare to be found by.
	MaxSearch = processtable.MaxSearch
	// MaxSearchText is how much of a string the index has, in bytes.
	MaxSearchText = 64
	// maxSearchValue is the size of the largest value of the index.
	maxSearchValue = 1 + MaxSearchText
)

// SearchType says of what type a value of the index is: of several versions of one process a member may have several. The
// numbers are part of the format.
type SearchType byte

// The types.
const (
	SearchBool   SearchType = 'b'
	SearchInt    SearchType = 'i'
	SearchString SearchType = 's'
	SearchTime   SearchType = 't'
)

// SearchValue is the value of a member as the index of values has it: its type, and bytes that sort as the values do. Of a
// string these are its first MaxSearchText.
type SearchValue []byte

// Type is that of the member.
func (v SearchValue) Type() SearchType {
	if len(v) == 0 {
		return 0
	}
	return SearchType(v[0])
}

// Searched is what an instance is found by: a member of its input, as a path, and its value.
type Searched struct {
	Member string
	Value  SearchValue
}

// SearchText, SearchIntOf, SearchBoolOf and SearchTimeOf give values of the index.
func SearchText(s string) SearchValue {
	return append(SearchValue{byte(SearchString)}, s[:min(len(s), MaxSearchText)]...)
}

// SearchIntOf is described at SearchText.
func SearchIntOf(n int64) SearchValue {
	return binary.BigEndian.AppendUint64(SearchValue{byte(SearchInt)}, uint64(n)^(1<<63)) // negative numbers come first
}

// SearchBoolOf is described at SearchText.
func SearchBoolOf(is bool) SearchValue {
	if is {
		return SearchValue{byte(SearchBool), 1}
	}
	return SearchValue{byte(SearchBool), 0}
}

// SearchTimeOf is described at SearchText.
func SearchTimeOf(t time.Time) SearchValue {
	b := binary.BigEndian.AppendUint64(SearchValue{byte(SearchTime)}, uint64(t.Unix())^(1<<63))
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

// SearchedOf gives what an instance is found by that starts with an encoded input; nothing where its process declares
// nothing, or the input cannot be read: then it is found by nothing.
func SearchedOf(t *processtable.Table, input []byte) (all []Searched) {
	if len(t.Search) == 0 {
		return nil
	}
	v, err := container.DecodeCBOR(t.Input, input)
	s, is := v.(*container.Struct)
	if err != nil || !is {
		return nil
	}
	for _, member := range t.Search {
		path, _, err := t.Input.Resolve(member)
		if err != nil {
			continue
		}
		if value := searchValueOf(s.Get(path)); value != nil {
			all = append(all, Searched{member, value})
		}
	}
	return all
}

func searchValueOf(v container.Value) SearchValue {
	switch v := v.(type) {
	case bool:
		return SearchBoolOf(v)
	case int64:
		return SearchIntOf(v)
	case string:
		return SearchText(v)
	case time.Time:
		return SearchTimeOf(v)
	}
	return nil
}

// AppendSearchMember appends the prefix of all that the index has of a member of a process, in all versions.
func AppendSearchMember(b []byte, process, member string) []byte {
	return AppendName(AppendName(append(b, ClassSearch), process), member)
}

// AppendSearchValue appends a value; open: what begins with it has the same beginning, if it is a string. Zero bytes of
// strings are escaped, so that none is a beginning of another and they sort as they are.
func AppendSearchValue(b []byte, v SearchValue, open bool) []byte {
	if v.Type() != SearchString {
		return append(b, v...)
	}
	b = append(b, v[0])
	for _, c := range v[1:] {
		if b = append(b, c); c == 0 {
			b = append(b, 0xff)
		}
	}
	if open {
		return b
	}
	return append(b, 0, 0)
}

// AppendSearchKey appends the key of an instance in the index of values.
func AppendSearchKey(b []byte, s *Searched, p *Standing, i message.InstanceID) []byte {
	b = AppendSearchValue(AppendSearchMember(b, p.Process.Name, s.Member), s.Value, false)
	return append(binary.BigEndian.AppendUint64(b, TimerDue(p.Started)), i[:]...)
}

// SearchValue takes a value.
func (k *KeyReader) SearchValue() SearchValue {
	v := SearchValue{k.Bytes(1)[0]}
	switch v.Type() {
	case SearchBool:
		return append(v, k.Bytes(1)...)
	case SearchInt:
		return append(v, k.Bytes(8)...)
	case SearchTime:
		return append(v, k.Bytes(12)...)
	case SearchString:
		for {
			c := k.Bytes(1)[0]
			if c == 0 {
				switch end := k.Bytes(1)[0]; {
				case k.Bad || end == 0:
					return v
				case end != 0xff:
					k.Bad = true
					return v
				}
			}
			v = append(v, c)
		}
	}
	k.Bad = true
	return v
}

// appendSearched appends what an instance is found by: a list of members and values, in turn.
func appendSearched(w *cbor.Map, key byte, all []Searched) {
	w.Array(key, 2*len(all))
	for _, s := range all {
		w.B = cbor.AppendBytes(cbor.AppendText(w.B, s.Member), s.Value)
	}
}

func readSearched(f *cbor.Fields) (all []Searched) {
	n := f.Array(2 * MaxSearch)
	if n%2 != 0 {
		f.Fail("expected members and values in turn")
		return nil
	}
	for range n / 2 {
		s := Searched{Member: f.Reader.Text(container.MaxMemberPath)}
		s.Value = bytes.Clone(f.Reader.Bytes(maxSearchValue))
		if !s.valid() {
			f.Fail("expected a member and its value in the index")
			return nil
		}
		all = append(all, s)
	}
	return all
}

// valid: it is one that the index can have.
func (s *Searched) valid() bool {
	if s.Member == "" || len(s.Member) > container.MaxMemberPath || strings.Contains(s.Member, "\x00") {
		return false
	}
	switch s.Value.Type() {
	case SearchBool:
		return len(s.Value) == 1+1
	case SearchInt:
		return len(s.Value) == 1+8
	case SearchTime:
		return len(s.Value) == 1+8+4
	case SearchString:
		return len(s.Value) <= maxSearchValue
	}
	return false
}
