package amqp

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fmqm/link"
	"fmqm/link/linktest"
	"fmqm/link/seal"
	"fmqm/processtable"
)

// The tests of this file run on a broker in memory, and on a clock that goes on when
// nothing else does.

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// access gives a node's access to the broker in memory, until the test ends.
func access(t *testing.T, fake *fakeBroker, name processtable.NodeID, change func(*Options)) *Broker {
	t.Helper()
	o := Options{Self: name, URL: "amqp://u@fake:1/", Log: zerolog.Nop(), open: fake.open}
	if change != nil {
		change(&o)
	}
	b, err := New(o)
	must(t, err)
	b.Start()
	t.Cleanup(func() { must(t, b.Stop(context.Background())) })
	return b
}

// both gives the two ends of a connection between A and B.
func both(t *testing.T, fake *fakeBroker) (a, b *Broker, x, y *Conn) {
	t.Helper()
	a, b = access(t, fake, "A", nil), access(t, fake, "B", nil)
	other := make(chan link.Conn, 1)
	go func() {
		c, err := b.Dialer("A").Dial(t.Context())
		if err != nil {
			t.Error(err)
		}
		other <- c
	}()
	c, err := a.Dialer("B").Dial(t.Context())
	must(t, err)
	x, y = c.(*Conn), (<-other).(*Conn)
	t.Cleanup(func() { _, _ = x.Close(), y.Close() })
	return a, b, x, y
}

// heard gives what a connection delivers, frames and words, and at last why it ended.
func heard(c *Conn) <-chan string {
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		for {
			d, err := c.Receive()
			switch {
			case err != nil:
				out <- err.Error()
				return
			case d.Hindrance != nil:
				out <- "hindrance: " + *d.Hindrance
			default:
				out <- "frame: " + string(d.Frame)
			}
		}
	}()
	return out
}

// An idle link costs a question and its answer a minute, and both sites know all the time
// that the other one is there.
func TestAnIdleHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, x, y := both(t, newFakeBroker())
		synctest.Wait()
		before := a.Status().Published + b.Status().Published
		for minute := range 60 {
			pass(time.Minute)
			for _, c := range []*Conn{x, y} {
				if quiet := time.Since(c.LastHeard()); quiet > PingEvery+2*beatEvery {
					t.Fatalf("in minute %d the peer was heard %s ago", minute, quiet)
				}
			}
		}
		if sent := a.Status().Published + b.Status().Published - before; sent < 60 || sent > 120 {
			t.Fatalf("%d messages in an idle hour, by both sites together: expected about 120", sent)
		}
		must(t, x.Send([]byte("still there")))
		if got := <-heard(y); got != "frame: still there" {
			t.Fatalf("got %q", got)
		}
	})
}

// A peer that is gone without a word is missed within a minute where something was sent to
// it, and in less than two where nobody had anything to say.
func TestHowSoonAPeerIsMissed(t *testing.T) {
	for name, limit := range map[string]time.Duration{"idle": 100 * time.Second, "busy": 70 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, b, x, _ := both(t, newFakeBroker())
				must(t, b.Stop(t.Context()))
				began := time.Now()
				if name == "busy" {
					must(t, x.Send([]byte("anybody?")))
				}
				last := ""
				for last = range heard(x) {
				}
				if !strings.Contains(last, "site B has been silent for") {
					t.Errorf("ended: %s", last)
				}
				if took := time.Since(began); took > limit || took < Silence-beatEvery {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// While the broker refuses what is sent, or takes nothing, a connection on which the peer
// is heard says so, and what is shown goes when the cause does.
func TestAConnectionSaysWhatHindersIt(t *testing.T) {
	for _, tt := range []struct {
		name        string
		raise, lift func(*fakeBroker)
		want        string
	}{
		{
			"a queue that is full by a policy",
			func(f *fakeBroker) { f.set(func() { f.full = true }) }, func(f *fakeBroker) { f.set(func() { f.full = false }) },
			"the broker refuses messages for site B: a policy (max-length with reject-publish) limits its queue fmqm.B",
		},
		{
			"an alarm",
			func(f *fakeBroker) { f.alarm("low on memory") }, func(f *fakeBroker) { f.alarm("") },
			"the broker accepts no messages (low on memory)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := newFakeBroker()
				a, _, x, y := both(t, fake)
				synctest.Wait()
				words := heard(x)
				for range 3 {
					tt.raise(fake)
					must(t, x.Send([]byte("one")))
					must(t, y.Send([]byte("the peer is heard")))
					if got := <-words; !strings.HasPrefix(got, "hindrance: "+tt.want) && got != "frame: the peer is heard" {
						t.Fatalf("raised: %q", got)
					}
					synctest.Wait()
					tt.lift(fake)
					must(t, x.Send([]byte("two")))
					last := ""
					for last != "hindrance: " {
						last = <-words
					}
					for len(words) > 0 {
						<-words
					}
					if p := a.known("B"); p.troubled() {
						t.Fatalf("the cause is gone, and %q is still kept", p.trouble)
					}
				}
			})
		})
	}
}

// Where there was no queue for the peer, the reason goes with the first message that one
// took, though confirms of what was returned come in between.
func TestTroubleGoesWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeBroker()
		a := access(t, fake, "A", nil)
		_, err := a.Dialer("B").Dial(t.Context())
		if err == nil || !strings.Contains(err.Error(), "site B has no queue (fmqm.B) at the broker yet") {
			t.Fatalf("got %v", err)
		}
		p := a.known("B")
		if !p.troubled() {
			t.Fatal("the reason is gone, and its cause is not")
		}
		access(t, fake, "B", nil) // has a queue, and does not know A
		synctest.Wait()
		_, _ = p.call(true)
		synctest.Wait()
		if p.troubled() {
			t.Fatalf("there is a queue, and %q is still kept", p.trouble)
		}
	})
}

// Who lets go of a peer tells it, so that it does not go on taking a link for connected
// that leads nowhere; and is heard again when it dials again.
func TestAPeerHearsThatItIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _, y := both(t, newFakeBroker())
		began := time.Now()
		a.Dialer("B").(link.Forgetter).Forget()
		const want = "site A accepts nothing from this site over the broker: either `via` for this link was changed there (change it here as well)"
		if got := <-heard(y); !strings.Contains(got, want) {
			t.Fatalf("ended: %s", got)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		for range 3 {
			if _, err := b.Dialer("A").Dial(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("dialed: %v", err)
			}
			pass(time.Minute)
		}
		calls := make(chan error, 1)
		go func() { calls <- b.Dialer("A").(link.Listener).Heard(t.Context()) }()
		synctest.Wait()
		dialed := make(chan error, 1)
		go func() {
			_, err := a.Dialer("B").Dial(t.Context())
			dialed <- err
		}()
		must(t, <-calls)
		must(t, <-dialed)
		if _, err := b.Dialer("A").Dial(t.Context()); err != nil {
			t.Fatalf("it is back: %v", err)
		}
	})
}

// hello is what a name that nobody knows writes first.
func hello(t *testing.T, name string) []byte {
	t.Helper()
	s := seal.New(seal.Config{
		Self: processtable.NodeID(name), Peer: "A", Identity: newIdentity(name), Verify: trusting("A"),
		Rand: bytes.NewReader(bytes.Repeat([]byte(fmt.Sprintf("%-64s", name)), 4)),
	})
	all, err := s.Open()
	must(t, err)
	return all[0]
}

// Whoever may write to a node's queue can write any name: nothing lasting comes of it, and
// one line in the log; and who proves a name meanwhile is introduced.
func TestNamesThatNobodyProves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, log, met := newFakeBroker(), &linktest.Log{}, make(chan processtable.NodeID, 100)
		trusted := trusting("A", "B")
		a := access(t, fake, "A", func(o *Options) {
			o.Identity, o.Verify, o.Log = newIdentity("A"), trusted, zerolog.New(log)
			o.Unknown = func(id processtable.NodeID) { met <- id }
		})
		synctest.Wait()
		present := func() int {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.strangers.present)
		}
		writer, err := fake.open(t.Context(), target{}, "", connectionEvents{})
		must(t, err)
		defer writer.Close()
		ch, err := writer.Channel(channelEvents{confirmed: func(uint64, bool) {}})
		must(t, err)
		for i := range 1000 {
			must(t, ch.Publish("fmqm.A", outgoing{body: hello(t, fmt.Sprintf("X%d", i))}))
			if i%100 == 0 {
				pass(2 * strangerGrace)
			}
			synctest.Wait()
			if n := present(); n > maxStrangers {
				t.Fatalf("%d strangers are kept", n)
			}
		}
		b := access(t, fake, "B", func(o *Options) { o.Identity, o.Verify = newIdentity("B"), trusted })
		pass(2 * strangerGrace)
		go func() { _, _ = b.Dialer("A").Dial(t.Context()) }()
		if id := <-met; id != "B" {
			t.Fatalf("%s is introduced", id)
		}
		if _, err := a.Dialer("B").Dial(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(2 * strangerLife)
		if len(met) > 0 || present() > 0 || len(a.all()) != 1 {
			t.Errorf("%d introduced, %d strangers and %d peers are kept", len(met), present(), len(a.all()))
		}
		if lines := strings.Count(log.String(), "has not proved who it is"); lines != 1 {
			t.Errorf("%d lines in the log:\n%s", lines, log)
		}
	})
}

// A site that has proved who it is, and that this one does not want to reach over the
// broker, is told so instead of being left to wait.
func TestAStrangerThatNobodyWantsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, met := newFakeBroker(), atomic.Int32{}
		trusted := trusting("A", "B")
		a := access(t, fake, "A", func(o *Options) {
			o.Identity, o.Verify, o.Unknown = newIdentity("A"), trusted, func(processtable.NodeID) { met.Add(1) }
		})
		b := access(t, fake, "B", func(o *Options) { o.Identity, o.Verify = newIdentity("B"), trusted })
		c, err := b.Dialer("A").Dial(t.Context())
		must(t, err)
		words := heard(c.(*Conn))
		for len(words) == 0 {
			if err := c.Send([]byte("hello")); err != nil {
				break
			}
			pass(time.Second)
		}
		if got := <-words; !strings.Contains(got, "this site is neither in a process that is stored there nor in `links.peers` there") {
			t.Errorf("ended: %s", got)
		}
		if met.Load() != 1 || a.known("B") != nil {
			t.Errorf("introduced %d times", met.Load())
		}
		if _, err := b.Dialer("A").Dial(t.Context()); errors.Is(err, errClosed) || err == nil {
			t.Errorf("dialed again: %v", err)
		}
	})
}

// Who is no longer accepted is cut off: the connection ends with the reason, and there
// is no other until it is believed again.
func TestASiteThatIsCalledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, trusted := newFakeBroker(), trusting("A", "B")
		var believed atomic.Bool
		believed.Store(true)
		broken := make(chan func(error), 10)
		ended := atomic.Int32{}
		a := access(t, fake, "A", func(o *Options) {
			o.Identity, o.Verify = newIdentity("A"), func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
				if !believed.Load() {
					return "", nil, errors.New("it was revoked")
				}
				return trusted(chain)
			}
			o.Watch = func(chain [][]byte, f func(error)) func() {
				if !bytes.Equal(chain[0], newIdentity("B").Chain()[0]) {
					t.Errorf("%q is watched", chain)
				}
				broken <- f
				return func() { ended.Add(1) }
			}
		})
		b := access(t, fake, "B", func(o *Options) { o.Identity, o.Verify = newIdentity("B"), trusted })
		other := make(chan link.Conn, 1)
		go func() {
			c, err := b.Dialer("A").Dial(t.Context())
			if err != nil {
				t.Error(err)
			}
			other <- c
		}()
		c, err := a.Dialer("B").Dial(t.Context())
		must(t, err)
		words, said := heard(c.(*Conn)), heard((<-other).(*Conn))

		believed.Store(false)
		first := <-broken
		go first(errors.New("it was revoked"))
		if got := <-words; !strings.Contains(got, "site B is no longer accepted: it was revoked") {
			t.Errorf("ended: %s", got)
		}
		if got := <-said; !strings.Contains(got, "site A has been silent for") {
			t.Errorf("B ends with: %s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		go func() { _, _ = b.Dialer("A").Dial(ctx) }()
		if _, err := a.Dialer("B").Dial(ctx); err == nil || !strings.Contains(err.Error(), "the peer's certificate is not accepted: it was revoked") {
			t.Errorf("dialed: %v", err)
		}
		if len(broken) > 0 {
			t.Error("a session came about")
		}

		believed.Store(true)
		go func() { _, _ = b.Dialer("A").Dial(t.Context()) }()
		c, err = a.Dialer("B").Dial(t.Context())
		must(t, err)
		first(errors.New("late")) // of a session that is over
		defer c.Close()
		must(t, c.Send([]byte("x")))
		before := ended.Load()
		a.Forget("B")
		synctest.Wait()
		pass(leaveLimit)
		synctest.Wait()
		if ended.Load() != before+1 {
			t.Errorf("watching ended %d times with the peer", ended.Load()-before)
		}
	})
}

// A node whose certificate was replaced shows the new one in new sessions with all peers,
// and no connection ends by that.
func TestRenewedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, trusted := newFakeBroker(), trusting("A", "B")
		shown := make(chan [][]byte, 10)
		a := access(t, fake, "A", func(o *Options) { o.Identity, o.Verify = newIdentity("A"), trusted })
		b := access(t, fake, "B", func(o *Options) {
			o.Identity, o.Verify = newIdentity("B"), trusted
			o.Watch = func(chain [][]byte, _ func(error)) func() {
				shown <- chain
				return func() {}
			}
		})
		other := make(chan link.Conn, 1)
		go func() {
			c, err := b.Dialer("A").Dial(t.Context())
			if err != nil {
				t.Error(err)
			}
			other <- c
		}()
		c, err := a.Dialer("B").Dial(t.Context())
		must(t, err)
		d := <-other
		defer c.Close()
		defer d.Close()
		in := heard(d.(*Conn))
		<-shown
		a.Renew()
		<-shown
		synctest.Wait() // what is sent before both have the new one is lost, and sent again by the link
		must(t, c.Send([]byte("the same connection")))
		if got := <-in; got != "frame: the same connection" {
			t.Errorf("got %s", got)
		}
	})
}
