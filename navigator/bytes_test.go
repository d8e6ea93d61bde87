package navigator

import (
	"testing"
	"unsafe"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/skip"
	"fmqm/message"
	"fmqm/processtable"
)

// The bound of the cache of entries is in bytes. What a state is reckoned at is what it takes,
// also when a type has got a field more. (The room itself does without unsafe: it is pure.)
func TestSizesAreThoseOfTheTypes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		skip.Untested(t, "the constants are the sizes of machines with 64 bits: run it on one")
	}
	for _, c := range []struct {
		name string
		is   uintptr
		want int
	}{
		{"State", unsafe.Sizeof(State{}), stateBytes},
		{"message.Key", unsafe.Sizeof(message.Key{}), keyBytes},
		{"behaviour.Resolved", unsafe.Sizeof(behaviour.Resolved{}), resolvedBytes},
		{"[]container.Value", unsafe.Sizeof([]container.Value{}), valuesBytes},
		{"message.Snapshot", unsafe.Sizeof(message.Snapshot{}), snapshotBytes},
		{"message.Message", unsafe.Sizeof(message.Message{}), messageBytes},
		{"message.Record", unsafe.Sizeof(message.Record{}), recordBytes},
		{"composed", unsafe.Sizeof(composed{}), composedBytes},
		{"cancelled", unsafe.Sizeof(cancelled{}), cancelledBytes},
		{"arrived", unsafe.Sizeof(arrived{}), arrivedBytes},
		{"processtable.ActivityID", unsafe.Sizeof(processtable.ActivityID("")), nameBytes},
		{"returned", unsafe.Sizeof(returned{}), returnedBytes},
		{"message.Truth, which is counted as one byte", unsafe.Sizeof(message.True), 1},
		{"message.Data, which is counted as one byte", unsafe.Sizeof(message.DataNone), 1},
	} {
		if int(c.is) != c.want {
			t.Errorf("%s has %d bytes, and is reckoned at %d: correct the constant in state.go", c.name, c.is, c.want)
		}
	}
}
