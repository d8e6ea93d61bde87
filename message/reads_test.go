package message

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/processtable"
)

// N17: what a message needs is known from the message, and from its first bytes alike; and what
// a node of the version before reads never changes.
func TestWhatANodeReads(t *testing.T) {
	header := func(k Kind) Header {
		h := Header{
			Queue: Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "B"}, Instance: uuid.UUID{1},
			Activity: "a", Kind: k, Origin: "A", Clock: 1,
		}
		if k.OfTable() {
			h.Instance, h.Activity, h.Definition = uuid.UUID{}, "", processtable.ShortHash{1}
		}
		return h
	}
	marker := EncodeMarker(Marker{Reason: "enough", By: "alice at B"})
	newer := append([]byte{}, marker...)
	newer[1] = 4
	table := func(format byte) []byte { return []byte{0xa1, 1, format} }
	current, before := Current(), Before()
	for name, tt := range map[string]struct {
		kind           Kind
		body           []byte
		current, older bool
	}{
		"marker":                  {KindMarker, marker, true, true},
		"marker of a newer form":  {KindMarker, newer, false, false},
		"table":                   {KindTable, table(2), true, true},
		"table of format 4":       {KindTable, table(4), true, false},
		"table, current at once":  {KindCurrent, table(2), true, false},
		"table of a newer format": {KindTable, table(processtable.FormatVersion + 1), false, false},
		"notice":                  {KindNotice, EncodeNotice(Notice{Error: "e"}), true, true},
	} {
		m := Message{Header: header(tt.kind), Body: tt.body}
		needs := NeedsOf(&m)
		data, err := Encode(m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := NeedsOfEncoded(data); got != needs {
			t.Errorf("%s: its bytes need %+v, and it needs %+v", name, got, needs)
		}
		if current.Has(needs) != tt.current || before.Has(needs) != tt.older {
			t.Errorf("%s: this program reads it: %t, the version before: %t", name, current.Has(needs), before.Has(needs))
		}
		if (current.Lacks(needs) == "") != tt.current {
			t.Errorf("%s: it lacks %q", name, current.Lacks(needs))
		}
	}
	for _, k := range []Kind{7, MaxKinds - 1, MaxKinds, 255} {
		if n := (Needs{Kind: k, Body: 1}); before.Has(n) || before.Lacks(n) == "" {
			t.Errorf("the version before knows kind %d", k)
		}
	}
	if !before.Has(Needs{}) {
		t.Error("nothing is needed, and not read")
	}
}

// L6: the formats of a message and of its table are known from its first bytes.
func TestFormatsOfFirstBytes(t *testing.T) {
	marker := Message{Header: Header{
		Queue: Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "B"}, Instance: uuid.UUID{1},
		Kind: KindMarker, Origin: "A", Clock: 1,
	}, Body: EncodeMarker(Marker{Reason: "enough"})}
	table := marker
	table.Kind, table.Instance, table.Definition = KindTable, uuid.UUID{}, processtable.ShortHash{1}
	encode := func(m Message, body []byte) []byte {
		m.Body = body
		data, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	newer := encode(table, []byte{0xa1, 1, 2})
	newer[1] = FormatVersion + 1
	long := encode(table, append([]byte{0xa1, 1, 2}, make([]byte, 100_000)...))
	for name, tt := range map[string]struct {
		data          []byte
		format, table uint8
	}{
		"no table":                  {encode(marker, marker.Body), 1, 0},
		"table":                     {encode(table, []byte{0xa1, 1, 2}), 1, 2},
		"first part of a table":     {long[:1000], 1, 2},
		"table of an unknown form":  {encode(table, []byte{0x80, 1}), 1, 0},
		"newer message":             {newer, FormatVersion + 1, 0},
		"it ends behind the header": {long[:20], 1, 0},
		"no message":                {[]byte("text"), 0, 0},
		"nothing":                   {nil, 0, 0},
	} {
		if got := NeedsOfEncoded(tt.data); got.Format != tt.format || got.Table != tt.table {
			t.Errorf("%s: got %d and %d, expected %d and %d", name, got.Format, got.Table, tt.format, tt.table)
		}
	}
}
