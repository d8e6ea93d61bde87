package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
)

// assess has its input of B, and what it comes to is for pay at B and note here; both wait for hold at C as well, which is where the
// test says that it has ended.
const recalledSites = `
process: two
version: 1
structures: {In: {n: int}}
input: In
output: In
starts: [A]
activities:
  rate: {node: B, program: echo, input: In, output: In}
  assess: {node: A, program: echo, input: In, output: In}
  hold: {node: C, empty: true}
  pay: {node: B, program: echo, input: In, output: In}
  note: {node: A, empty: true}
control: [rate -> assess, assess -> pay, assess -> note, hold -> pay, hold -> note]
data: [source -> rate, rate -> assess, assess -> pay, pay -> sink]
`

// recalls are A, where instances are started, and B; the test carries what one says to the other.
type recalls struct {
	*testing.T
	a, b *keeper
	id   message.InstanceID
	seen map[*keeper][]message.Message // all that was carried to it
}

// newRecalls has assess ended, and what it came to at pay and note.
func newRecalls(t *testing.T) *recalls { return recallsOf(t, nil) }

// recallsOf is newRecalls of an instance with a priority; nil: it is given none.
func recallsOf(t *testing.T, priority *int) *recalls {
	r := &recalls{T: t, a: newKeeper(t, "A", recalledSites), b: newKeeper(t, "B", recalledSites), id: uuid.Must(uuid.NewV7()), seen: map[*keeper][]message.Message{}}
	r.join()
	r.a.must(r.a.Begin(t.Context(), api.StartRequest{Instance: r.id, Process: "two@1", Input: json.RawMessage(`{"n": 7}`), Key: "monday", Priority: priority}))
	r.until(func() bool { return r.tells(r.a, "source", record.EventStarted) == 1 })
	r.carry(r.a, r.b)
	r.until(func() bool { return r.tells(r.b, "rate", record.EventTerminated) == 1 })
	r.carry(r.b, r.a)
	r.until(func() bool { return r.tells(r.a, "assess", record.EventTerminated) == 1 })
	r.carry(r.a, r.b)
	return r
}

func (r *recalls) join() {
	r.a.queue.Transmission("B").PeerReads(message.Current())
	r.b.queue.Transmission("A").PeerReads(message.Current())
}

// crash has both begin anew on their stores.
func (r *recalls) crash() {
	for _, k := range []*keeper{r.a, r.b} {
		k.restart()
	}
	r.join()
}

// carry brings one what the other has for it, and waits until nothing is under way there.
func (r *recalls) carry(from, to *keeper) {
	r.Helper()
	from.settled()
	sent := from.sent(to.name)
	r.seen[to] = append(r.seen[to], sent...)
	for i := range sent {
		h := &sent[i].Header
		if reason := to.thread(h.Queue.Process).Process().Refuses(from.name, h); reason != "" {
			r.Fatalf("%s does not take %s of %s: %s", to.name, h.Kind, h.Source, reason)
		}
	}
	if len(sent) > 0 {
		to.take(sent...)
	}
	to.settled()
}

// both carries until nobody has anything for the other.
func (r *recalls) both() {
	r.Helper()
	for range 6 {
		r.carry(r.a, r.b)
		r.carry(r.b, r.a)
	}
}

// held says at a node that hold has ended, for one that waits for it.
func (r *recalls) held(k *keeper, to processtable.ActivityID) {
	r.Helper()
	p := k.thread(processtable.ProcessID{Name: "two", Version: 1}).Process()
	k.take(message.Message{Header: message.Header{
		Queue: message.Queue{Process: p.Table().Process, Node: k.name}, Definition: p.Definition(), Instance: r.id, Origin: "A",
		Activity: to, Source: "hold", Kind: message.KindConnector, Control: message.True, Lane: message.LaneControl, Clock: 20,
	}})
	k.settled()
}

func (r *recalls) until(holds func() bool) {
	r.Helper()
	o := offering{T: r.T}
	o.until(holds)
}

// history are the events of an activity at a node.
func (r *recalls) history(k *keeper, a processtable.ActivityID) (all []record.AuditRecord) {
	r.Helper()
	history, err := k.queue.History(r.id)
	k.must(err)
	for _, h := range history {
		if h.Activity == a {
			all = append(all, h)
		}
	}
	return all
}

func (r *recalls) tells(k *keeper, a processtable.ActivityID, e record.Event) (n int) {
	r.Helper()
	for _, h := range r.history(k, a) {
		if h.Event == e {
			n++
		}
	}
	return n
}

// expect compares an activity's history at a node, each event with its run.
func (r *recalls) expect(k *keeper, a processtable.ActivityID, want ...string) {
	r.Helper()
	var got []string
	for _, h := range r.history(k, a) {
		got = append(got, fmt.Sprintf("%d of %d", h.Event, h.Run))
	}
	if !slices.Equal(got, want) {
		r.Errorf("history of %s at %s: %q, want %q", a, k.name, got, want)
	}
}

// finishes lets hold end, and gives what the instance has come to.
func (r *recalls) finishes() string {
	r.Helper()
	if r.tells(r.b, "pay", record.EventTerminated) == 0 {
		r.held(r.b, "pay")
	}
	r.held(r.a, "note")
	r.until(func() bool {
		r.both()
		return r.tells(r.a, processtable.Sink, record.EventEnded) == 1
	})
	for _, k := range []*keeper{r.a, r.b} {
		if n, err := k.Refused(r.Context(), api.RefusedRequest{Limit: 10}); err != nil || len(n.Messages) > 0 {
			r.Errorf("%s has refused %+v, %v", k.name, n.Messages, err)
		}
		k.settled()
		if report, err := inspect.Verify(k.engine); err != nil || len(report.Problems) > 0 {
			r.Errorf("the store of %s: %+v, %v", k.name, report.Problems, err)
		}
	}
	s, err := r.a.Status(r.Context(), r.id)
	r.a.must(err)
	return string(s.Output)
}

// asked is what has come of a word.
type asked struct {
	word api.Word
	err  error
}

// restart asks for a restart of assess, and waits until it was asked back.
func (r *recalls) restart(q api.RestartRequest) <-chan asked {
	r.Helper()
	before, done := r.tells(r.a, "assess", record.EventRecalled), make(chan asked, 1)
	q.Activity = "assess"
	go func() {
		w, err := r.a.Restart(r.Context(), r.id, q) // which ends with the test
		done <- asked{w, err}
	}()
	r.until(func() bool { return r.tells(r.a, "assess", record.EventRecalled) > before })
	r.a.settled()
	return done
}

func (r *recalls) told(done <-chan asked) asked {
	r.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(time.Minute):
		r.Fatal("the word is not answered")
	}
	return asked{}
}

// N30: what had ended runs once more under another run, once those after it have given back what it had come to; they take what it
// comes to then, and its end before stays in history.
func TestN30AnActivityIsRestarted(t *testing.T) {
	r := newRecalls(t)
	done := r.restart(api.RestartRequest{Input: json.RawMessage(`{"n": 9}`), Reason: "wrong tariff"})
	s, err := r.a.Status(t.Context(), r.id)
	r.a.must(err)
	for _, a := range s.Activities {
		if a.Activity == "assess" && (a.State != api.ActivityTerminated || !strings.Contains(a.Reason, "no answer yet of pay")) {
			t.Errorf("assess is %s: %s", a.State, a.Reason)
		}
	}
	r.both()
	if a := r.told(done); a.err != nil || a.word.Result != api.WordDone {
		t.Fatalf("%+v", a)
	}
	r.until(func() bool { r.both(); return r.tells(r.a, "assess", record.EventTerminated) == 2 })
	if got := r.finishes(); got != `{"n":9}` {
		t.Errorf("it has come to %s", got)
	}
	r.expect(r.a, "assess", "3 of 0", "48 of 0", "47 of 1", "3 of 1")
	r.expect(r.b, "pay", "48 of 0", "3 of 0")
	r.expect(r.a, "note", "48 of 0", "3 of 0")
	for _, h := range r.history(r.a, "assess") {
		if h.Event == record.EventRestarted && (h.Word == nil || h.Word.Result != message.WordDone || h.Reason != "wrong tariff") {
			t.Errorf("restarted: %+v", h)
		}
	}
}

// N30: whatever stops between two messages, and whatever comes twice, it comes to the same.
func TestN30ARestartSurvivesStops(t *testing.T) {
	r := newRecalls(t)
	r.restart(api.RestartRequest{Input: json.RawMessage(`{"n": 9}`)})
	r.crash()
	for range 4 {
		r.carry(r.a, r.b)
		r.crash()
		r.carry(r.b, r.a)
		r.crash()
	}
	r.until(func() bool { r.both(); return r.tells(r.a, "assess", record.EventTerminated) == 2 })
	for _, m := range r.seen[r.b] { // as a peer does that was restored
		if m.Source == "assess" && m.Kind == message.KindConnector && m.Number == 0 {
			r.b.take(m)
		}
	}
	r.b.settled()
	if got := r.finishes(); got != `{"n":9}` {
		t.Errorf("it has come to %s", got)
	}
	r.expect(r.a, "assess", "3 of 0", "48 of 0", "47 of 1", "3 of 1")
	r.expect(r.b, "pay", "48 of 0", "3 of 0")
}

// N30: where one was decided, it is refused, and who has given it back gets it again.
func TestN30ARestartThatComesTooLate(t *testing.T) {
	r := newRecalls(t)
	r.held(r.b, "pay")
	r.until(func() bool { return r.tells(r.b, "pay", record.EventTerminated) == 1 })
	done := r.restart(api.RestartRequest{})
	r.both()
	a := r.told(done)
	if api.CodeOf(a.err) != api.CodeRefused || !strings.Contains(fmt.Sprint(a.err), "pay has been decided on assess's result") {
		t.Fatalf("%+v", a)
	}
	again := r.restart(api.RestartRequest{}) // it is of another edition
	r.both()
	if a := r.told(again); api.CodeOf(a.err) != api.CodeRefused {
		t.Errorf("once more: %+v", a)
	}
	if got := r.finishes(); got != `{"n":7}` {
		t.Errorf("it has come to %s", got)
	}
	r.expect(r.a, "note", "48 of 0", "48 of 0", "3 of 0")
}

// N30: while a site is cut off it can be withdrawn; that site gets back what it gives when it hears of it.
func TestN30ARestartIsWithdrawn(t *testing.T) {
	r := newRecalls(t)
	done := r.restart(api.RestartRequest{})
	if _, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: "assess"}); api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "wants it already") {
		t.Errorf("another one: %v", err)
	}
	w, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: "assess", Withdraw: true, Reason: "a mistake"})
	if err != nil || w.Result != api.WordDone {
		t.Fatalf("%+v, %v", w, err)
	}
	if a := r.told(done); api.CodeOf(a.err) != api.CodeRefused || !strings.Contains(fmt.Sprint(a.err), "its restart was withdrawn by") {
		t.Errorf("%+v", a)
	}
	r.crash()
	r.both()
	if got := r.finishes(); got != `{"n":7}` {
		t.Errorf("it has come to %s", got)
	}
	r.expect(r.b, "pay", "48 of 0", "3 of 0")
	if n := r.tells(r.a, "assess", record.EventTerminated); n != 1 {
		t.Errorf("assess has ended %d times", n)
	}
}

// N31: all that is sent for a restart, by its home, by those that give something back, and by those whose connectors come again, has the
// priority of the instance, which no message of it that is left says any more; and so do the records from which it is sent.
func TestN31WhatARestartSendsHasThePriority(t *testing.T) {
	priority := 9
	r := recallsOf(t, &priority)
	r.restart(api.RestartRequest{}) // without an input: rate has to send it again
	r.crash()
	r.until(func() bool { r.both(); return r.tells(r.a, "assess", record.EventTerminated) == 2 })
	kinds := map[message.Kind]int{}
	for _, seen := range r.seen {
		for i := range seen {
			if m := &seen[i]; m.Rank != message.RankOf(int64(priority)) {
				t.Errorf("%s from %s to %s, number %d, has rank %d", m.Kind, m.Source, m.Activity, m.Number, m.Rank)
			} else {
				kinds[m.Kind]++
			}
		}
	}
	if kinds[message.KindRecall] != 2 || kinds[message.KindRecalled] != 1 || kinds[message.KindConnector] < 4 {
		t.Errorf("it was carried %v", kinds)
	}
	if got := r.finishes(); got != `{"n":7}` {
		t.Errorf("it has come to %s", got)
	}
	for _, h := range r.history(r.b, "rate") {
		if h.Event == record.EventTerminated && h.Rank != message.RankOf(int64(priority)) {
			t.Errorf("the end of rate says rank %d", h.Rank)
		}
	}
}

// N30: what cannot run once more says why.
func TestN30WhatIsNotRestarted(t *testing.T) {
	r := newRecalls(t)
	for activity, want := range map[string]string{
		"note": "it has not ended: see how it stands", "nothing": "two@1 has no activity nothing",
	} {
		if _, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: activity}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", activity, err, want)
		}
	}
	if _, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: "assess", Withdraw: true}); err == nil {
		t.Error("what nobody wants is withdrawn")
	}
	if _, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: "assess", Input: json.RawMessage(`{"m": 9}`)}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("with a wrong input: %v", err)
	}
	r.a.must(r.a.Terminate(t.Context(), r.id, ""))
	r.a.settled()
	if _, err := r.a.Restart(t.Context(), r.id, api.RestartRequest{Activity: "assess"}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("in a terminated instance: %v", err)
	}
}
