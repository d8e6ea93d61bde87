package badger

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What the store says of its disk is what the system says of it.
func TestRoom(t *testing.T) {
	disk := smallDisk(t, 200<<20)
	e, err := Open(Options{Dir: disk, Space: Space{Free: 80 << 20, Stop: 40 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	fill(t, disk, 60<<20)
	var s unix.Statfs_t
	if err := unix.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	said := int64(s.Bavail) * s.Bsize
	if free, mark, err := e.Room(); err != nil || free < said-1<<20 || free > said || mark != 80<<20 {
		t.Errorf("%d bytes free below a mark of %d, %v; the system said %d", free, mark, err, said)
	}
	memory, err := Open(Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if free, mark, err := memory.Room(); free != 0 || mark != 0 || err != nil {
		t.Errorf("in memory: %d, %d, %v", free, mark, err)
	}
}
