package record_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What is in a key of the index of values is taken from it again, and keys of one type sort as the values do.
func TestKeysOfValuesSortAsTheyDo(t *testing.T) {
	place := record.Standing{Process: processtable.ProcessID{Name: "claim", Version: 3}, Started: time.Unix(5, 0)}
	key := func(v record.SearchValue) []byte {
		return record.AppendSearchKey(nil, &record.Searched{Member: "a.b", Value: v}, &place, message.InstanceID{7})
	}
	rapid.Check(t, func(t *rapid.T) {
		var x, y record.SearchValue
		var order int
		switch rapid.IntRange(0, 3).Draw(t, "type") {
		case 0:
			text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 70), func(b []byte) string { return string(b) })
			a, b := text.Draw(t, "x"), text.Draw(t, "y")
			x, y = record.SearchText(a), record.SearchText(b)
			order = strings.Compare(a[:min(len(a), record.MaxSearchText)], b[:min(len(b), record.MaxSearchText)])
		case 1:
			a, b := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
			x, y, order = record.SearchIntOf(a), record.SearchIntOf(b), cmpInt(a, b)
		case 2:
			moment := rapid.Map(rapid.Int64Range(-62135596800, 253402300799), func(s int64) time.Time { return time.Unix(s, s&0xffff) })
			a, b := moment.Draw(t, "x"), moment.Draw(t, "y")
			x, y, order = record.SearchTimeOf(a), record.SearchTimeOf(b), a.Compare(b)
		default:
			x, y, order = record.SearchBoolOf(false), record.SearchBoolOf(true), -1
		}
		if got := bytes.Compare(key(x), key(y)); got != order {
			t.Fatalf("%x and %x sort as %d, want %d", x, y, got, order)
		}
		if order != 0 && bytes.HasPrefix(key(y), record.AppendSearchValue(record.AppendSearchMember(nil, "claim", "a.b"), x, false)) {
			t.Fatalf("%x is a beginning of %x", x, y)
		}
		k := record.KeyReader{Rest: key(x)[1:]}
		process, member, value, due, instance := k.Name(), k.Name(), k.SearchValue(), k.Uint64(), k.Bytes(16)
		if err := k.End(); err != nil || process != "claim" || member != "a.b" || !bytes.Equal(value, x) || due != record.TimerDue(place.Started) || instance[0] != 7 {
			t.Fatalf("%q %q %x %d %x, %v", process, member, value, due, instance, err)
		}
	})
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// What an instance is found by is taken from its input: of strings so much as the index has, and defaults too.
func TestWhatAnInputIsFoundBy(t *testing.T) {
	person := container.NewStructure("Person", []container.Member{{Name: "name", Type: container.Scalar(container.String)}})
	input := container.NewStructure("Claim", []container.Member{
		{Name: "id", Type: container.Scalar(container.String), Default: "none"},
		{Name: "n", Type: container.Scalar(container.Int)},
		{Name: "due", Type: container.Scalar(container.Timestamp)},
		{Name: "vip", Type: container.Scalar(container.Bool)},
		{Name: "by", Type: person},
	})
	table := &processtable.Table{Input: input, Search: []string{"by.name", "n", "due", "vip", "id"}}
	long := strings.Repeat("é", record.MaxSearchText)
	v := container.New(input)
	v.Assign(container.Path{4, 0}, long)
	v.Assign(container.Path{1}, int64(math.MinInt64))
	encoded, err := container.EncodeCBOR(v)
	if err != nil {
		t.Fatal(err)
	}
	want := []record.Searched{
		{Member: "by.name", Value: record.SearchText(long)},
		{Member: "n", Value: record.SearchIntOf(math.MinInt64)},
		{Member: "due", Value: record.SearchTimeOf(container.Zero(container.Scalar(container.Timestamp)).(time.Time))},
		{Member: "vip", Value: record.SearchBoolOf(false)},
		{Member: "id", Value: record.SearchText("none")},
	}
	if diff := cmp.Diff(want, record.SearchedOf(table, encoded)); diff != "" {
		t.Error(diff)
	}
	if len(want[0].Value) != 1+record.MaxSearchText {
		t.Errorf("of a long string the index has %d bytes", len(want[0].Value))
	}
	if all := record.SearchedOf(table, []byte{0xff}); all != nil {
		t.Errorf("what cannot be read is found by %v", all)
	}
	table.Search = nil
	if all := record.SearchedOf(table, encoded); all != nil {
		t.Errorf("of a process that declares nothing it is found by %v", all)
	}
}

// It is a part of the record of the start; what the index cannot have is neither written nor read.
func TestAStartSaysWhatItIsFoundBy(t *testing.T) {
	start := func(by ...record.Searched) *record.AuditRecord {
		return &record.AuditRecord{Instance: message.InstanceID{1}, Activity: processtable.Source, Event: record.EventStarted, Search: by}
	}
	of := func(member string, value string) record.Searched {
		return record.Searched{Member: member, Value: record.SearchValue(value)}
	}
	full := make([]record.Searched, record.MaxSearch)
	for i := range full {
		full[i] = of(strings.Repeat("m", container.MaxMemberPath), "s"+strings.Repeat("x", record.MaxSearchText))
	}
	for _, good := range []*record.AuditRecord{start(), start(of("a", "s"), of("b", "b\x01"), of("c", "i12345678"), of("d", "t123456789012")), start(full...)} {
		got, err := record.DecodeAudit(record.AppendAudit(nil, good, true))
		if err := record.ValidateAudit(good); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(good.Search, got.Search); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
	}
	for what, bad := range map[string]*record.AuditRecord{
		"no member": start(of("", "s")), "a member with an end": start(of("a\x00b", "s")), "a long path": start(of(strings.Repeat("m", container.MaxMemberPath+1), "s")),
		"no value": start(of("a", "")), "no type": start(of("a", "x1")), "a long string": start(of("a", "s"+strings.Repeat("x", record.MaxSearchText+1))),
		"half a number": start(of("a", "i1234")), "more than a time": start(of("a", "t1234567890123")), "no bool": start(of("a", "b")),
		"too many": start(append(full, full[0])...),
	} {
		if err := record.ValidateAudit(bad); err == nil {
			t.Errorf("%s is written", what)
		}
		if _, err := record.DecodeAudit(record.AppendAudit(nil, bad, true)); err == nil {
			t.Errorf("%s is read", what)
		}
	}
}
