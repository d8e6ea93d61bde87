package fleet

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Gate is a FIFO at which programs of the shell wait for a test: `: <FILE` goes on once the
// gate is open. It is shut at first. When the test ends it lets everybody go.
type Gate struct {
	t    *testing.T
	file string
	open *os.File // nil: it is shut
}

// NewGate makes a gate, which every user of the machine may wait at who comes to the file.
func NewGate(t *testing.T, file string) *Gate {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o644); err != nil {
		t.Fatalf("make the gate %s: %v", file, err)
	}
	g := &Gate{t: t, file: file}
	t.Cleanup(func() {
		g.Open()
		_ = os.Remove(file) // who comes now finds nothing to wait at
		g.Shut()
	})
	return g
}

// Open lets everybody through, until the gate is shut.
func (g *Gate) Open() {
	g.t.Helper()
	if g.open != nil {
		return
	}
	f, err := os.OpenFile(g.file, os.O_RDWR, 0) // for writing alone it would wait for a reader
	if err != nil {
		g.t.Fatalf("open the gate %s: %v", g.file, err)
	}
	g.open = f
}

// Shut has everybody wait who comes from now on.
func (g *Gate) Shut() {
	if g.open != nil {
		_ = g.open.Close()
		g.open = nil
	}
}

// Unread counts the bytes that were written to a FIFO and that nobody has read. A read whose
// deadline is over does not even look.
func Unread(t *testing.T, fifo *os.File) (n int) {
	t.Helper()
	raw, err := fifo.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { n, failed = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err != nil || failed != nil {
		t.Fatalf("what is in %s: %v, %v", fifo.Name(), err, failed)
	}
	return n
}
