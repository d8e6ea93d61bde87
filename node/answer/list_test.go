package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// two is a process that begins here or at B.
const two = `
process: two
version: 1
starts: [A, B]
activities:
  go:   {node: A, program: echo}
  work: {node: B, program: echo}
control:
  - go -> work
`

// listWorld is node A, which puts lists of other sites beside its own.
type listWorld struct {
	t *testing.T
	a *world
	q ListQuestion
	m merging
}

// at is a place: a time of the day, and an instance that the number stands for.
func (w *listWorld) at(text string) audit.Place {
	clock, number, _ := strings.Cut(text, "/")
	p, err := time.Parse("15:04", clock)
	if err != nil {
		w.t.Fatal(err)
	}
	id := uuid.UUID{14: byte(p.Minute()), 15: 1}
	if number != "" {
		id[15] = number[0] - '0'
	}
	return audit.Place{Started: time.Date(2026, 1, 1, p.Hour(), p.Minute(), 0, 0, time.UTC), Instance: id}
}

func (w *listWorld) text(p audit.Place) string {
	return fmt.Sprintf("%s/%d", p.Started.Format("15:04"), p.Instance[15])
}

// report reads what a site tells: lines TIME[/NUMBER] PROCESS STATE [ACTIVITY@NODE]...
func (w *listWorld) report(d *datadriven.TestData) (r ListReport) {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		p := w.at(f[0])
		i := api.Instance{Instance: p.Instance, Started: p.Started, Process: f[1], State: api.InstanceState(f[2]), Origin: "X"}
		for _, e := range f[3:] {
			activity, node, _ := strings.Cut(e, "@")
			i.Errors = append(i.Errors, api.ActivityError{Activity: activity, Node: node})
		}
		r.Instances = append(r.Instances, i)
	}
	if d.HasArg("more") {
		var more string
		d.ScanArgs(w.t, "more", &more)
		r.More, r.Next = true, w.at(more)
	}
	return r
}

func (w *listWorld) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "ask":
		w.q = ListQuestion{Limit: 100}
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "limit":
				arg.Scan(w.t, 0, &w.q.Limit)
			case "below":
				w.q.Below = w.at(arg.Vals[0])
			case "since":
				w.q.Since = w.at(arg.Vals[0]).Started
			case "process":
				w.q.Process = arg.Vals[0]
			case "state":
				w.q.State = api.InstanceState(arg.Vals[0])
			}
		}
		w.m = merging{question: w.q}
		return ""
	case "own":
		w.m.add(w.report(d))
		return ""
	case "site":
		var name string
		d.ScanArgs(w.t, "name", &name)
		w.m.add(w.a.believedList(processtable.NodeID(name), w.q, w.report(d)))
		return ""
	case "answer":
		var b strings.Builder
		answer := w.m.answer()
		for _, i := range answer.Instances {
			fmt.Fprintf(&b, "%s %s %s, of %s", w.text(placeOf(i)), i.Process, i.State, i.Origin)
			for _, e := range i.Errors {
				fmt.Fprintf(&b, ", %s at %s", e.Activity, e.Node)
			}
			b.WriteByte('\n')
		}
		if answer.More {
			p, err := parsePlace(answer.Next)
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintf(&b, "more below %s\n", w.text(p))
		}
		return b.String()
	}
	w.t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

// The lists of several sites become one, in which nothing is missing between two lines and
// nothing comes twice, and a site tells only what it may.
func TestListsBecomeOne(t *testing.T) {
	w := &listWorld{t: t, a: newWorld(t)}
	w.a.takeUp(two)
	w.a.takeUp("process: other\nversion: 1\nstarts: [A]\nactivities:\n  x: {node: A, program: echo}\n  y: {node: B, program: echo}\ncontrol: [x -> y]\n")
	datadriven.Walk(t, "testdata/lists", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return w.run(d) })
	})
}

// away is a site whose peer was heard at a time, and answers a question with an error.
type away struct {
	*world
	heard time.Time
	err   error
}

func (s *away) LinkTo(processtable.NodeID) (link.Status, bool) {
	return link.Status{Peer: "B", LastHeard: s.heard}, true
}

func (s *away) Query(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
	return nil, s.err
}

// Of a site without a connection a list says when it was last heard, however short ago that was; of one
// that is connected, why it did not answer.
func TestAListSaysWhoIsAwayInOneWay(t *testing.T) {
	cut := fmt.Errorf("query: %w: nothing listens there", link.ErrNotConnected)
	for _, c := range []struct {
		ago  time.Duration
		err  error
		want string
	}{
		{time.Hour, cut, ""},
		{lostJustNow / 2, cut, ""},
		{lostJustNow / 2, errors.New("busy"), "busy"},
		{time.Hour, context.DeadlineExceeded, "no answer in time"},
	} {
		w := newWorld(t)
		w.takeUp(two)
		heard := time.Now().Add(-c.ago)
		w.Site = &away{w, heard, c.err}
		a, err := w.List(t.Context(), api.ListRequest{Everywhere: true, Limit: 1})
		if want := (api.Unreachable{Node: "B", LastHeard: heard, Reason: c.want}); err != nil || len(a.Unreachable) != 1 || a.Unreachable[0] != want {
			t.Errorf("%v, heard %s ago: %+v, %v; want %+v", c.err, c.ago, a.Unreachable, err, want)
		}
	}
}
