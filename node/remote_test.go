package node

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/rebuild"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// terminates is C's request that A terminate an instance of secret.
func (w *inboxWorld) terminates(id message.InstanceID, by string) string {
	return w.asked("C", command.AskTerminate, command.TerminateQuestion{Instance: id, Process: "secret@1", By: by})
}

// Whoever terminates an instance may say why, also from another site: status, why and history have it behind who that was, also
// while its entries are being ended. What no client sends as a reason is not taken.
func TestAnInstanceIsTerminatedForAReason(t *testing.T) {
	for _, from := range []string{"A", "C"} {
		t.Run("from "+from, func(t *testing.T) {
			w, _, id := secretWorld(t)
			w.a.SetRemoteOperators(trust.Operators{{Site: "C", Operators: []string{"alice"}}})
			before := w.queued(id)
			asks := func(reason string) string {
				return w.asked("C", command.AskTerminate, command.TerminateQuestion{Instance: id, Process: "secret@1", By: "alice", Reason: reason})
			}
			if got := asks(strings.Repeat("x", api.MaxReason+1)); !strings.Contains(got, "C asks for what cannot be") {
				t.Errorf("a reason that is too long: %s", got)
			}
			w.untouched(id, before)
			if from == "C" {
				if got := asks("ordered twice"); got != "{}" {
					t.Fatal(got)
				}
			} else if err := w.a.TerminateOf(api.WithOperator(t.Context(), "alice"), id, api.TerminateRequest{Reason: "ordered twice"}); err != nil {
				t.Fatal(err)
			}
			who := "terminated by alice at " + from + ": ordered twice"
			said := func() {
				t.Helper()
				s, err := w.a.Status(t.Context(), id)
				if err != nil || s.By != "alice at "+from || s.Reason != who {
					t.Errorf("status: by %q, %q (%v)", s.By, s.Reason, err)
				}
				if why, err := w.a.Why(t.Context(), id, ""); err != nil || why.Reason != who {
					t.Errorf("why: %q (%v)", why.Reason, err)
				}
			}
			said()
			w.over(id)
			said()
			h, err := w.a.History(t.Context(), id)
			if err != nil || len(h.Events) == 0 {
				t.Fatal(h, err)
			}
			if last := h.Events[len(h.Events)-1]; last.Event != api.EventStopped || last.Reason != "instance "+who {
				t.Errorf("history: %+v", last)
			}
		})
	}
}

// untouched says that nothing was done to an instance of secret: no marker, nothing on its way.
func (w *inboxWorld) untouched(id message.InstanceID, before queueState) {
	w.t.Helper()
	if now := w.queued(id); now != before {
		w.t.Errorf("it was %+v, and is %+v", before, now)
	}
}

// over returns when an instance has ended.
func (w *inboxWorld) over(id message.InstanceID) {
	w.t.Helper()
	for {
		_, ended, _, err := w.a.queue.Instance(id)
		if err != nil {
			w.t.Fatal(err)
		}
		if ended != nil {
			return
		}
		if _, err := w.a.thread(processtable.ProcessID{Name: "secret", Version: 1}).Gauges(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

type queueState struct {
	marked  bool
	waiting uint64
	events  int
}

func (w *inboxWorld) queued(id message.InstanceID) (s queueState) {
	w.t.Helper()
	marker, err := w.a.queue.Marker(processtable.ProcessID{Name: "secret", Version: 1}, id)
	if err != nil {
		w.t.Fatal(err)
	}
	stats, err := w.a.queue.Transmission("C").Stats()
	if err != nil {
		w.t.Fatal(err)
	}
	events, err := w.a.queue.History(id)
	if err != nil {
		w.t.Fatal(err)
	}
	return queueState{marker != nil, stats.Count, len(events)}
}

// What an operator at another site asks changes nothing unless remote_operators takes it,
// and the answer says what to do.
func TestOperatorsOfOtherSitesAreRefused(t *testing.T) {
	w, _, id := secretWorld(t)
	before := w.queued(id)
	retry := func(by string) string {
		return w.asked("C", command.AskRetry, command.RetryQuestion{Instance: id, Process: "secret@1", Activity: "s1", Output: json.RawMessage(`{"text": "mine"}`), By: by})
	}
	for by, want := range map[string]string{
		"":                "C did not say who asks",
		"alice":           "from alice at C: its `remote_operators` does not allow it",
		"user:root":       "from user:root at C",
		"al\u202eice":     "C gives its operator a name that cannot be one",
		"alice at A: yes": "C gives its operator a name that cannot be one",
	} {
		for command, got := range map[string]string{
			"terminate": w.terminates(id, by), "retry": retry(by),
			"rebuild": w.asked("C", rebuild.AskRebuild, rebuild.Word{Peer: "A2", Do: true, By: by}),
		} {
			if command == "rebuild" {
				if !strings.Contains(got, "A has no peer A2") { // it has no part: that is not told apart
					t.Errorf("%s: %s", command, got)
				}
				continue
			}
			if !strings.Contains(got, want) || !strings.Contains(got, `"refused"`) {
				t.Errorf("%s by %q: %s, want %q", command, by, got, want)
			}
		}
	}
	if got := w.terminates(id, "alice"); !strings.Contains(got, "remote_operators: [{site: C, operators: [\\\"alice\\\"]}]") {
		t.Errorf("it is not said what to write: %s", got)
	}
	w.untouched(id, before)
}

// Where it is taken it is done, and status and history name who did it.
func TestOperatorsOfOtherSitesAreNamed(t *testing.T) {
	w, _, id := secretWorld(t)
	w.a.SetRemoteOperators(trust.Operators{{Site: "C", Operators: []string{"alice"}}})
	if got := w.asked("C", command.AskRetry, command.RetryQuestion{Instance: id, Process: "secret@1", Activity: "s1", Output: json.RawMessage(`{"text": "mine"}`), By: "alice"}); got != "{}" {
		t.Fatal(got)
	}
	if got := w.terminates(id, "alice"); got != "{}" {
		t.Fatal(got)
	}
	if got := w.terminates(id, "alice"); !strings.Contains(got, "is terminated") {
		t.Errorf("once more: %s", got)
	}
	w.over(id)
	s, err := w.a.Status(t.Context(), id)
	if err != nil || s.By != "alice at C" || s.Reason != "terminated by alice at C" {
		t.Errorf("status: by %q, %q (%v)", s.By, s.Reason, err)
	}
	if a := s.Activities[0]; a.By != "alice at C" || a.Reason != "its output was given by hand by alice at C" {
		t.Errorf("activity: %+v", a)
	}
	h, err := w.a.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h.Events {
		if e.By != "" {
			got = append(got, e.Activity+" "+string(e.Event)+" by "+e.By)
		}
	}
	if want := "s1 retried by alice at C, s1 terminated by alice at C, sink stopped by alice at C"; strings.Join(got, ", ") != want {
		t.Errorf("history: %v, want %s", got, want)
	}
	why, err := w.a.Why(t.Context(), id, "")
	if err != nil || why.By != "alice at C" {
		t.Errorf("why: %+v (%v)", why, err)
	}
}

// A guess is worth nothing: who ends an instance that was not started yet has not ended the
// one that is started then under that identifier.
func TestAGuessedInstanceIsNotEnded(t *testing.T) {
	w, table, _ := secretWorld(t)
	w.a.SetRemoteOperators(trust.Operators{{Site: "*"}})
	guessed := api.KeyedInstance("secret", "2026-01-31")
	before := w.queued(guessed)
	if got := w.terminates(guessed, "alice"); !strings.Contains(got, "A does not know instance "+guessed.String()) {
		t.Errorf("terminate: %s", got)
	}
	w.untouched(guessed, before)
	c := w.from("C")
	c.lane = message.LaneControl
	c.sends(markerOf(table.Process, guessed, "A"))
	w.untouched(guessed, before)
	if _, err := w.a.Start(context.Background(), api.StartRequest{Instance: guessed, Process: "secret", Key: "2026-01-31", Input: json.RawMessage(`{"text": "x"}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := w.a.Status(t.Context(), guessed); err != nil || s.State == api.InstanceTerminated {
		t.Errorf("it is %s (%v)", s.State, err)
	}
}

func markerOf(id processtable.ProcessID, i message.InstanceID, origin processtable.NodeID) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: id, Node: "A"}, Instance: i, Origin: origin, Kind: message.KindMarker, Lane: message.LaneControl,
	}, Body: message.EncodeMarker(message.Marker{Reason: "enough"})}
}

// A marker is the origin's word. From others it is taken where remote_operators takes what
// they ask without a name, as an older version of this program does; and nobody ends an
// instance by saying that it was started at his own site.
func TestMarkersAreTheOriginsWord(t *testing.T) {
	const everywhere = `
process: secret
version: 1
starts: [A, B, C]
activities:
  s1: {node: A, program: nothing}
  s2: {node: C, program: nothing}
  s3: {node: B, program: nothing}
control: [s1 -> s2, s2 -> s3]
`
	w := inboxWorldOf(t, everywhere, true)
	id := uuid.Must(uuid.NewV7())
	if _, err := w.a.Start(t.Context(), api.StartRequest{Instance: id, Process: "secret"}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name         string
		peer, origin processtable.NodeID
		instance     message.InstanceID
		taken        trust.Operators
		want         string // empty: it is taken
	}{
		{"of its origin", "B", "B", uuid.Must(uuid.NewV7()), nil, ""},
		{"of another site", "C", "B", uuid.Must(uuid.NewV7()), nil, "C wants to end an instance that was started at B: terminate it there"},
		{"of another site, whose named operators are taken", "C", "B", uuid.Must(uuid.NewV7()), trust.Operators{{Site: "C", Operators: []string{"*"}}}, "C wants to end an instance that was started at B"},
		{"of another site, all of whose are taken", "C", "B", uuid.Must(uuid.NewV7()), trust.Operators{{Site: "C"}}, ""},
		{"of an instance that was started here, by its number", "C", "A", id, nil, "C wants to end an instance that was started at A"},
		{"of an instance that was started here, as of its own", "C", "C", id, trust.Operators{{Site: "*"}}, "it says that its instance was started at C, but it was started at A"},
		{"of an instance that was not started here", "C", "A", uuid.Must(uuid.NewV7()), trust.Operators{{Site: "*"}}, "but A did not start it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.a.SetRemoteOperators(tc.taken)
			m := markerOf(w.table.Process, tc.instance, tc.origin)
			got, err := w.a.admission.Misplaced(tc.peer, &m)
			if err != nil || tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q (%v), want %q", got, err, tc.want)
			}
		})
	}
	if s, err := w.a.Status(t.Context(), id); err != nil || s.State == api.InstanceTerminated {
		t.Errorf("it is %s (%v)", s.State, err)
	}
}

// An instance's origin tells a third site that it is over, whoever asks that has a part; not
// of one that goes on, nor of one that it knows nothing of.
func TestWhoTellsThatAnInstanceIsOver(t *testing.T) {
	w, _, id := secretWorld(t)
	ask := func(peer processtable.NodeID, i message.InstanceID, to string) string {
		return w.asked(peer, command.AskEnd, command.EndQuestion{Instance: i, Process: "secret@1", Node: to})
	}
	before := w.queued(id)
	if got := ask("C", id, "C"); !strings.Contains(got, "has not ended") {
		t.Errorf("of one that goes on: %s", got)
	}
	if got := ask("C", uuid.Must(uuid.NewV7()), "C"); !strings.Contains(got, "was not started at A") {
		t.Errorf("of one that is not there: %s", got)
	}
	if got := ask("B", id, "C") + ask("C", id, "B"); strings.Count(got, "no table of secret@1 at A") != 2 {
		t.Errorf("of, or to, who has no part: %s", got)
	}
	w.untouched(id, before)
	if err := w.a.Terminate(api.WithOperator(t.Context(), "user:root"), id, ""); err != nil {
		t.Fatal(err)
	}
	w.over(id)
	waiting := w.queued(id).waiting
	if got := ask("C", id, "C"); got != "{}" {
		t.Errorf("of one that was terminated: %s", got)
	}
	if now := w.queued(id).waiting; now != waiting+1 {
		t.Errorf("%d messages wait for C, want %d", now, waiting+1)
	}
	marker, err := w.a.queue.Marker(processtable.ProcessID{Name: "secret", Version: 1}, id)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := message.DecodeMarker(marker.Body); err != nil || m.By != "user:root at A" {
		t.Errorf("the marker: %+v (%v)", m, err)
	}
}

// A site of starts guesses the identifier of an instance of another one, and ends it at A
// before anything of it has come, as its own. That is not in the way of the origin's own
// marker: where something of the instance is here, that one counts; until then it is refused,
// with the reason, and can be retried.
func TestAGuessIsNotInTheWayOfTheOriginsMarker(t *testing.T) {
	const guessable = `
process: guessable
version: 1
starts: [C, D]
activities:
  s1: {node: A, program: nothing}
  s2: {node: C, program: nothing}
  s3: {node: D, program: nothing}
control: [s1 -> s2, s2 -> s3]
`
	for _, first := range []string{"connector", "marker"} {
		t.Run("the "+first+" of the origin comes first", func(t *testing.T) {
			w := inboxWorldOf(t, guessable, true)
			id := uuid.Must(uuid.NewV7())
			c, d := w.from("C"), w.from("D")
			c.lane = message.LaneControl
			expedited := &from{Inbox: d.Inbox, w: w, lane: message.LaneControl}
			begins := message.Message{Header: message.Header{
				Queue: message.Queue{Process: w.table.Process, Node: "A"}, Definition: w.table.Definition.Short(), Instance: id, Origin: "D",
				Activity: "s1", Source: processtable.Source, Kind: message.KindConnector, Control: message.True, Clock: 1,
			}}
			c.sends(markerOf(w.table.Process, id, "C"))
			if first == "marker" {
				expedited.sends(markerOf(w.table.Process, id, "D"))
				if got, want := w.aside(), "D: it says that its instance was started at D, and a marker that came before says at C: retry it once something of the instance has come"; got != want {
					t.Fatalf("set aside %q, want %q", got, want)
				}
				if _, err := w.a.RetryRefused(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "retry it once something of the instance has come") {
					t.Errorf("retried too early: %v", err)
				}
			}
			d.sends(begins)
			w.told("D") // of an error: no program is registered, and C has ended nothing
			if first == "marker" {
				if _, err := w.a.RetryRefused(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			} else {
				expedited.sends(markerOf(w.table.Process, id, "D"))
			}
			if got := w.aside(); got != "" {
				t.Errorf("set aside: %s", got)
			}
			w.ended(id, "s1")
		})
	}
}

// ended returns when an activity at A has ended.
func (w *inboxWorld) ended(id message.InstanceID, a processtable.ActivityID) {
	w.t.Helper()
	for {
		if _, found, err := w.a.queue.Ended(message.Entry{Instance: id, Activity: a}); err != nil {
			w.t.Fatal(err)
		} else if found {
			return
		}
		if _, err := w.a.thread(w.table.Process).Gauges(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}
