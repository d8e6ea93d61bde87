package rabbittest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"fmqm/internal/skip"
)

// Need skips the test where RabbitMQ is not installed; in CI it fails.
func Need(tb testing.TB) {
	tb.Helper()
	if _, err := find(); err != nil {
		skip.Untested(tb, "links over a broker: %v", err)
	}
}

// Start gives the test a broker of its own, which runs, and ends with the test. If the
// test fails, the broker's last log lines are shown.
func Start(tb testing.TB, o Options) *Broker {
	tb.Helper()
	Need(tb)
	o.Dir = tb.TempDir()
	b, err := New(o)
	if err == nil {
		err = b.Start()
	}
	if b != nil {
		tb.Cleanup(func() { finish(tb, b) })
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func finish(tb testing.TB, b *Broker) {
	if err := b.Close(); err != nil {
		tb.Error(err)
	}
	if tb.Failed() {
		tb.Logf("the broker's log ends with:\n%s", b.LogTail())
	}
}

// shared is the broker that all tests of the binary use.
var shared struct {
	mu     sync.Mutex
	broker *Broker
	dir    string
	vhosts atomic.Int64
}

// Shared gives the broker that the tests of this binary share, and starts it at the
// first call; [Main] ends it. A test should use a virtual host of its own, see
// [VHost]; whoever kills or wipes a broker takes one of its own with [Start].
func Shared(tb testing.TB) *Broker {
	tb.Helper()
	Need(tb)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.broker == nil {
		if err := startShared(); err != nil {
			tb.Fatal(err)
		}
	}
	b := shared.broker
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the broker's log ends with:\n%s", b.LogTail())
		}
	})
	return b
}

func startShared() error {
	dir, err := os.MkdirTemp("", "fmqm-rabbit-")
	if err != nil {
		return err
	}
	b, err := New(Options{Dir: dir})
	if err == nil {
		err = b.Start()
	}
	if err != nil {
		if b != nil {
			_ = b.Close()
		}
		_ = os.RemoveAll(dir)
		return err
	}
	shared.broker, shared.dir = b, dir
	return nil
}

// VHost makes a virtual host for the test on b, in which [User] may do everything, and
// removes it after the test.
func VHost(tb testing.TB, b *Broker) string {
	tb.Helper()
	name := fmt.Sprintf("test-%d", shared.vhosts.Add(1))
	if err := b.AddVHost(name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.DeleteVHost(name); err != nil && b.Running() {
			tb.Error(err)
		}
	})
	return name
}

// Runner is a *testing.M; goleak takes one too.
type Runner interface{ Run() int }

// Main gives a Runner that ends the shared broker after the tests:
//
//	func TestMain(m *testing.M) { os.Exit(rabbittest.Main(m).Run()) }
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(rabbittest.Main(m)) }
func Main(m Runner) Runner { return mainRunner{m} }

type mainRunner struct{ inner Runner }

func (r mainRunner) Run() int {
	code := r.inner.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.broker == nil {
		return code
	}
	if err := shared.broker.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	_ = os.RemoveAll(shared.dir)
	shared.broker = nil
	return code
}
