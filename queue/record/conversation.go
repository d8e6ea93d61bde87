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

// ReadPositions reads the content of a record at key, which AppendPositions has made.
func ReadPositions(key, content []byte) (incarnation Incarnation, at [Lanes]Position, err error) {
	if len(content) != BeganSize {
		return incarnation, at, Damaged(key, "this program does not know the form of its content")
	}
	content = content[copy(incarnation[:], content):]
	for lane := range at {
		at[lane].Number = binary.BigEndian.Uint64(content)
		copy(at[lane].Hash[:], content[8:])
		content = content[8+len(Hash{}):]
	}
	return incarnation, at, nil
}

const (
	BeganName = "began"
	BeganSize = 16 + Lanes*(8+16)
)

// BeganKey is that of where the conversation with a peer's present store began, on the way out.
func BeganKey(peer processtable.NodeID) []byte {
	return AppendName(AppendName([]byte{ClassMeta}, BeganName), string(peer))
}
