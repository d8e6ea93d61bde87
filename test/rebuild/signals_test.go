package rebuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// Processes that A starts: one sends B an event, one waits there for two, one has work done there, and one is called there
// by B, which goes on with a program.
const (
	tells = `process: tells
version: 1
structures:
  Part: {serial: string}
events: {part: Part}
input: Part
starts: [A]
activities:
  tell: {node: A, send: {event: part, key: serial, to: B}, input: Part}
data: [source -> tell]
`
	hears = `process: hears
version: 1
structures:
  Part: {serial: string}
events: {part: Part}
input: Part
output: Part
starts: [A]
activities:
  hear: {node: B, receive: {event: part, key: serial}, input: Part, output: Part}
data: [source -> hear, hear -> sink]
`
	calls = `process: calls
version: 1
structures:
  Visit: {shop: string}
input: Visit
starts: [A]
activities:
  work: {node: A, at: {node: shop, of: [B]}, program: gate, input: Visit}
data: [source -> work]
`
	called = `process: called
version: 1
structures:
  Visit: {shop: string}
input: Visit
starts: [A]
activities:
  work: {node: B, at: {node: shop, of: [A, C]}, program: pass, input: Visit}
  last: {node: B, program: gate}
control: [work -> last]
data: [source -> work]
`
)

// twoSites are A and B, of which B loses its store.
type twoSites struct {
	*testing.T
	*fleet.Fleet
	ctx context.Context
}

func newTwoSites(t *testing.T, gate string) *twoSites {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	t.Cleanup(cancel)
	s := &twoSites{T: t, ctx: ctx, Fleet: fleet.New(t, fleet.Options{
		Sites: []string{"A", "B", "C"}, Links: fleet.DialAll,
		Programs: func(string) []string {
			return []string{"pass: {builtin: echo}", fmt.Sprintf("gate: {exec: [/bin/sh, -c, 'cat; : <%s']}", gate)}
		},
	})}
	s.Connected(ctx)
	return s
}

func (s *twoSites) start(process, input string) api.InstanceID {
	s.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := s.Sites["A"].Client.Start(s.ctx, api.StartRequest{Instance: id, Process: process, Input: []byte(input)}); err != nil {
		s.Fatal(err)
	}
	return id
}

// is waits until A says that an activity of an instance is as it is to be.
func (s *twoSites) is(id api.InstanceID, activity string, state api.ActivityState) {
	s.Helper()
	s.Until(s.ctx, activity+" is "+string(state), func() bool {
		status, err := s.Sites["A"].Client.Status(s.ctx, id)
		return err == nil && slices.ContainsFunc(status.Activities, func(a api.Activity) bool { return a.Activity == activity && a.State == state })
	})
}

func (s *twoSites) ends(id api.InstanceID) {
	s.Helper()
	s.Until(s.ctx, "instance "+id.String()+" ends", func() bool {
		status, err := s.Sites["A"].Client.Status(s.ctx, id)
		return err == nil && status.State == api.InstanceFinished
	})
}

// kept are the keys of the events that B keeps.
func (s *twoSites) kept() (keys []string) {
	list, err := s.Sites[lost].Client.Events(s.ctx, api.EventsRequest{Limit: 10})
	if err != nil {
		return nil
	}
	for _, e := range list.Events {
		keys = append(keys, e.Key)
	}
	slices.Sort(keys)
	return keys
}

// N20, N24, S4: a site loses its disk with events that it keeps, of a process and of an operator who had another site pass
// one on; with the work of a call; and with a call whose work has returned. It is sent all of that again, each event once
// however often it is rebuilt, and goes on.
func TestEventsAndCallsAfterALoss(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gate")
	gate := fleet.NewGate(t, file)
	s := newTwoSites(t, file)
	a, b := s.Sites["A"], s.Sites[lost]
	var files []string
	for _, text := range []string{tells, hears, calls, called} {
		files = append(files, a.Upload(text))
	}
	s.start("tells", `{"serial": "told"}`)
	fleet.Must(t, "fmqm", "event", "send", "part", "--key", "passed", "--data", `{"serial": "passed"}`, "--id", "one", "--at", lost, "--to", a.To())
	worker, home := s.start("calls", `{"shop": "B"}`), s.start("called", `{"shop": "A"}`)
	s.is(worker, "work", api.ActivityRunning)
	s.is(home, "last", api.ActivityRunning)
	s.Until(s.ctx, "B keeps both events", func() bool { return slices.Equal(s.kept(), []string{"passed", "told"}) })

	b.Stop()
	if err := os.Rename(b.File("data"), filepath.Join(t.TempDir(), "data")); err != nil {
		t.Fatal(err)
	}
	b.Start()
	b.Answers()
	s.Until(s.ctx, "A stops its link to B", func() bool { return a.Link(s.ctx, lost).State == "stopped" })
	for _, file := range files {
		fleet.Must(t, "fmqm-define", "upload", file, "--to", b.To())
	}
	out := fleet.Must(t, "fmqm", "rebuild", lost, "--yes", "--to", a.To())
	if !strings.Contains(out, "has sent B 5 messages of 3 instances again") {
		t.Errorf("rebuild says %s", out)
	}
	s.Until(s.ctx, "B keeps both events again", func() bool { return slices.Equal(s.kept(), []string{"passed", "told"}) })
	for _, key := range []string{"told", "passed"} {
		s.ends(s.start("hears", fmt.Sprintf(`{"serial": %q}`, key)))
	}
	fleet.Must(t, "fmqm", "rebuild", lost, "--yes", "--to", a.To())
	if kept := s.kept(); len(kept) > 0 {
		t.Errorf("rebuilt once more, B keeps %q", kept)
	}
	gate.Open()
	s.ends(worker)
	s.ends(home)
}
