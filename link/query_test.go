package link_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
	"fmqm/queue/record"
)

func TestQueriesGoBothWays(t *testing.T) {
	a, b := pair(t, false)
	got, err := a.link.Query(t.Context(), "status", []byte("7"))
	if err != nil || string(got) != "A asked status 7" {
		t.Fatalf("got %q, %v", got, err)
	}
	got, err = b.link.Query(t.Context(), "history", nil)
	if err != nil || string(got) != "B asked history " {
		t.Fatalf("got %q, %v", got, err)
	}
	_, err = a.link.Query(t.Context(), "fail", nil)
	if err == nil || err.Error() != "query fail of site B: no instance 7 at this site" {
		t.Fatalf("got %v", err)
	}
}

func TestQueryErrors(t *testing.T) {
	a := newSite(t, "A", 1)
	a.run(a.options("B", nil))
	tests := []struct {
		name string
		kind string
		body []byte
		want string
	}{
		{"nobody there", "status", nil, "query status of site B: not connected: no address is configured: site B will call"},
		{"no kind", "", nil, "query  of site B: query kind of 0 bytes: expected 1 to 64"},
		{"too large", "status", make([]byte, frame.MaxBody+1), "query status of site B: query body of 3145729 bytes: at most 3145728"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := a.link.Query(t.Context(), tt.kind, tt.body); err == nil || err.Error() != tt.want {
				t.Fatalf("got %v, expected %q", err, tt.want)
			}
		})
	}
	l := a.link
	a.stop()
	if _, err := l.Query(t.Context(), "status", nil); !errors.Is(err, link.ErrNotConnected) || !strings.Contains(err.Error(), "the link is stopping") {
		t.Fatalf("got %v", err)
	}
}

// gate is a Responder that answers when it is let.
type gate struct {
	asked chan time.Duration // how long the asker waits
	open  chan struct{}
}

func newGate() gate { return gate{asked: make(chan time.Duration, 100), open: make(chan struct{})} }

func (g gate) respond(ctx context.Context, _ processtable.NodeID, _ string, _ []byte) ([]byte, error) {
	due, _ := ctx.Deadline()
	g.asked <- time.Until(due)
	select {
	case <-g.open:
		return []byte("late"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// gated is a connected pair of which B answers through a gate.
func gated(t *testing.T) (a, b *site, g gate) {
	t.Helper()
	g = newGate()
	a, b = newSite(t, "A", 1), newSite(t, "B", 2)
	o := b.options("A", nil)
	o.Responder = g.respond
	b.run(o)
	a.run(a.options("B", a.dialer(b)))
	a.untilState(link.StateConnected)
	return a, b, g
}

// The asker's time-out is the remedy, and the one who answers knows it.
func TestQueryTimesOut(t *testing.T) {
	a, _, g := gated(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.link.Query(ctx, "status", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if wait := <-g.asked; wait > 50*time.Millisecond {
		t.Fatalf("the responder has %s", wait)
	}
}

// A query is lost with its connection, at once.
func TestQueryIsLostWithTheConnection(t *testing.T) {
	a, b, g := gated(t)
	result := make(chan error, 1)
	go func() {
		_, err := a.link.Query(context.Background(), "status", nil)
		result <- err
	}()
	select {
	case <-g.asked:
	case err := <-result:
		t.Fatalf("it was not asked: %v", err)
	}
	b.stop()
	if err := <-result; !errors.Is(err, link.ErrNotConnected) {
		t.Fatalf("got %v", err)
	}
}

// A peer is asked no more at once than it answers: what is asked beside that waits for its turn, however many there are.
func TestQueriesTakeTheirTurn(t *testing.T) {
	a, _, g := gated(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if got, err := a.link.Query(context.Background(), "status", nil); err != nil || string(got) != "late" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	for range 16 {
		<-g.asked
	}
	close(g.open) // one more at once would have been refused
	wg.Wait()
}

// Who waits for his turn has no answer once the connection is lost, or his time is over.
func TestQueriesWaitForTheirTurnInVain(t *testing.T) {
	a, b, g := gated(t)
	ended := make(chan error, 17)
	ask := func(ctx context.Context) {
		_, err := a.link.Query(ctx, "status", nil)
		ended <- err
	}
	for range 16 {
		go ask(context.Background())
		<-g.asked
	}
	brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	ask(brief)
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("its time is over: %v", err)
	}
	go ask(context.Background())
	b.stop()
	for range 17 {
		if err := <-ended; !errors.Is(err, link.ErrNotConnected) {
			t.Errorf("the connection is lost: %v", err)
		}
	}
}

// At most 16 are answered at once, whatever is asked: those who gave up are being answered yet, and the next is told to come again.
func TestTooManyQueries(t *testing.T) {
	a, _, g := gated(t)
	ctx, giveUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := a.link.Query(ctx, "status", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for range 16 {
		<-g.asked
	}
	giveUp()
	wg.Wait()
	_, err := a.link.Query(t.Context(), "status", nil)
	if err == nil || err.Error() != "query status of site B: site B already answers 16 queries: ask again later" {
		t.Fatalf("got %v", err)
	}
	close(g.open)
}

func TestAnswerThatIsTooLargeIsAnError(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	o := b.options("A", nil)
	o.Responder = func(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
		return make([]byte, frame.MaxBody+1), nil
	}
	b.run(o)
	a.run(a.options("B", a.dialer(b)))
	a.untilState(link.StateConnected)
	_, err := a.link.Query(t.Context(), "status", nil)
	if err == nil || err.Error() != "query status of site B: the answer: body of 3145729 bytes: at most 3145728" {
		t.Fatalf("got %v", err)
	}
}

// A frame that came whole and makes no sense: the connection ends with the reason,
// and the next one is good.
func TestFrameThatCannotBeReadIsShown(t *testing.T) {
	b := newSite(t, "B", 2)
	b.run(b.options("A", nil))
	conn := rawConn(t, b)
	hello, err := frame.Encode(&frame.Frame{
		Version: 1, Type: frame.TypeHello, From: 9, Seq: 1,
		Hello: &frame.Hello{Node: "A", Expected: "B", Incarnation: record.Incarnation{'A'}, MinVersion: 1, MaxVersion: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	senseless := []byte{0xa1, 0x00, 0x05} // version 5 and nothing else
	senseless = binary.BigEndian.AppendUint32(senseless, crc32.Checksum(senseless, crc32.MakeTable(crc32.Castagnoli)))
	for _, frame := range [][]byte{hello, []byte("damaged, as good as lost"), senseless} {
		if err := conn.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	want := "site A sent something that this version cannot read: malformed frame: format version 5: this program reads 1 to 3"
	b.until("the reason", func(st link.Status) bool { return st.Reason == want })
	a := newSite(t, "A", 1)
	a.run(a.options("B", a.dialer(b)))
	b.untilState(link.StateConnected)
}
