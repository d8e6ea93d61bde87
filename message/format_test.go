package message

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/processtable"
)

// L6: the formats of a message and of its table are known from its first bytes.
func TestFormats(t *testing.T) {
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
		format, table uint32
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
		if format, table := Formats(tt.data); format != tt.format || table != tt.table {
			t.Errorf("%s: got %d and %d, expected %d and %d", name, format, table, tt.format, tt.table)
		}
	}
}
