package frame

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecode: no bytes make Decode panic, and a frame that it takes is written so that it
// reads as the same frame. The bytes may be others: CBOR can write one number in many
// ways, and nothing hashes a frame (what it carries has hashes of its own).
func FuzzDecode(f *testing.F) {
	for _, frame := range []*Frame{
		{Version: MaxVersion, Type: TypeAck, From: 1, To: 2, Seq: 3},
		{Version: MaxVersion, Type: TypeStop, From: 1, To: 2, Seq: 1, Stop: &Stop{Code: StopUnknownPeer, Node: "B", Reason: "because"}},
	} {
		data, err := Encode(frame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:len(data)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data := binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli)) // past the checksum
		frame, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(&frame)
		if err != nil {
			t.Fatalf("a frame that was read cannot be written: %v", err)
		}
		same, err := Decode(again)
		if err != nil {
			t.Fatalf("a frame that was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(frame, same, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read %x, written again %x: (-read +read again)\n%s", data, again, diff)
		}
	})
}
