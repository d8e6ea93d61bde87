package link

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// FuzzDecode: no bytes make Decode panic, and a frame that it takes encodes to one that
// it takes again.
func FuzzDecode(f *testing.F) {
	for _, frame := range []*Frame{
		{Version: MaxVersion, Type: FrameAck, From: 1, To: 2, Seq: 3},
		{Version: MaxVersion, Type: FrameStop, From: 1, To: 2, Seq: 1, Stop: &Stop{Code: StopUnknownPeer, Node: "B", Reason: "because"}},
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
		if !bytes.Equal(again, data) {
			t.Fatalf("read %x, written again %x", data, again)
		}
	})
}
