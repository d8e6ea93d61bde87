package link_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"fmqm/link"
	"fmqm/link/frame"
)

// disturbed makes a broker of a transport: what it delivers may come damaged, twice or late.
type disturbed struct {
	link.Conn
	t     testing.TB
	count int
	ready [][]byte // to be delivered before more is received
	late  []byte
}

type disturbing struct {
	inner link.Dialer
	t     testing.TB
}

func (d disturbing) Dial(ctx context.Context) (link.Conn, error) {
	c, err := d.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &disturbed{Conn: c, t: d.t}, nil
}

func (k *disturbed) Recv() ([]byte, error) {
	k.t.Error("Recv was called where there is a Receive")
	return k.Conn.Recv()
}

func (k *disturbed) Receive() (link.Delivery, error) {
	if len(k.ready) == 0 {
		data, err := k.Conn.Recv()
		if err != nil {
			return link.Delivery{}, err
		}
		k.ready = append(k.ready, k.disturb(data)...)
	}
	data := k.ready[0]
	k.ready = k.ready[1:]
	return link.Delivery{Frame: data}, nil
}

// disturb gives what arrives of a frame: each third one that is not a hello comes
// damaged first, each fourth twice, each fifth after the one behind it.
func (k *disturbed) disturb(data []byte) [][]byte {
	k.count++
	f, err := frame.Decode(data)
	if err != nil || f.Type == frame.TypeHello {
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

func (k *disturbed) orDamaged(data []byte) [][]byte {
	bad := slices.Clone(data)
	bad[len(bad)/2] ^= 1
	return [][]byte{bad}
}

// Whatever a broker makes of the frames, what arrives is what was sent.
func TestWhatABrokerDisturbs(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	a.run(a.options("B", nil))
	b.run(b.options("A", disturbing{b.dialer(a), t}))
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	for i := range 60 {
		a.store.Put(0, numbered(10*i, 10)...)
		a.store.UntilTrimmed(t, 0)
	}
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
