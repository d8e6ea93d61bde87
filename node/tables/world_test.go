package tables

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// world is the site A with a store and without a network: nobody whom it asks is heard.
type world struct {
	*Tables
	t     *testing.T
	up    map[processtable.ProcessID]behaviour.Process
	links map[processtable.NodeID]link.Status
	limit int
	// staffed: A has people to whom work can be offered.
	staffed    bool
	turned     []processtable.ProcessID // current, as it was told
	retiredFor time.Duration
	gave       []processtable.ProcessID // final words
	off        []record.WriteOff        // who was written off, or is no more
	absorbed   int                      // messages that were taken out
	stranded   int                      // instances
	// meanwhile happens once, when the next transaction has been made ready: its error is what
	// becomes of that.
	meanwhile func() error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	by := task.Goroutines{}
	q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: by})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, up: map[processtable.ProcessID]behaviour.Process{}, links: map[processtable.NodeID]link.Status{}}
	w.Tables = New(Options{Self: "A", Site: w, Queue: q, Scheduler: by})
	return w
}

func (w *world) Query(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
	return nil, errors.New("nobody answers")
}

func (w *world) Process(id processtable.ProcessID) behaviour.Process { return w.up[id] }

func (w *world) Processes() []behaviour.Process {
	return slices.SortedFunc(maps.Values(w.up), func(a, b behaviour.Process) int {
		return a.Table().Process.Compare(b.Table().Process)
	})
}

func (w *world) TakeUp(p behaviour.Process) { w.up[p.Table().Process] = p }

func (w *world) Commit(ctx context.Context, tx *record.Tx) error {
	if meanwhile := w.meanwhile; meanwhile != nil {
		w.meanwhile = nil
		if err := meanwhile(); err != nil {
			return err
		}
	}
	done := task.NewAnswer[error](w.Scheduler)
	tx.Done = done.Give
	w.Queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (w *world) TableLimit() int                    { return w.limit }
func (w *world) Programs() []processtable.ProgramID { return []processtable.ProgramID{"p"} }
func (w *world) Peers() []processtable.NodeID       { return slices.Sorted(maps.Keys(w.links)) }
func (w *world) ReachesAll() bool                   { return true }
func (w *world) Staffed() bool                      { return w.staffed }

func (w *world) LinkTo(peer processtable.NodeID) (link.Status, bool) {
	s, linked := w.links[peer]
	return s, linked
}

func (w *world) Reaches(peer processtable.NodeID) bool { return strings.HasPrefix(string(peer), "B") }

func (w *world) Meet(peer processtable.NodeID) {
	if w.Reaches(peer) {
		w.links[peer] = link.Status{Peer: peer, State: link.StateWaiting, Reason: "no address is configured: site " + string(peer) + " will call"}
	}
}

// store stores a table of A, and takes it up.
func (w *world) store(encoded []byte) {
	w.t.Helper()
	p, isNew, err := w.Judge(encoded, false)
	if err != nil || !isNew {
		w.t.Fatalf("new %t, %v", isNew, err)
	}
	if err := w.Commit(w.t.Context(), &record.Tx{Tables: []record.TableRecord{Record(p, encoded)}}); err != nil {
		w.t.Fatal(err)
	}
	w.Install(p)
}

func (w *world) TurnedCurrent(id processtable.ProcessID) { w.turned = append(w.turned, id) }

func (w *world) TurnedRetired(processtable.ProcessID, bool) {}

func (w *world) GaveFinal(id processtable.ProcessID) { w.gave = append(w.gave, id) }

func (w *world) LetGo(id processtable.ProcessID) { delete(w.up, id) }

func (w *world) Absorbed(_ processtable.ProcessID, messages int) { w.absorbed += messages }

func (w *world) Stranded(_ processtable.ProcessID, _ processtable.NodeID, instances int) {
	w.stranded = instances
}

func (w *world) WroteOff(o *record.WriteOff) { w.off = append(w.off, *o) }

func (w *world) RetiredFor() time.Duration { return w.retiredFor }
