package daemon_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
)

// What a daemon leaves behind that was killed while it started a program: a process that
// has its descriptors, until it becomes the program. The next daemon waits for it.
func TestAStartWaitsForWhatWasAboutToBeAProgram(t *testing.T) {
	defer daemon.SetLetGo(time.Minute)()
	dir := t.TempDir()
	c := &config.Config{Node: "A", Data: filepath.Join(dir, "data"), Listen: "127.0.0.1:0", Socket: filepath.Join(dir, "s")}
	d := daemontest.Start(t, c, zerolog.Nop())
	c.Listen = d.Address()
	daemontest.Stop(t, d)
	hold := map[string]func() *os.File{
		"port": func() *os.File {
			l, err := net.Listen("tcp", c.Listen)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return fileOf(t, l.(*net.TCPListener).File)
		},
		"socket": func() *os.File {
			l, err := net.Listen("unix", c.Socket)
			if err != nil {
				t.Fatal(err)
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			defer l.Close()
			return fileOf(t, l.(*net.UnixListener).File)
		},
		"store": func() *os.File {
			f, err := os.OpenFile(filepath.Join(c.Data, "COMMITTED"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				t.Fatal(err)
			}
			return f
		},
	}
	for name, take := range hold {
		t.Run(name, func(t *testing.T) {
			held := take()
			holder := exec.Command("sleep", "0.3")
			holder.ExtraFiles = []*os.File{held}
			if err := holder.Start(); err != nil {
				t.Fatal(err)
			}
			_ = held.Close()
			daemontest.Stop(t, daemontest.Start(t, c, zerolog.Nop()))
			if err := holder.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func fileOf(t *testing.T, file func() (*os.File, error)) *os.File {
	t.Helper()
	f, err := file()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
