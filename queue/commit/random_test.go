package commit

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// decided is a transaction as the test remembers it.
type decided struct {
	n         int // in the order of submission
	at        int // when it was submitted
	consumes  []int
	takes     bool
	puts      []int
	committed int // when it was on disk; 0: it was not
}

// history says, of all that has happened, what a transaction could know when it was submitted.
type history struct {
	now   int
	works map[*Work]*decided
	done  []*decided          // in order
	put   map[int][]uint64    // by entry, numbers
	taken map[int][][2]uint64 // by entry, when and up to which number
	told  int
}

func randomEntry(n int) message.Entry {
	return message.Entry{Instance: message.InstanceID{byte(n)}, Activity: "a"}
}

// stale is what doc.go says, without any mark: something was put that was not taken when it was
// submitted, or another has consumed that was on disk only later.
func (h *history) stale(d *decided) bool {
	for _, e := range d.consumes {
		known := uint64(0)
		for _, t := range h.taken[e] {
			if int(t[0]) < d.at {
				known = max(known, t[1])
			}
		}
		if n := len(h.put[e]); n > 0 && h.put[e][n-1] > known {
			return true
		}
		for _, other := range h.done {
			if other.takes && other.committed > d.at && slices.Contains(other.consumes, e) {
				return true
			}
		}
	}
	return false
}

// TestStaleness: whatever comes in between, a transaction is refused exactly where it was
// decided without something, all happen in their order, and no mark outlives its reason. What was
// delivered to an entry and not taken has one oldest delivery, which no other entry has.
func TestStaleness(t *testing.T) {
	refused, happened := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := func(b *change.Batch) int64 { return int64(100 * len(b.Ops)) }
		c := New(Config{Size: size, MaxBatch: int64(200 + r.IntN(2000)), MaxKey: 10_000, MaxValue: 1 << 20}, NewState())
		c.Step(Opened{})
		h := &history{works: map[*Work]*decided{}, put: map[int][]uint64{}, taken: map[int][][2]uint64{}}
		delivered, oldest := map[int]uint64{}, map[uint64]int{}
		var pending *Write
		var last message.Arrival
		submitted := 0
		take := func(e int) {
			if delivered[e] > 0 {
				h.taken[e] = append(h.taken[e], [2]uint64{uint64(h.now), delivered[e]})
				c.Step(Taken{Entries: []TakenEntry{{Entry: randomEntry(e), Upto: delivered[e]}}})
				delete(delivered, e)
				maps.DeleteFunc(oldest, func(_ uint64, of int) bool { return of == e })
			}
		}
		report := func(rep *Report) {
			all := slices.Concat(rep.Refused, rep.Done)
			slices.SortFunc(all, func(a, b *Work) int { return h.works[a].n - h.works[b].n })
			for _, w := range all {
				d := h.works[w]
				if d.n != h.told {
					t.Fatalf("seed %d: transaction %d is told after %d", seed, d.n, h.told-1)
				}
				h.told++
				if want := h.stale(d); errors.Is(w.Err, ErrStale) != want {
					t.Fatalf("seed %d: transaction %d: %v; stale: %t", seed, d.n, w.Err, want)
				}
				if w.Err != nil {
					refused++
					continue
				}
				happened++
				d.committed = h.now
				h.done = append(h.done, d)
				for i, e := range d.puts {
					if a := w.Puts[i].Arrival; a.Compare(last) <= 0 {
						t.Fatalf("seed %d: a message arrives as %v after %v", seed, a, last)
					}
					last = w.Puts[i].Arrival
					if of, is := oldest[w.Puts[i].Oldest]; is != (delivered[e] > 0) || is && of != e {
						t.Fatalf("seed %d: delivery %d to %d comes to those since %d, which is %d's", seed, w.Puts[i].Number, e, w.Puts[i].Oldest, of)
					}
					oldest[w.Puts[i].Oldest] = e
					h.put[e] = append(h.put[e], w.Puts[i].Number)
					delivered[e] = w.Puts[i].Number
				}
			}
		}
		next := func() bool {
			if pending != nil {
				c.Step(Written{Number: pending.Number, Last: pending.Number})
				pending = nil
			}
			switch e := c.Next().(type) {
			case *Write:
				pending = e
			case *Report:
				report(e)
			case nil:
				return false
			default:
				t.Fatalf("seed %d: %T", seed, e)
			}
			return true
		}
		for range 300 {
			h.now++
			switch e := r.IntN(4); r.IntN(4) {
			case 0, 1:
				d := &decided{n: submitted, at: h.now, takes: r.IntN(3) > 0}
				submitted++
				w := &Work{Ops: []change.Op{{Key: fmt.Append(nil, "q", d.n)}}}
				for range r.IntN(3) {
					w.Ops = append(w.Ops, change.Op{Key: []byte("q")})
				}
				for e := range 4 {
					if r.IntN(3) == 0 {
						d.consumes = append(d.consumes, e)
						w.Consumes = append(w.Consumes, Consume{Process: processtable.ProcessID{}, Entry: randomEntry(e), Takes: d.takes})
					}
					if r.IntN(6) == 0 {
						d.puts = append(d.puts, e)
						w.Puts = append(w.Puts, Put{Entry: randomEntry(e), Op: len(w.Ops)})
						w.Ops = append(w.Ops, change.Op{Key: []byte("q"), Value: record.End(record.BeginMessage(nil))})
					}
				}
				w.Size = size(&change.Batch{Ops: w.Ops})
				h.works[w] = d
				c.Step(w)
			case 2:
				take(e)
			case 3:
				next()
			}
		}
		for more := true; more; {
			h.now++
			more = next() || pending != nil
		}
		if h.told != submitted {
			t.Fatalf("seed %d: %d of %d transactions were told", seed, h.told, submitted)
		}
		for e := range 4 {
			take(e)
		}
		c.Step(&Work{Ops: []change.Op{{Key: []byte("q")}}, Size: 100})
		w := c.Next().(*Write)
		c.Step(Written{Number: w.Number, Last: w.Number})
		if n := len(c.queue(processtable.ProcessID{}).marks); n != 0 || len(c.late) != 0 {
			t.Fatalf("seed %d: %d marks are left", seed, n)
		}
	}
	if refused < 1000 || happened < 1000 {
		t.Errorf("%d were refused, %d happened", refused, happened)
	}
}
