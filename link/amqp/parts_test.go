package amqp

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/link/frame"
	"fmqm/link/linktest"
	"fmqm/link/seal"
)

// acks records acknowledgements; nothing else is called.
type acks struct {
	channel
	tags chan uint64
}

func (a *acks) Ack(tag uint64, multiple bool) error {
	if !multiple {
		return errors.New("not multiple")
	}
	a.tags <- tag
	return nil
}

// What comes is acknowledged as soon as it was looked at: many together while more comes,
// and what there is once nothing does.
func TestAcknowledgements(t *testing.T) {
	p, _ := lonePeer(t)
	in, cancelled, a := make(chan delivery), make(chan struct{}), &acks{tags: make(chan uint64, 1000)}
	over := make(chan error, 1)
	go func() { over <- p.b.takeAll(nil, a, in, cancelled) }()
	const n = 10*ackBatch + 1
	for tag := range uint64(n) {
		in <- delivery{tag: tag + 1, body: []byte("noise")}
	}
	acked, times := uint64(0), 0
	for acked < n {
		select {
		case tag := <-a.tags:
			if tag <= acked {
				t.Errorf("%d is acknowledged after %d", tag, acked)
			}
			acked = tag
			times++
		case <-time.After(linktest.Patience):
			t.Fatalf("acknowledged up to %d of %d", acked, n)
		}
	}
	if p.b.counts.received.Load() != n {
		t.Errorf("%d were looked at", p.b.counts.received.Load())
	}
	close(cancelled)
	if err := <-over; !errors.Is(err, errCancelled) {
		t.Error(err)
	}
}

// byHand is a clock whose time passes when a test says so.
type byHand struct {
	wallClock
	timers chan func()
}

func (c byHand) AfterFunc(_ time.Duration, f func()) func() bool {
	c.timers <- f
	return func() bool { return true }
}

// That nobody receives from the queue counts once two looks in a row say so, and nothing came
// between them: what came was received.
func TestTwoLooks(t *testing.T) {
	p, _ := lonePeer(t)
	clock := byHand{timers: make(chan func(), 1)}
	p.b.o.Clock = clock
	fake := newFakeBroker()
	fake.queues["fmqm.A"] = &fakeQueue{}
	conn, err := fake.open(t.Context(), target{}, "", connectionEvents{})
	must(t, err)
	in, a := make(chan delivery), &acks{tags: make(chan uint64, 1)}
	over := make(chan error, 1)
	go func() { over <- p.b.takeAll(conn, a, in, nil) }()

	look := <-clock.timers
	next := func(after string) {
		t.Helper()
		look()
		select {
		case look = <-clock.timers:
		case err := <-over:
			t.Fatalf("after %s: %v", after, err)
		}
	}
	next("one look that finds nobody")
	in <- delivery{tag: 1, body: []byte("noise")}
	next("a look at what something came of")
	next("a look that finds nobody, after something came")
	look()
	if err := <-over; !errors.Is(err, errCancelled) {
		t.Errorf("two looks in a row found nobody: %v", err)
	}
}

// The two connections come up and go down each by itself: what is told last is what is.
func TestTheLastStateToldIsTheLastOne(t *testing.T) {
	told := make(chan State, 100)
	b, err := New(Options{
		Self: "A", URL: "amqp://u@127.0.0.1:1/", PasswordFile: passwordFile(t, "x"),
		OnState: func(s Status) {
			if s.State == StateConnecting {
				runtime.Gosched() // so that the next one could overtake it
			}
			told <- s.State
		},
	})
	must(t, err)
	conn, err := newFakeBroker().open(t.Context(), target{}, "", connectionEvents{})
	must(t, err)
	both := func(do func(which int)) (last State) {
		var wg sync.WaitGroup
		for _, which := range []int{consuming, publishing} {
			wg.Go(func() { do(which) })
		}
		for wg.Wait(); len(told) > 0; {
			last = <-told
		}
		return last
	}
	for range 2000 {
		if last := both(func(which int) { b.up(which, conn) }); last != StateConnected {
			t.Fatalf("both are up, and the last state told is %s", last)
		}
		if last := both(func(which int) { b.down(which, errClosed) }); last != StateConnecting {
			t.Fatalf("both are down, and the last state told is %s", last)
		}
	}
}

// Every frame comes out as it went in, whatever the order of its parts, and no message is
// over 1 MiB.
func TestParts(t *testing.T) {
	for _, size := range []int{1, partSize, partSize + 1, 2*partSize - 1, frame.MaxFrame} {
		frame := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		pieces := pack(frame, 7)
		for _, p := range pieces {
			if len(p) > 1<<20-1<<12 {
				t.Fatalf("a piece of %d bytes", len(p))
			}
		}
		if size <= partSize {
			if len(pieces) != 1 || pieces[0][0] != kindWhole || !bytes.Equal(pieces[0][1:], frame) {
				t.Fatalf("%d bytes are not sent whole", size)
			}
			continue
		}
		var a assembler
		rand.New(rand.NewPCG(3, 4)).Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for i, p := range pieces {
			got := a.add(p)
			if last := i == len(pieces)-1; last != (got != nil) || last && !bytes.Equal(got, frame) {
				t.Fatalf("part %d of %d: %d bytes", i+1, len(pieces), len(got))
			}
		}
		if len(a.partial) != 0 {
			t.Fatal("something is left")
		}
	}
}

// Whatever parts come, memory is bounded, and a lost part loses its frame only.
func TestAnyParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a assembler
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			piece := []byte{kindPart, 0, 0, 0, rapid.Byte().Draw(t, "number") % 4, rapid.Byte().Draw(t, "index") % 7, rapid.Byte().Draw(t, "count") % 7}
			piece = append(piece, make([]byte, rapid.IntRange(0, 10).Draw(t, "size"))...)
			a.add(piece)
			if len(a.partial) > maxPartial {
				t.Fatalf("%d frames in parts", len(a.partial))
			}
		}
		whole := bytes.Repeat([]byte("whole "), partSize/3)
		pieces := pack(whole, 9)
		for i, p := range pieces {
			if got := a.add(p); i == len(pieces)-1 && !bytes.Equal(got, whole) {
				t.Fatal("a whole frame behind them does not come")
			}
		}
	})
}

func TestOptions(t *testing.T) {
	tests := []struct{ url, user, want, err string }{
		{url: "amqp://u@h", want: "amqp://u@h:5672/%2F"},
		{url: "amqp://u@h:1/v", want: "amqp://u@h:1/v"},
		{url: "amqps://u@h/a%2Fb", want: "amqps://u@h:5671/a%2Fb"},
		{url: "amqps://h/v", want: "amqps://h:5671/v"},
		{url: "amqp://u@[::1]/v", want: "amqp://u@[::1]:5672/v"},
		{url: "amqp://u@h/v", user: "other", want: "amqp://other@h:5672/v"},
		{url: "amqp://u:secret@h/v", err: "address of the broker: amqp://u:xxxxx@h/v has a password, and process lists and logs would show it: write it into a file"},
		{url: "amqp://h/v", err: "address of the broker: amqp://h/v names no user: expected amqps://USER@HOST:PORT/VHOST"},
		{url: "https://h/v", err: "address of the broker: expected amqps://USER@HOST:PORT/VHOST"},
		{url: "amqp://u:se%zzcret@h", err: "address of the broker: expected amqps://USER@HOST:PORT/VHOST"},
		{url: "amqp://u@h/a/b", err: "address of the broker: amqp://u@h/a/b: a / in the name of a virtual host is written %2F"},
		{url: "amqp://u@h/v?heartbeat=1", err: "address of the broker: amqp://u@h/v?heartbeat=1: expected amqps://USER@HOST:PORT/VHOST and nothing behind it"},
	}
	for _, tt := range tests {
		b, err := New(Options{Self: "A", URL: tt.url, User: tt.user})
		switch {
		case tt.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) || strings.Contains(err.Error(), "cret") {
				t.Errorf("%s: got %v, expected %s", tt.url, err, tt.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case b.Address() != tt.want:
			t.Errorf("%s: got %s, expected %s", tt.url, b.Address(), tt.want)
		}
	}
	for want, o := range map[string]Options{
		`links over a broker: node name "a/b" is not one`:                      {Self: "a/b", URL: "amqp://u@h"},
		`kind of queues "stream": expected auto, quorum or classic`:            {Self: "A", URL: "amqp://u@h", Queues: "stream"},
		"links over a broker: an identity of this node, and nothing that veri": {Self: "A", URL: "amqp://u@h", Identity: nobody{}},
	} {
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

type nobody struct{ seal.Identity }

func TestPasswords(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "broker"), []byte(" secret \r\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "open"), []byte("secret"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "open"), 0o644))
	tests := []struct {
		name, dir string
		o         Options
		want, err string
	}{
		{name: "a file", o: Options{PasswordFile: filepath.Join(dir, "broker")}, want: " secret "},
		{name: "a credential", dir: dir, o: Options{Credential: "broker"}, want: " secret "},
		{name: "no credentials", o: Options{Credential: "broker"}, err: "start the daemon by a unit with LoadCredential=broker:FILE"},
		{name: "nothing", o: Options{}, err: "the broker asks for a password and none is configured"},
		{name: "a file that others read", o: Options{PasswordFile: filepath.Join(dir, "open")}, err: "open can be read or changed by every user of this machine (mode 0644): chmod 600 it"},
		{name: "empty", o: Options{PasswordFile: filepath.Join(dir, "empty")}, err: "empty is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CREDENTIALS_DIRECTORY", tt.dir)
			got, err := tt.o.secret()
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %q, %v; expected %q, %s", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestKindsOfQueues(t *testing.T) {
	quorum, unlimited, classic := queueKind{quorum: true}, queueKind{quorum: true, unlimited: true}, queueKind{}
	tests := []struct {
		want, version string
		kinds         []queueKind
	}{
		{QueuesAuto, "3.7.28", []queueKind{classic}},
		{QueuesAuto, "3.10.8", []queueKind{quorum, classic}},
		{QueuesAuto, "4.1.2", []queueKind{unlimited, quorum, classic}},
		{QueuesAuto, "?", []queueKind{classic}},
		{QueuesQuorum, "3.10.8", []queueKind{quorum}},
		{QueuesQuorum, "4.0.0-rc.1", []queueKind{unlimited, quorum}},
		{QueuesClassic, "4.1.2", []queueKind{classic}},
	}
	for _, tt := range tests {
		if got := kinds(tt.want, server{version: tt.version}); !slices.Equal(got, tt.kinds) {
			t.Errorf("%s at %s: got %v, expected %v", tt.want, tt.version, got, tt.kinds)
		}
	}
}

// A Broker that was never connected says why Dial has no answer, and stops at once.
func TestDialWithoutABroker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b, err := New(Options{Self: "A", URL: "amqp://u@127.0.0.1:1/", PasswordFile: passwordFile(t, "x"), OnState: func(Status) { cancel() }})
	must(t, err)
	b.Start()
	_, err = b.Dialer("B").Dial(ctx)
	if want := "reach site B through the broker 127.0.0.1:1: nothing listens at 127.0.0.1:1"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("got %v, expected %s", err, want)
	}
	must(t, b.Stop(t.Context()))
	if _, err := b.Dialer("B").Dial(t.Context()); !errors.Is(err, errClosed) {
		t.Fatalf("after Stop: %v", err)
	}
}
