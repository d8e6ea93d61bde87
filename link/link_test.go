package link_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/link/linktest"
	"fmqm/message"
	"fmqm/queue/record"
)

func TestItemsGoBothWaysOverOneConnection(t *testing.T) {
	a, b := pair(t, false)
	a.store.Put(0, numbered(0, 1000)...)
	a.store.Put(1, "expedited")
	b.store.Put(0, numbered(5000, 500)...)
	a.store.UntilTrimmed(t, 0)
	a.store.UntilTrimmed(t, 1)
	b.store.UntilTrimmed(t, 0)
	if !slices.Equal(b.store.Have(0), numbered(0, 1000)) || !slices.Equal(a.store.Have(0), numbered(5000, 500)) || !slices.Equal(b.store.Have(1), []string{"expedited"}) {
		t.Fatal("what arrived is not what was sent")
	}
	if k, _ := a.store.Known(); k != (record.Incarnation{'B'}) {
		t.Fatalf("A knows B as %s", k)
	}
	st := a.link.Status()
	if st.State != link.StateConnected || st.Reason != "" || st.Waiting != 0 || st.LastHeard.IsZero() {
		t.Fatalf("got %+v", st)
	}
}

// A daemon that comes back finds the link where its store is.
func TestRestartGoesOnWhereTheStoreIs(t *testing.T) {
	a, b := pair(t, false)
	total := 0
	for round := range 4 {
		a.store.Put(0, numbered(total, 300)...)
		total += 300
		b.stop()
		a.until("the loss of B", func(st link.Status) bool { return st.State != link.StateConnected })
		b.number = uint64(10 + round)
		b.run(b.options("A", nil))
		a.store.UntilTrimmed(t, 0)
	}
	if !slices.Equal(b.store.Have(0), numbered(0, total)) {
		t.Fatal("what arrived is not what was sent")
	}
}

// The connection breaks again and again: nothing is lost, nothing comes twice.
func TestCutsCostTimeAndNothingElse(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	w := newWires(a.dialer(b))
	b.run(b.options("A", nil))
	a.run(a.options("B", w))
	for i := range 8 {
		a.untilState(link.StateConnected)
		a.store.Put(0, numbered(i*2000, 2000)...)
		w.cut()
	}
	a.store.UntilTrimmed(t, 0)
	if !slices.Equal(b.store.Have(0), numbered(0, 16000)) {
		t.Fatal("what arrived is not what was sent")
	}
	if s := a.link.Status(); s.Connects < 8 {
		t.Errorf("%d times connected are counted, it was at least 8", s.Connects)
	}
}

// bothAtOnce lets two dialers connect in the same moment.
type bothAtOnce struct {
	inner   link.Dialer
	barrier *sync.WaitGroup
	once    sync.Once
}

func (d *bothAtOnce) Dial(ctx context.Context) (link.Conn, error) {
	c, err := d.inner.Dial(ctx)
	d.once.Do(func() {
		d.barrier.Done()
		d.barrier.Wait()
	})
	return c, err
}

// L3: either side may dial, and both at once: one connection stays, that of the
// site with the smaller name, and what is under way arrives.
func TestBothDialOneStays(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	barrier := &sync.WaitGroup{}
	barrier.Add(2)
	wa := newWires(&bothAtOnce{inner: a.dialer(b), barrier: barrier})
	wb := newWires(&bothAtOnce{inner: b.dialer(a), barrier: barrier})
	a.store.Put(0, numbered(0, 3000)...)
	b.store.Put(0, numbered(0, 3000)...)
	oa, ob := a.options("B", wa), b.options("A", wb)
	a.run(oa)
	b.run(ob)
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	a.store.Put(0, numbered(3000, 3000)...)
	select {
	case <-wb.ended:
	case <-time.After(linktest.Patience):
		t.Fatal("B's connection was not given up")
	}
	a.store.Put(0, numbered(6000, 3000)...)
	b.store.Put(0, numbered(3000, 3000)...)
	a.store.UntilTrimmed(t, 0)
	b.store.UntilTrimmed(t, 0)
	if !slices.Equal(b.store.Have(0), numbered(0, 9000)) || !slices.Equal(a.store.Have(0), numbered(0, 6000)) {
		t.Fatal("what arrived is not what was sent")
	}
	openA, totalA := wa.counts()
	openB, totalB := wb.counts()
	if openA != 1 || totalA != 1 || openB != 0 || totalB != 1 {
		t.Fatalf("A has %d of %d connections open, B %d of %d", openA, totalA, openB, totalB)
	}
	for _, s := range []*site{a, b} {
		for len(s.states) > 0 {
			if st := <-s.states; st.State != link.StateConnected {
				t.Errorf("site %s was %s in between: %s", s.name, st.State, st.Reason)
			}
		}
	}
}

// A receiver whose store is full stops taking messages, and not acknowledgements or
// queries; what the sender has under way is bounded.
func TestSlowReceiverIsNotFlooded(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	empty := b.store.Fill()
	b.run(b.options("A", nil))
	a.run(a.options("B", a.dialer(b)))
	a.untilState(link.StateConnected)
	body := strings.Repeat("x", 1000)
	a.store.Put(0, slices.Repeat([]string{body}, 50_000)...)
	b.store.Put(0, numbered(0, 100)...)
	b.store.UntilTrimmed(t, 0) // B's messages and A's acknowledgements pass
	got, err := a.link.Query(t.Context(), "status", []byte("7"))
	if err != nil || string(got) != "A asked status 7" {
		t.Fatalf("query: %q, %v", got, err)
	}
	if n := b.store.Accepted(0).Number; n != 0 {
		t.Fatalf("%d items were accepted without room", n)
	}
	empty()
	a.store.UntilTrimmed(t, 0)
	if n := b.store.Accepted(0).Number; n != 50_000 {
		t.Fatalf("%d items, expected 50000", n)
	}
}

// A store that does not take what came: the reason shows, and once it does again the
// link goes on by itself.
func TestFailingStoreIsShownAndRetried(t *testing.T) {
	a, b := pair(t, false)
	b.store.Fail(errors.New("no space left on device"))
	a.store.Put(0, numbered(0, 10)...)
	b.until("the reason", func(st link.Status) bool {
		return st.State == link.StateWaiting && st.Reason == "cannot put messages of site A: no space left on device"
	})
	b.store.Fail(nil)
	a.store.UntilTrimmed(t, 0)
}

func TestStoppedLinkShowsWhy(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	if err := a.store.Bind(record.Incarnation{99}); err != nil {
		t.Fatal(err)
	}
	b.run(b.options("A", nil))
	a.run(a.options("B", a.dialer(b)))
	st := a.untilState(link.StateStopped)
	if !strings.HasPrefix(st.Reason, "site B has another store than the one known here (known 6300") {
		t.Fatalf("got %q", st.Reason)
	}
	st = b.untilState(link.StateStopped)
	if !strings.Contains(st.Reason, "site A knows this site by another store") && !strings.HasPrefix(st.Reason, `site A stopped the link and says: "site B has another store`) {
		t.Fatalf("got %q", st.Reason)
	}
	if _, err := a.link.Query(t.Context(), "status", nil); !errors.Is(err, link.ErrNotConnected) || !strings.Contains(err.Error(), "another store") {
		t.Fatalf("query of a stopped link: %v", err)
	}
	if log := a.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, `"level":"error"`) || !strings.Contains(log, `"state":"stopped"`) {
		t.Fatalf("log: %s", log)
	}
}

// The peer is told why, also while it sends at full rate; it may never be called again.
func TestStopIsHeardAboveTheNoise(t *testing.T) {
	a, b := pair(t, false)
	a.store.Put(0, numbered(0, 5)...)
	a.store.UntilTrimmed(t, 0)
	a.stop()
	b.store.Put(0, slices.Repeat([]string{strings.Repeat("x", 1000)}, 20_000)...)
	a.store.Restore(0, 3)
	a.number = 77
	o := a.options("B", a.dialer(b))
	o.Scheduler = task.Goroutines{} // its goodbye waits for B to read all that was under way
	a.run(o)
	a.untilState(link.StateStopped)
	st := b.untilState(link.StateStopped)
	if !strings.HasPrefix(st.Reason, `site A stopped the link and says: "site B has accepted messages from this site up to 5 in lane 0, but this site's store has only 3`) {
		t.Fatalf("got %q", st.Reason)
	}
}

func TestCallerThatNobodyKnowsIsTold(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	a.run(a.options("B", a.dialer(b)))
	want := `site B ended the connection and says: "no peer A is configured here: add it under links.peers of this site"`
	a.until("the refusal", func(st link.Status) bool { return st.State == link.StateConnecting && st.Reason == want })
	b.run(b.options("A", nil)) // somebody adds it
	a.untilState(link.StateConnected)
	b.untilRefused("A: no peer A is configured here: add it under links.peers of this site")
}

func TestCallingTheWrongSiteStops(t *testing.T) {
	a, c := newSite(t, "A", 1), newSite(t, "C", 3)
	c.run(c.options("A", nil)) // C has a link to A, which is none of this
	a.run(a.options("B", a.dialer(c)))
	st := a.untilState(link.StateStopped)
	if st.Reason != "the address that is configured for site B is answered by site C: correct the address of B in this site's configuration and reload it, or see where its name leads; then here: fmqm links retry B" {
		t.Fatalf("got %q", st.Reason)
	}
	if st := c.link.Status(); st.State != link.StateWaiting {
		t.Fatalf("C's own link to A is %s: %s", st.State, st.Reason)
	}
}

// rawConn opens a connection to a site without a link.
func rawConn(t *testing.T, to *site) link.Conn {
	t.Helper()
	conn, err := to.dialer(to).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestConnectionsWithoutAHelloAreRefused(t *testing.T) {
	ack, err := frame.Encode(&frame.Frame{Version: 1, Type: frame.TypeAck, From: 5})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		frame []byte
		want  string
	}{
		{"garbage", []byte("GET / HTTP/1.1"), "read hello: frame is damaged"},
		{"another frame", ack, "read hello: malformed frame: a frame of type 3 comes first: a caller says who it is"},
		{"too large", make([]byte, frame.MaxHello+1), "receive frame of 16385 bytes: at most 16384"},
		{"nothing", nil, "read hello: receive frame: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newSite(t, "B", 2)
			conn := rawConn(t, b)
			if tt.frame == nil {
				_ = conn.Close()
			} else if err := conn.Send(tt.frame); err != nil {
				t.Fatal(err)
			}
			if tt.frame != nil {
				if _, err := conn.Recv(); err == nil {
					t.Fatal("it was answered")
				}
			}
			b.untilRefused(tt.want)
		})
	}
}

// manualClock keeps timers until the test lets them go off. Ticks are not kept.
type manualClock struct {
	now    *atomic.Int64
	timers chan timer
}

type timer struct {
	pause time.Duration
	fire  func()
}

func newManualClock() manualClock {
	return manualClock{now: new(atomic.Int64), timers: make(chan timer, 100)}
}

func (c manualClock) Now() time.Time { return time.Unix(0, c.now.Load()) }

func (c manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d != core.TickInterval {
		c.timers <- timer{d, f}
	}
	return func() bool { return true }
}

type failingDialer struct{ calls chan struct{} }

func (d failingDialer) Dial(context.Context) (link.Conn, error) {
	d.calls <- struct{}{}
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// A peer that is down costs a dial now and then, with a growing pause, and one line
// in the log; new messages change nothing about that.
func TestDialingBacksOff(t *testing.T) {
	for random, want := range map[float64][]time.Duration{
		0: {100, 200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000},
		1: {200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000},
	} {
		a := newSite(t, "A", 1)
		clock := newManualClock()
		dialer := failingDialer{calls: make(chan struct{}, 100)}
		o := a.options("B", dialer)
		o.Scheduler, o.Random = task.Goroutines{Clock: clock}, func() float64 { return random }
		a.run(o)
		for _, ms := range want {
			a.store.Put(0, "news")
			timer := <-clock.timers
			if timer.pause != ms*time.Millisecond {
				t.Fatalf("pause of %s, expected %d ms", timer.pause, ms)
			}
			if n := len(dialer.calls); n != 1 {
				t.Fatalf("%d dials between two pauses", n)
			}
			<-dialer.calls
			a.store.Put(0, "news")
			timer.fire()
		}
		if got := (<-clock.timers).pause; got != want[len(want)-1]*time.Millisecond {
			t.Fatalf("last pause of %s", got)
		}
		a.stop()
		if log := a.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "connection refused") {
			t.Fatalf("log: %s", log)
		}
		if st := a.states; len(st) != 1 || (<-st).Reason != "dial: connection refused" {
			t.Fatal("the reason was not published once")
		}
	}
}

// turnsDialer fails for one reason after the other, again and again.
type turnsDialer struct {
	reasons []string
	calls   *atomic.Int64
}

func (d turnsDialer) Dial(context.Context) (link.Conn, error) {
	return nil, errors.New(d.reasons[int(d.calls.Add(1)-1)%len(d.reasons)])
}

// Why a peer cannot be reached may change: each reason is logged, and once.
func TestEachReasonIsLoggedOnce(t *testing.T) {
	a := newSite(t, "A", 1)
	clock := newManualClock()
	o := a.options("B", turnsDialer{[]string{"the broker is down", "no permission"}, &atomic.Int64{}})
	o.Scheduler = task.Goroutines{Clock: clock}
	a.run(o)
	for range 8 {
		(<-clock.timers).fire()
	}
	<-clock.timers
	a.stop()
	log := a.log.String()
	if strings.Count(log, "\n") != 2 || !strings.Contains(log, "the broker is down") || !strings.Contains(log, "no permission") {
		t.Fatalf("log: %s", log)
	}
}

// After a conversation that lasted the first pause is short again; one that broke at
// once does not count.
func TestSteadyConversationShortensThePause(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	b.run(b.options("A", nil))
	clock := newManualClock()
	w := newWires(a.dialer(b))
	o := a.options("B", w)
	o.Scheduler, o.Random = task.Goroutines{Clock: clock}, func() float64 { return 1 }
	a.run(o)
	for n, step := range []struct{ lasted, pause time.Duration }{
		{0, 200 * time.Millisecond},
		{9 * time.Second, 400 * time.Millisecond},
		{9 * time.Second, 800 * time.Millisecond},
		{11 * time.Second, 200 * time.Millisecond},
		{0, 400 * time.Millisecond},
	} {
		a.untilState(link.StateConnected)
		clock.now.Add(int64(step.lasted))
		w.cut()
		timer := <-clock.timers
		if timer.pause != step.pause {
			t.Fatalf("pause %d is %s, expected %s", n+1, timer.pause, step.pause)
		}
		timer.fire()
	}
}

// Without an address the link waits, and says so.
func TestLinkWithoutAnAddressWaits(t *testing.T) {
	a := newSite(t, "A", 1)
	a.run(a.options("B", nil))
	a.store.Put(0, numbered(0, 3)...)
	st := a.link.Status()
	want := link.Status{Peer: "B", State: link.StateWaiting, Reason: "no address is configured: site B will call", Waiting: 3}
	st.Lanes = want.Lanes
	if !reflect.DeepEqual(st, want) {
		t.Fatalf("got %+v, expected %+v", st, want)
	}
}

// busyOutbox is asked while a message is put and confirmed.
type busyOutbox struct{ *linktest.Store }

func (o busyOutbox) Last(lane message.Lane) record.Position {
	last := o.Store.Last(lane)
	o.Put(lane, "a message")
	o.Trim(lane, last.Number+1)
	return last
}

// What waits is never less than nothing, whatever is confirmed while it is counted.
func TestWhatWaitsIsNotLessThanNothing(t *testing.T) {
	a := newSite(t, "A", 1)
	o := a.options("B", nil)
	o.Outbox = busyOutbox{a.store}
	if n := link.New(o).Status().Waiting; n != 0 {
		t.Errorf("%d messages wait", n)
	}
}

// A link that its site has ended says so, and what is known of the peer stays; what an operator has to
// decide stays as well.
func TestALinkThatHasEndedSaysSo(t *testing.T) {
	a, b := pair(t, false)
	for s, want := range map[*site]link.State{a: link.StateConnecting, b: link.StateWaiting} {
		l := s.link
		heard := l.Status().LastHeard
		s.stop()
		st := l.Status()
		if st.State != want || st.Reason != "this site is stopping" || st.Reads != nil || heard.IsZero() || st.LastHeard.Before(heard) ||
			st.Connects != 1 || len(st.Transports) > 1 || len(st.Transports) == 1 && st.Transports[0].State != link.StateConnecting {
			t.Errorf("%s: %+v, want %s", s.name, st, want)
		}
		if log := s.log.String(); strings.Contains(log, "stopping") {
			t.Errorf("log of %s: %s", s.name, log)
		}
	}

	c, d := newSite(t, "A", 3), newSite(t, "B", 4)
	if err := c.store.Bind(record.Incarnation{99}); err != nil {
		t.Fatal(err)
	}
	d.run(d.options("A", nil))
	c.run(c.options("B", c.dialer(d)))
	before := c.untilState(link.StateStopped)
	l := c.link
	c.stop()
	if st := l.Status(); st.State != link.StateStopped || st.Reason != before.Reason || st.Stop == nil || st.Presented != before.Presented {
		t.Errorf("%+v, want %+v", st, before)
	}
}
