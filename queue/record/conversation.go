package record

import (
	"encoding/binary"

	"fmqm/processtable"
)

// RestoredKey is that of what the copy had accepted from a peer that this store was restored from.
func RestoredKey(peer processtable.NodeID) []byte {
	return AppendName(AppendName([]byte{ClassMeta}, "restored"), string(peer))
}

// AppendPositions gives the content of the records at BeganKey and RestoredKey.
func AppendPositions(incarnation Incarnation, at *[Lanes]Position) []byte {
	content := append(make([]byte, 0, BeganSize), incarnation[:]...)
	for lane := range at {
		content = binary.BigEndian.AppendUint64(content, at[lane].Number)
		content = append(content, at[lane].Hash[:]...)
	}
	return content
}

const (
	BeganName = "began"
	BeganSize = 16 + Lanes*(8+16)
)

// BeganKey is that of where the conversation with a peer's present store began, on the way out.
func BeganKey(peer processtable.NodeID) []byte {
	return AppendName(AppendName([]byte{ClassMeta}, BeganName), string(peer))
}
