package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// begins are processes of which activities begin work, or send events, once the gate is open: to B or C, as the input says.
const begins = `
process: calling
version: 1
structures:
  Visit: {shop: string}
input: Visit
activities:
  gate: {node: A, program: gate, input: Visit, output: Visit}
  visit: {node: A, at: {node: shop, of: [B, C]}, program: quick, input: Visit}
control:
  - gate -> visit
data:
  - source -> gate
  - source -> visit
---
process: telling
version: 1
structures:
  Visit: {shop: string}
input: Visit
events: {visited: {}}
activities:
  gate: {node: A, program: gate, input: Visit, output: Visit}
  tell: {node: A, send: {event: visited, to: {node: shop, of: [B, C]}}, input: Visit}
control:
  - gate -> tell
data:
  - source -> gate
  - source -> tell
---
process: bundling
version: 1
structures:
  Visit: {n: int}
  Visits: {n: [int]}
input: Visits
activities:
  gate: {node: A, program: gate}
  each: {node: A, program: quick, input: Visit, for_each: n, parallel: 2}
control:
  - gate -> each
data:
  - source -> each
---
process: hurrying
version: 1
structures:
  Visit: {shop: string}
input: Visit
activities:
  gate: {node: A, program: gate, input: Visit, output: Visit}
  visit: {node: A, at: {node: shop, of: [B, C]}, program: quick, input: Visit, deadline: {after: 100ms}}
  late: {node: A, empty: true}
control:
  - gate -> visit
  - visit -> late: _TIMEOUT
data:
  - source -> gate
  - source -> visit
---
process: waves
version: 1
structures:
  Visit: {n: int}
  Visits: {n: [int]}
input: Visits
activities:
  each: {node: A, program: gate, input: Visit, for_each: n, parallel: 2}
data:
  - source -> each
`

// startWith starts an instance with an input.
func (p *pressedNode) startWith(process, input string) uuid.UUID {
	p.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if err := p.n.Begin(p.t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		p.t.Fatal(err)
	}
	return id
}

// fill brings the queue to B to its quota, and gives what is said of that.
func (p *pressedNode) fill() string {
	p.t.Helper()
	for sent := 0; ; sent++ {
		id, err := p.start("sending")
		if err != nil {
			break
		}
		p.ends(id, "send")
		if sent > 100 {
			p.t.Fatal("no quota")
		}
	}
	count, bytes := p.n.queue.Transmission("B").Size()
	return fmt.Sprintf("the transmission queue for B is full: %d messages wait there (%d bytes), "+
		"the quota (limits.transmission) is 1000 bytes, and below 750 bytes this goes on: bring B back, or raise limits.transmission", count, bytes)
}

// empty takes what waits for B, as B would.
func (p *pressedNode) empty() {
	to := p.n.queue.Transmission("B")
	for _, lane := range []message.Lane{message.LaneData, message.LaneControl} {
		to.Trim(lane, to.Last(lane).Number)
	}
}

// count waits until something has happened so many times.
func (p *pressedNode) count(times int, what string) {
	p.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 60_000 {
		if len(p.told.with(what)) >= times {
			return
		}
		<-look.C
	}
	p.t.Fatalf("it did not come about %d times: %s", times, what)
}

// N20, N24, S3: the begin of a call, and an event, wait while the queue to their node is full, and are told so;
// those to another node go. Where there is room again, they go on.
func TestACallAndAnEventWaitForTheirQueue(t *testing.T) {
	for _, c := range []struct{ process, activity, done string }{
		{"calling", "visit", string(api.EventBegun)}, {"telling", "tell", string(api.EventTerminated)},
	} {
		t.Run(c.process, func(t *testing.T) {
			p := newPressedNode(t, 1000)
			p.install(begins)
			held, free := p.startWith(c.process, `{"shop":"B"}`), p.startWith(c.process, `{"shop":"C"}`)
			p.runs(held)
			p.runs(free)
			full := p.fill()
			before, _ := p.n.queue.Transmission("B").Size()
			p.open()
			p.ends(held, "gate")
			p.told.await(t, happened(api.Event(c.done), free, c.activity))
			p.held(held, c.activity)
			p.why(held, c.activity, full)
			if after, _ := p.n.queue.Transmission("B").Size(); after != before {
				t.Errorf("%d messages wait for B, and %d did", after, before)
			}
			p.empty()
			p.told.await(t, happened(api.Event(c.done), held, c.activity))
		})
	}
}

// N21, S3: below the first mark no element of a bundle begins, nor the work of a call; the elements that run end, and
// the bundle goes on when there is room.
func TestABundleBeginsNothingOnALowDisk(t *testing.T) {
	p := newPressedNode(t, 0)
	p.install(begins)
	bundle, call := p.startWith("bundling", `{"n":[1,2,3,4,5]}`), p.startWith("calling", `{"shop":"B"}`)
	p.runs(bundle)
	p.runs(call)
	p.low(true)
	p.open()
	p.ends(bundle, "gate")
	p.ends(call, "gate")
	p.held(bundle, "each")
	p.held(call, "visit")
	const low = "the disk of A is low: 100 MiB are free, and below 128 MiB (limits.free) the node runs nothing and accepts nothing from links: " +
		"make room on the file system of the data directory"
	p.why(bundle, "each", low)
	p.why(call, "visit", low)
	if count, _ := p.n.queue.Transmission("B").Size(); count != 0 {
		t.Errorf("%d messages wait for B", count)
	}
	p.low(false)
	p.told.await(t, happened(api.EventEnded, bundle, "sink"))
	p.told.await(t, happened(api.EventBegun, call, "visit"))
}

// N21, S3: a bundle that has begun some of its elements begins no more on a low disk, and says so; what has begun ends.
func TestABundleUnderWayBeginsNoMoreOnALowDisk(t *testing.T) {
	p := newPressedNode(t, 0)
	p.install(begins)
	bundle := p.startWith("waves", `{"n":[1,2,3,4,5]}`)
	p.count(2, "asked for "+bundle.String())
	p.low(true)
	p.open()
	p.count(2, happened(api.EventTerminated, bundle, "each"))
	if _, err := p.n.thread(processtable.ProcessID{Name: "waves", Version: 1}).Gauges(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.is(bundle, "each", api.ActivityRunning)
	s, err := p.n.Status(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	each := s.Activities[slices.IndexFunc(s.Activities, func(a api.Activity) bool { return a.Activity == "each" })]
	if e := each.Elements; e == nil || e.Done != 2 || e.Count != 5 {
		t.Errorf("it has %+v, want 2 of 5", e)
	}
	p.why(bundle, "each", "the disk of A is low: 100 MiB are free, and below 128 MiB (limits.free) the node runs nothing and accepts nothing from links: "+
		"make room on the file system of the data directory")
	p.low(false)
	p.told.await(t, happened(api.EventEnded, bundle, "sink"))
}

// N20, N23: the deadline of a call is counted also while it waits for room.
func TestADeadlineOfACallThatWaitsForItsQueue(t *testing.T) {
	p := newPressedNode(t, 1000)
	p.install(begins)
	id := p.startWith("hurrying", `{"shop":"B"}`)
	p.runs(id)
	p.fill()
	before, _ := p.n.queue.Transmission("B").Size()
	p.open()
	p.told.await(t, happened(api.EventEnded, id, "sink"))
	p.is(id, "late", api.ActivityTerminated)
	if after, _ := p.n.queue.Transmission("B").Size(); after != before {
		t.Errorf("%d messages wait for B, and %d did", after, before)
	}
}
