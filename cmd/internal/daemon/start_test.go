package daemon_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
)

// A daemon that cannot start says why, leaves nothing behind, and does no harm to the
// one that is in its way.
func TestStartsThatFail(t *testing.T) {
	defer daemon.SetLetGo(50 * time.Millisecond)()
	dir := t.TempDir()
	first := &config.Config{Node: "A", Data: dir + "/a", Listen: "127.0.0.1:0", Socket: dir + "/s"}
	d := daemontest.Start(t, first, zerolog.Nop())
	for _, tc := range []struct {
		name string
		c    config.Config
		want string
	}{
		{"an address in use", config.Config{Node: "B", Data: dir + "/b", Listen: d.Address(), Socket: dir + "/t"}, "stop what listens there, or set `listen` to another address"},
		{"an address of another machine", config.Config{Node: "B", Data: dir + "/b", Listen: "192.0.2.1:7411", Socket: dir + "/t"}, "set `listen` to an address of this machine"},
		{"a socket in use", config.Config{Node: "B", Data: dir + "/b", Listen: "127.0.0.1:0", Socket: dir + "/s"}, "another daemon answers on " + dir + "/s"},
		{"a socket without a directory", config.Config{Node: "B", Data: dir + "/b", Listen: "127.0.0.1:0", Socket: dir + "/none/t"}, "there is no directory " + dir + "/none"},
		{"a store in use", config.Config{Node: "A", Data: dir + "/a", Listen: "127.0.0.1:0", Socket: dir + "/t"}, "another process has it open"},
		{"a data directory that cannot be made", config.Config{Node: "A", Data: "/dev/null/a", Listen: "127.0.0.1:0", Socket: dir + "/t"}, "open the store: "},
	} {
		if _, err := daemon.Start(daemon.Options{Config: &tc.c, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if c, err := net.Dial("unix", dir+"/t"); err == nil {
			c.Close()
			t.Errorf("%s: its socket still answers", tc.name)
		}
	}
	if _, err := d.Node.Nodes(t.Context()); err != nil {
		t.Errorf("the first: %v", err)
	}
	daemontest.Stop(t, d)
	other := &config.Config{Node: "Z", Data: first.Data, Listen: "127.0.0.1:0", Socket: first.Socket}
	if _, err := daemon.Start(daemon.Options{Config: other, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), "A") {
		t.Errorf("another node's store: %v", err)
	} else {
		t.Log(err)
	}
	daemontest.Stop(t, daemontest.Start(t, first, zerolog.Nop())) // after all that
}
