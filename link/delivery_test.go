package link_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"fmqm/link"
	"fmqm/link/linktest"
)

// keeper makes a broker of a transport: it keeps what it delivered until it is
// settled, and may deliver it damaged, twice or late.
type keeper struct {
	link.Conn
	store  *linktest.Store // of the receiver
	t      testing.TB
	faulty bool
	drops  bool          // its link lets go of what it does not put on disk
	ended  chan struct{} // closed by Close; a broker's connection does not end with the peer's. nil: this one does

	once     sync.Once // of ended
	mu       sync.Mutex
	count    int
	ready    [][]byte // to be delivered before more is received
	late     []byte
	unsettle map[int]*link.Frame
	changed  chan struct{}
	lastData *link.Frame
}

type keepers struct {
	inner link.Dialer
	wrap  func(link.Conn) *keeper
	made  chan *keeper
}

func (k *keepers) Dial(ctx context.Context) (link.Conn, error) {
	c, err := k.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	kept := k.wrap(c)
	k.made <- kept
	return kept, nil
}

func (k *keeper) Recv() ([]byte, error) {
	k.t.Error("Recv was called where there is a Receive")
	return k.Conn.Recv()
}

func (k *keeper) Close() error {
	if k.ended != nil {
		k.once.Do(func() { close(k.ended) })
	}
	return k.Conn.Close()
}

func (k *keeper) Receive() (link.Delivery, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.ready) == 0 {
		k.mu.Unlock()
		data, err := k.Conn.Recv()
		if err != nil && k.ended != nil {
			<-k.ended
		}
		k.mu.Lock()
		if err != nil {
			return link.Delivery{}, err
		}
		k.ready = append(k.ready, k.disturb(data)...)
	}
	data := k.ready[0]
	k.ready = k.ready[1:]
	return k.keep(data), nil
}

// disturb gives what arrives of a frame: each third one that is not a hello comes
// damaged first, each fourth twice, each fifth after the one behind it.
func (k *keeper) disturb(data []byte) [][]byte {
	k.count++
	f, err := link.Decode(data)
	if !k.faulty || err != nil || f.Type == link.FrameHello {
		return [][]byte{data}
	}
	out := [][]byte{data}
	switch {
	case k.count%5 == 0 && k.late == nil:
		k.late = data
		return k.orDamaged(data)
	case k.count%4 == 0:
		out = append(out, data)
	case k.count%3 == 0:
		out = append(k.orDamaged(data), data)
	}
	if k.late != nil {
		out = append(out, k.late)
		k.late = nil
	}
	return out
}

func (k *keeper) orDamaged(data []byte) [][]byte {
	bad := slices.Clone(data)
	bad[len(bad)/2] ^= 1
	return [][]byte{bad}
}

func (k *keeper) keep(data []byte) link.Delivery {
	k.count++
	tag := k.count
	frame := &link.Frame{}
	if f, err := link.Decode(data); err == nil {
		frame = &f
	}
	if frame.Data != nil {
		k.lastData = frame
	}
	k.unsettle[tag] = frame
	k.change()
	return link.Delivery{Frame: data, Settle: func() { k.settle(tag) }}
}

func (k *keeper) settle(tag int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, there := k.unsettle[tag]
	if !there {
		k.t.Error("a delivery was settled twice")
		return
	}
	if d := f.Data; d != nil && !k.faulty && !k.drops {
		if end := d.First + uint64(len(d.Payloads)) - 1; k.store.Accepted(d.Lane).Number < end {
			k.t.Errorf("items up to %d were settled before they were on disk", end)
		}
	}
	delete(k.unsettle, tag)
	k.change()
}

func (k *keeper) change() {
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *keeper) until(what string, holds func() bool) {
	k.t.Helper()
	deadline := time.After(linktest.Patience)
	for {
		k.mu.Lock()
		ok, changed := holds(), k.changed
		k.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			k.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// kept is a pair of which B, which dials, has a transport that keeps.
func kept(t *testing.T, faulty bool) (a, b *site, k *keeper) {
	a, b = newSite(t, "A", 1), newSite(t, "B", 2)
	dialer := &keepers{inner: b.dialer(a), made: make(chan *keeper, 10), wrap: func(c link.Conn) *keeper {
		return &keeper{Conn: c, store: b.store, t: t, faulty: faulty, unsettle: map[int]*link.Frame{}, changed: make(chan struct{})}
	}}
	a.run(a.options("B", nil))
	b.run(b.options("A", dialer))
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	return a, b, <-dialer.made
}

// Invariant 5: a broker may let a frame go once the store has what it brought.
func TestDeliveryIsSettledOnceItsItemsAreOnDisk(t *testing.T) {
	a, b, k := kept(t, false)
	empty := b.store.Fill()
	a.store.Put(0, numbered(0, 10)...)
	a.store.Put(1, "expedited")
	k.until("data is delivered", func() bool { return k.lastData != nil })
	if _, err := a.link.Query(context.Background(), "passes", nil); err != nil { // what came behind the data was read
		t.Fatal(err)
	}
	k.mu.Lock()
	for _, f := range k.unsettle {
		if f.Data == nil {
			t.Errorf("a frame of type %d, which brings nothing for the disk, is not settled", f.Type)
		}
	}
	if len(k.unsettle) == 0 {
		t.Error("no data is kept while the store has no room")
	}
	k.mu.Unlock()
	empty()
	a.store.UntilTrimmed(t, 0)
	a.store.UntilTrimmed(t, 1)
	k.until("everything is settled", func() bool { return len(k.unsettle) == 0 })
}

// What is damaged, repeated, or ahead of a gap is settled too: nothing jams.
func TestDeliveryOfNoUseIsSettledAtOnce(t *testing.T) {
	a, b, k := kept(t, true)
	for i := range 60 {
		a.store.Put(0, numbered(10*i, 10)...)
		a.store.UntilTrimmed(t, 0)
	}
	k.until("everything is settled", func() bool { return len(k.unsettle) == 0 })
	if !slices.Equal(b.store.Have(0), numbered(0, 600)) {
		t.Fatal("what arrived is not what was sent")
	}
}

// hushed is a connection on which nothing comes.
type hushed struct {
	ended chan struct{}
	once  *sync.Once
}

func (h hushed) Send([]byte) error { return nil }

func (h hushed) Recv() ([]byte, error) {
	<-h.ended
	return nil, net.ErrClosed
}

func (h hushed) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// A link that stops keeps its way over a broker, so that its peer can ask. What it had
// not given to the store is let go: the broker would keep all that comes behind it.
func TestAStoppedLinkLetsGoOfWhatItDropped(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	dialer := &keepers{inner: b.dialer(a), made: make(chan *keeper, 10), wrap: func(c link.Conn) *keeper {
		return &keeper{Conn: c, store: b.store, t: t, drops: true, ended: make(chan struct{}), unsettle: map[int]*link.Frame{}, changed: make(chan struct{})}
	}}
	o := b.options("A", nil)
	o.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: dialer}}
	a.run(a.options("B", nil))
	b.run(o)
	b.untilState(link.StateConnected)
	k := <-dialer.made
	empty := b.store.Fill()
	for n := range uint64(3) { // the first one waits for the store, those behind it for the first
		a.store.Put(0, numbered(int(n), 1)...)
		k.until("data is delivered", func() bool { return k.lastData != nil && k.lastData.Data.First == n+1 })
	}
	b.link.Attach(hushed{make(chan struct{}), &sync.Once{}}, &link.Frame{Type: link.FrameHello, From: 99, Challenge: 1, Hello: &link.Hello{Node: "C", Expected: "B"}})
	b.untilState(link.StateStopped)
	k.until("what was dropped is settled", func() bool { return len(k.unsettle) <= 1 })
	empty()
	k.until("what the store has is settled", func() bool { return len(k.unsettle) == 0 })
}
