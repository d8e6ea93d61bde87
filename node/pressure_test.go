package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

const pressed = `
process: pressed
version: 1
activities:
  gate: {node: A, program: gate}
  send: {node: A, program: quick}
  there: {node: B, program: quick}
control:
  - gate -> send
  - send -> there
---
process: sending
version: 1
activities:
  send: {node: A, program: quick}
  there: {node: B, program: quick}
control:
  - send -> there
---
process: parenting
version: 1
activities:
  gate: {node: A, program: gate}
  pack: {node: A, process: sending}
control:
  - gate -> pack
---
process: local
version: 1
activities:
  one: {node: A, program: quick}
`

// fakeDisk is a disk whose room the test decides on.
type fakeDisk struct {
	low     chan bool // the answer of SpaceLow, always one in it
	changed *task.Bell
}

func newFakeDisk() *fakeDisk {
	d := &fakeDisk{low: make(chan bool, 1), changed: task.Goroutines{}.Bell()}
	d.low <- false
	return d
}

func (d *fakeDisk) SpaceLow() bool {
	low := <-d.low
	d.low <- low
	return low
}

func (d *fakeDisk) SpaceChanged() *task.Bell { return d.changed }

func (d *fakeDisk) Room() (free, mark int64, err error) { return 100 << 20, 128 << 20, nil }

func (d *fakeDisk) set(low bool) {
	<-d.low
	d.low <- low
	d.changed.Ring()
}

// happenings are what a test is told of, in order: lines of the node's log, audit records
// that are on disk, programs that were asked.
type happenings struct {
	mu   sync.Mutex
	all  []string
	more chan struct{} // closed with the next
}

func (h *happenings) add(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
	close(h.more)
	h.more = make(chan struct{})
}

// Write takes a line of the log.
func (h *happenings) Write(line []byte) (int, error) {
	h.add(string(line))
	return len(line), nil
}

// await waits until something has happened.
func (h *happenings) await(t *testing.T, what string) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	for seen := 0; ; {
		h.mu.Lock()
		for ; seen < len(h.all); seen++ {
			if strings.Contains(h.all[seen], what) {
				h.mu.Unlock()
				return
			}
		}
		more := h.more
		h.mu.Unlock()
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("it did not come about: %s", what)
		}
	}
}

// pressedNode is a node A, with a program that ends when the test opens the gate.
type pressedNode struct {
	t    *testing.T
	n    *Node
	disk *fakeDisk
	file *unreadableEngine
	open func()
	told *happenings
}

// unreadableEngine is an engine that can fail to read.
type unreadableEngine struct {
	store.Engine
	fails atomic.Bool
}

func (e *unreadableEngine) Get(key []byte) ([]byte, error) {
	if e.fails.Load() {
		return nil, errUnreadable
	}
	return e.Engine.Get(key)
}

func newPressedNode(t *testing.T, quota int64) *pressedNode {
	t.Helper()
	p := &pressedNode{t: t, disk: newFakeDisk(), file: &unreadableEngine{Engine: memoryEngine(t)}, told: &happenings{more: make(chan struct{})}}
	gate := make(chan struct{})
	p.open = sync.OnceFunc(func() { close(gate) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.told.add("asked for " + r.Header.Get("Fmqm-Instance"))
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"gate":  {Kind: program.KindHTTP, URL: server.URL, Concurrency: 8},
		"quick": {Kind: program.KindBuiltin, Builtin: "noop", Concurrency: 8},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.n, err = Open(Options{
		Name: "A", Engine: p.file, Registry: registry, Disk: p.disk, Limits: Limits{Transmission: quota},
		Log: zerolog.New(p.told),
		Observe: func(r record.AuditRecord) {
			p.told.add(happened(report.Events[r.Event], r.Instance, string(r.Activity)))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.n.Launch()
	t.Cleanup(func() {
		p.open()
		if err := p.n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		registry.Close()
	})
	p.install(pressed)
	return p
}

// happened is an audit record as a happening.
func happened(e api.Event, id uuid.UUID, activity string) string {
	return fmt.Sprintf("%s %s %s.", e, id, activity)
}

func (p *pressedNode) install(text string) {
	p.t.Helper()
	processes, problems := definition.Load("pressed.yaml", []byte(text))
	if definition.HasErrors(problems) {
		p.t.Fatal(problems)
	}
	for _, process := range processes {
		compiled, err := definition.Compile(process)
		if err != nil {
			p.t.Fatal(err)
		}
		for i, table := range compiled.Tables {
			if table.Node != "A" {
				continue
			}
			encoded := compiled.Encoded[i]
			prepared, _, err := p.n.tables.Judge(encoded, false)
			if err != nil {
				p.t.Fatal(err)
			}
			if err := p.n.commit(p.t.Context(), &record.Tx{Tables: []record.TableRecord{tables.Record(prepared, encoded)}}); err != nil {
				p.t.Fatal(err)
			}
			p.n.tables.Install(prepared)
		}
	}
}

func (p *pressedNode) start(process string) (uuid.UUID, error) {
	id := uuid.Must(uuid.NewV7())
	return id, p.n.Begin(p.t.Context(), api.StartRequest{Instance: id, Process: process})
}

func (p *pressedNode) mustStart(process string) uuid.UUID {
	p.t.Helper()
	id, err := p.start(process)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// runs waits until the program gate runs for an instance.
func (p *pressedNode) runs(id uuid.UUID) {
	p.t.Helper()
	p.told.await(p.t, "asked for "+id.String())
	p.is(id, "gate", api.ActivityRunning)
}

// ends waits until the end of an activity is on disk.
func (p *pressedNode) ends(id uuid.UUID, activity string) {
	p.t.Helper()
	p.told.await(p.t, happened(api.EventTerminated, id, activity))
	p.is(id, activity, api.ActivityTerminated)
}

// held says that an activity is ready and does not run, once the thread has taken up
// all that was committed for it.
func (p *pressedNode) held(id uuid.UUID, activity string) {
	p.t.Helper()
	for _, t := range p.n.threads() {
		if _, err := t.Gauges(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
	p.is(id, activity, api.ActivityReady)
}

// is compares an activity's state as the node itself sees it.
func (p *pressedNode) is(id uuid.UUID, activity string, want api.ActivityState) {
	p.t.Helper()
	s, err := p.n.Status(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(s.Activities, func(a api.Activity) bool { return a.Activity == activity })
	if i < 0 || s.Activities[i].State != want {
		p.t.Fatalf("%s should be %s: %+v", activity, want, s.Activities)
	}
}

// why compares what the node says that an activity waits for.
func (p *pressedNode) why(id uuid.UUID, activity, want string) {
	p.t.Helper()
	a, err := p.n.Why(p.t.Context(), id, "")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, w := range a.Waits {
		if w.Activity == activity {
			if w.For != want || w.At != "A" {
				p.t.Errorf("%s waits at %s for\n%s\nwant\n%s", activity, w.At, w.For, want)
			}
			return
		}
	}
	p.t.Errorf("nothing is said of %s: %+v", activity, a.Waits)
}

// low lets the node take notice of its disk.
func (p *pressedNode) low(low bool) {
	p.t.Helper()
	p.disk.set(low)
	if low {
		p.told.await(p.t, lowText)
	} else {
		p.told.await(p.t, "the disk has room again")
	}
}

func refusal(t *testing.T, err error, want ...string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeRefused {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, w := range want {
		if !strings.Contains(e.Error()+" "+e.Remedy, w) {
			t.Errorf("%q is not in %v (%s)", w, e, e.Remedy)
		}
	}
}

// N2: while the disk is low, a start that is repeated is not refused because the store could not be
// read: whether it is known is not known then, and the client is to ask again.
func TestAStartThatCannotBeReadIsNotRefused(t *testing.T) {
	p := newPressedNode(t, 0)
	known := p.mustStart("pressed")
	p.runs(known)
	p.low(true)
	p.file.fails.Store(true)
	for _, process := range []string{"pressed@1", "pressed"} {
		err := p.n.Begin(t.Context(), api.StartRequest{Instance: known, Process: process})
		if api.CodeOf(err) != api.CodeFailed || !strings.Contains(err.Error(), errUnreadable.Error()) {
			t.Errorf("%s: %v, want that the store cannot be read", process, err)
		}
	}
	p.file.fails.Store(false)
	if err := p.n.Begin(t.Context(), api.StartRequest{Instance: known, Process: "pressed"}); err != nil {
		t.Errorf("when it can be read: %v", err)
	}
}

// Below the first mark (S3) nothing is started, accepted or invoked; what runs ends, its
// end is committed, operators are heard, and all of it goes on when there is room.
func TestLowDisk(t *testing.T) {
	p := newPressedNode(t, 0)
	running, parent := p.mustStart("pressed"), p.mustStart("parenting")
	p.runs(running)
	p.runs(parent)
	condemned := p.mustStart("pressed")
	p.runs(condemned)
	p.low(true)

	_, err := p.start("local")
	refusal(t, err, "the disk of A is low", "make room on the file system of the data directory")
	if err := p.n.Begin(t.Context(), api.StartRequest{Instance: running, Process: "pressed"}); err != nil {
		t.Errorf("a start that is repeated (N2): %v", err)
	}
	in := p.n.admission.Inbox("B")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := in.Capacity(ended, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("links accept: %v", err)
	}
	waiting := make(chan error, 1)
	told := make(chan string, 1)
	go func() { waiting <- in.Capacity(t.Context(), func(reason string) { told <- reason }) }()
	if got, want := <-told, "room on the disk is low: make room on the file system of the data directory"; got != want {
		t.Errorf("the link is told %q, want %q", got, want)
	}
	if err := p.n.Terminate(t.Context(), condemned, ""); err != nil {
		t.Errorf("an operator is refused: %v", err)
	}
	p.told.await(t, happened(api.EventStopped, condemned, "gate"))
	p.is(condemned, "gate", api.ActivityTerminated)
	p.open()
	p.ends(running, "gate")
	p.held(running, "send")
	p.why(running, "send", "the disk of A is low: 100 MiB are free, and below 128 MiB (limits.free) the node runs nothing and accepts nothing from links: "+
		"make room on the file system of the data directory")
	if h := p.n.Ready(t.Context()); h.State != api.HealthDegraded {
		t.Errorf("health is %s: %+v", h.State, h)
	}
	select {
	case err := <-waiting:
		t.Fatalf("a link was let in: %v", err)
	default:
	}

	p.ends(parent, "gate")
	p.held(parent, "pack")
	p.low(false)
	p.told.await(t, happened(api.EventBegun, parent, "pack"))
	p.ends(running, "send")
	if err := <-waiting; err != nil {
		t.Errorf("links do not accept again: %v", err)
	}
	p.ends(p.mustStart("local"), "one")
	if h := p.n.Ready(t.Context()); h.State != api.HealthDegraded { // B is not configured
		t.Errorf("health is %s: %+v", h.State, h)
	}
}

// At a transmission queue's quota (S3) starts that need the peer are refused and running
// work waits as ready, and nothing else is touched. Three quarters let it go on.
func TestQuotaOfATransmissionQueue(t *testing.T) {
	p := newPressedNode(t, 1000)
	running, parent := p.mustStart("pressed"), p.mustStart("parenting")
	p.runs(running)
	p.runs(parent)
	to := p.n.queue.Transmission("B")
	sent := 0
	for {
		id, err := p.start("sending")
		if err != nil {
			refusal(t, err, "sending@1 needs B, and the transmission queue for it is full", "which is the quota (limits.transmission)", "bring B back, or raise limits.transmission")
			break
		}
		p.ends(id, "send")
		if sent++; sent > 100 {
			t.Fatal("no quota")
		}
	}
	if _, bytes := to.Size(); sent == 0 || bytes < 1000 || bytes > 2000 {
		t.Fatalf("%d were sent, %d bytes wait", sent, bytes)
	}
	p.ends(p.mustStart("local"), "one")
	p.open()
	p.ends(running, "gate")
	p.ends(parent, "gate")
	p.held(running, "send")
	p.held(parent, "pack") // its child would need B (N19)
	count, bytes := to.Size()
	full := fmt.Sprintf("the transmission queue for B is full: %d messages wait there (%d bytes), "+
		"the quota (limits.transmission) is 1000 bytes, and below 750 bytes this goes on: bring B back, or raise limits.transmission", count, bytes)
	p.why(running, "send", full)
	p.why(parent, "pack", full)
	if h := p.n.Ready(t.Context()); h.State != api.HealthDegraded {
		t.Errorf("health is %s", h.State)
	}

	for _, lane := range []message.Lane{message.LaneData, message.LaneControl} {
		to.Trim(lane, to.Last(lane).Number)
	}
	p.ends(running, "send")
	p.told.await(t, happened(api.EventBegun, parent, "pack"))
	p.ends(p.mustStart("sending"), "send")
}

// What waits for a free place of its program waits for nothing else, and is told so.
func TestWhyOfABusyProgram(t *testing.T) {
	p := newPressedNode(t, 1000)
	for range 8 {
		p.runs(p.mustStart("pressed"))
	}
	ninth := p.mustStart("pressed")
	p.held(ninth, "gate")
	p.why(ninth, "gate", "waiting for a free place of program gate")
	p.open()
	p.ends(ninth, "gate")
}
