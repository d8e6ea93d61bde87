package amqp

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/link"
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

// ended is a connection that only ends.
type ended struct {
	connection
	done chan struct{}
}

func (e *ended) Done() <-chan struct{} { return e.done }

func runKeeper(t *testing.T, clock Clock) (*keeper, *acks) {
	a := &acks{tags: make(chan uint64, 1000)}
	k := newKeeper(clock, a)
	conn, over := &ended{done: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(over)
		k.run(conn)
	}()
	t.Cleanup(func() {
		close(conn.done)
		<-over
	})
	return k, a
}

// In whatever order deliveries are settled, none is acknowledged before it is, and all
// are in the end.
func TestAcknowledgements(t *testing.T) {
	k, a := runKeeper(t, wallClock{})
	const n = 500
	all := make([]*kept, n)
	for i := range all {
		all[i] = k.add(uint64(i + 1))
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	first := slices.Index(order, 0)
	for _, i := range order[:first] {
		all[i].settle()
	}
	if tag := k.take(); tag != 0 {
		t.Fatalf("acknowledged up to %d, and the first is not settled", tag)
	}
	for _, i := range order[first:] {
		all[i].settle()
	}
	for tag := uint64(0); tag < n; {
		select {
		case tag = <-a.tags:
		case <-time.After(linktest.Patience):
			t.Fatalf("acknowledged up to %d of %d", tag, n)
		}
	}
}

// What a connection had that has ended is let go; what another has is not.
func TestReleaseOfAConnection(t *testing.T) {
	k := newKeeper(wallClock{}, nil)
	gone, there := &Conn{}, &Conn{}
	for i, owner := range []*Conn{gone, gone, there, gone} {
		k.add(uint64(i + 1)).give(owner)
	}
	k.release(func(d *kept) bool { return d.owner == gone })
	if tag := k.take(); tag != 2 {
		t.Fatalf("acknowledged up to %d, expected 2", tag)
	}
}

// A delivery that nobody settles is let go before the broker ends the consumer for it.
func TestOldDeliveries(t *testing.T) {
	k, a := runKeeper(t, hasty{})
	k.add(1)
	select {
	case <-a.tags:
	case <-time.After(linktest.Patience):
		t.Fatal("it is kept for ever")
	}
}

// hasty is a clock of which each look shows an hour more.
type hasty struct{}

var looks atomic.Int64

func (hasty) Now() time.Time { return time.Unix(0, 0).Add(time.Duration(looks.Add(1)) * time.Hour) }

func (hasty) AfterFunc(_ time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Millisecond, f).Stop
}

// Every frame comes out as it went in, whatever the order of its parts, and no message is
// over 1 MiB.
func TestParts(t *testing.T) {
	for _, size := range []int{1, partSize, partSize + 1, 2*partSize - 1, link.MaxFrame} {
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
		k := newKeeper(wallClock{}, nil)
		rand.New(rand.NewPCG(3, 4)).Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for i, p := range pieces {
			got, from, drop := a.add(p, k.add(uint64(i+1)))
			if last := i == len(pieces)-1; len(drop) > 0 || last != (got != nil) || last && (!bytes.Equal(got, frame) || len(from) != len(pieces)) {
				t.Fatalf("part %d of %d: %d bytes of %d deliveries, %d dropped", i+1, len(pieces), len(got), len(from), len(drop))
			}
		}
		if len(a.partial) != 0 {
			t.Fatal("something is left")
		}
	}
}

// Whatever parts come, memory is bounded, every delivery is let go or given with a
// frame, and a lost part loses its frame only.
func TestAnyParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a assembler
		k := newKeeper(wallClock{}, nil)
		left, held := 0, 0
		for i := range rapid.IntRange(1, 60).Draw(t, "n") {
			piece := []byte{kindPart, 0, 0, 0, rapid.Byte().Draw(t, "number") % 4, rapid.Byte().Draw(t, "index") % 7, rapid.Byte().Draw(t, "count") % 7}
			piece = append(piece, make([]byte, rapid.IntRange(0, 10).Draw(t, "size"))...)
			left++
			_, from, drop := a.add(piece, k.add(uint64(i+1)))
			left -= len(from) + len(drop)
			held = 0
			for _, p := range a.partial {
				held += len(p.from)
			}
			if len(a.partial) > maxPartial || held != left {
				t.Fatalf("%d frames in parts, %d deliveries are held and %d are left", len(a.partial), held, left)
			}
		}
		if dropped := len(a.reset()); dropped != left || len(a.partial) != 0 {
			t.Fatalf("%d dropped at the end, expected %d", dropped, left)
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
