package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// What worlds of some seed have found, as small as it can be said.

// S4, N6: a site loses its disk, and with it a dead path on its way to another site. The
// instance ends without that path; so nothing of it is sent to the lost site again, and nobody
// resolves the path once more. What waits for it is ended by the rebuild: nothing is left.
func TestS4ADeadPathIsLostOfAnInstanceThatHasEnded(t *testing.T) {
	for _, origin := range []string{"B", "C"} {
		t.Run("started at "+origin, func(t *testing.T) {
			p := given(3, `
structures:
  S: {n: int}
input: S
starts: [`+origin+`]
activities:
  before: {node: D, program: many}
  a: {node: A, program: many}
  b: {node: B, program: many, input: S}
  c: {node: C, program: many, start: any}
control: [before -> a, {a -> b: _RC > 5}, b -> c, a -> c]
data: [source -> b]
`)
			p.Events = []Event{
				{At: 4 * time.Second, Do: Stall, Site: "A", Peer: "B", For: 10 * time.Minute},
				{At: 30 * time.Second, Do: Lose, Site: "A", For: time.Second},
			}
			r := Run(p, Options{Lines: true})
			if r.Broken != nil {
				t.Fatal(Story(r))
			}
			ends := func(at name, e record.Event) bool { return says(r, fmt.Sprintf("%s records event %d of b", at, e)) }
			if !ends("A", record.EventPassed) || ends("B", record.EventSkipped) || !ends("B", record.EventStopped) {
				t.Errorf("the path was not lost\n%s", Story(r))
			}
		})
	}
}

// N7: the site where an instance was started dies in the moment in which its marker is on disk,
// and has nothing of the instance but its record. When it is back it ends it.
func TestN7AMarkerAndARecordAreAllThatIsLeft(t *testing.T) {
	p := given(2, `
starts: [A]
activities:
  a: {node: B, program: many}
  b: {node: C, program: many}
control: [a -> b]
`)
	p.Events = []Event{
		{At: 4 * time.Second, Do: Crash, Site: "C", For: 30 * time.Second},
		{At: 20 * time.Second, Do: CrashAt, Site: "A", Number: 1, Kept: true, For: time.Second},
		{At: 21 * time.Second, Do: Terminate, Site: "A"},
		{At: 22 * time.Second, Do: Ask, Site: "A"},
	}
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if r.Recoveries < 2 {
		t.Errorf("%d recoveries: A has not died with the marker\n%s", r.Recoveries, Story(r))
	}
}

// Invariant 8: a site dies with the start of an instance on disk, and before its client is told; the
// disk is copied, and the site goes on from that copy. The client asks again, and is told what the
// copy has.
func TestACopyHasAStartThatNobodyWasTold(t *testing.T) {
	p := given(1, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`)
	p.Events = []Event{
		{At: 4 * time.Second, Do: CrashAt, Site: "A", Number: 1, Kept: true, For: time.Minute},
		{At: 20 * time.Second, Do: Image, Site: "A"},
		{At: 21 * time.Second, Do: CopyOn, Site: "A", For: time.Second},
	}
	p.Clear = 10 * time.Minute // after that it is made a new store
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if !strings.Contains(Story(r), "A loses its disk") {
		t.Errorf("A has not lost its disk\n%s", Story(r))
	}
}

// N17, N15: a word to a site of the version before, given while that is not heard, holds up nothing
// of the activity that it is about: the instance ends before the site is upgraded.
func TestN17AWordToASiteOfTheVersionBeforeHoldsUpNothing(t *testing.T) {
	p := given(1, `
starts: [A]
activities:
  a: {node: A, program: many}
  c: {node: C, program: many}
  a2: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> c, c -> a2, a2 -> b]
`)
	p.Before = []name{"B"}
	p.Events = []Event{
		{At: 2 * time.Second, Do: Cut, Site: "A", Peer: "C", For: 40 * time.Second},
		{At: 10 * time.Second, Do: Stop, Site: "B", For: 20 * time.Second},
		{At: 15 * time.Second, Do: Retry, Site: "A"},
	}
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if !says(r, "keeps apart a message for B, which needs") {
		t.Errorf("the word has not waited apart\n%s", Story(r))
	}
}

// N15: an operator's command is under way when the weather clears, to an instance of which a site has lost its
// part, and is refused later: before the instance can end (seed 1774), or long after that. Until then it counts,
// but nobody ends the instance for it, or takes it as it is; after that it is as the interpreter says.
func TestN15ACommandThatIsRefusedLateIsNoReasonToEndAnInstance(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 10 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			p := given(1, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`)
			p.Events = []Event{{At: 4 * time.Second, Do: Lose, Site: "B", For: time.Hour}}
			w := newWorld(p, Options{Lines: true})
			told := false
			w.control.AfterFunc(p.Clear-time.Second, func() {
				c := w.clients[0]
				defer c.deals()()
				c.commanded(func() error {
					w.sleep(time.Second + after)
					if told = true; w.touched[c.instance.ID] != 1 || c.ended {
						t.Errorf("while it is under way it counts %d times; the instance is taken as it is: %t", w.touched[c.instance.ID], c.ended)
					}
					return api.Errorf(api.CodeRefused, "see its status", "there is nothing to retry")
				})
			})
			r := w.run()
			if r.Broken != nil {
				t.Fatal(Story(r))
			}
			c := w.clients[0]
			if !told || !w.weaker[c.instance.ID] || w.touched[c.instance.ID] != 0 || c.state != api.InstanceFinished || says(r, "terminate "+c.id()) {
				t.Errorf("the command is refused: %t; the instance is %s\n%s", told, c.state, Story(r))
			}
		})
	}
}

// says: whether a line of a world has a text.
func says(r *Report, text string) bool {
	return slices.ContainsFunc(r.Lines, func(line string) bool { return strings.Contains(line, text) })
}

// A site goes on from a copy that was made while a large transaction was under way: restored, its
// head, its pieces and what was made of it are in one commit, in the order of their keys. All of it
// has happened then, each change once; it ends once the rest is made.
func TestALargeTransactionOfACopyHasHappened(t *testing.T) {
	made, missing := store.Op{Key: []byte("z1"), Value: []byte("a")}, store.Op{Key: []byte("z2"), Value: []byte("b")}
	piece := record.AppendPieceKey(nil, 0)
	ops := []store.Op{
		{Key: record.KeyLarge, Value: record.New(record.KeyLarge, 0, 0, 0, 1)},
		{Key: piece, Value: record.New(piece, record.AppendOps(nil, []store.Op{made, missing})...)},
		made,
	}
	l := large{pieces: map[string][]byte{}}
	for _, step := range []struct {
		commit []store.Op
		counts string
	}{
		{ops, "z1 z2"},
		{[]store.Op{missing}, ""},
		{[]store.Op{{Key: record.KeyLarge}, {Key: piece}}, ""},
	} {
		happened, err := l.happened(step.commit)
		var keys []string
		for i := range happened {
			keys = append(keys, string(happened[i].Key))
		}
		if got := strings.Join(keys, " "); err != nil || got != step.counts {
			t.Errorf("%q count, %v; want %q", got, err, step.counts)
		}
	}
}

// N15, N20: an answer to a word says where as people do, whatever it was asked by (seed 2576); of a bundle it
// may be about the one element that is in error (seed 4081). Of all else it is what was asked for.
func TestN15AnAnswerToAWordIsAboutWhatItWasSaidOf(t *testing.T) {
	instance, at := uuid.UUID{15: 1}, &definition.Activity{Node: "B"}
	call := &definition.Activity{Node: "B", Call: &definition.Call{Of: []string{"C", "D"}}}
	p := &prepared{places: map[string]oracle.Place{"a2": {Activity: at}, "line": {Activity: at}, "ask": {Activity: call}}}
	for _, c := range []struct {
		scope, activity string
		word            api.Word
		about           bool
	}{
		{"", "a2", api.Word{Activity: "a2", Node: "B"}, true},
		{"", "a2", api.Word{Activity: "a2", Node: "A"}, false},
		{"", "a2", api.Word{Activity: "a", Node: "B"}, false},
		{"a[0]/a#1", "a2", api.Word{Scope: "a[0]#1", Activity: "a2", Node: "B"}, true},
		{"a[0]/a#1", "a2", api.Word{Scope: "a[1]#1", Activity: "a2", Node: "B"}, false},
		{"", "line", api.Word{Scope: "line[3]", Activity: "line", Node: "B"}, true},
		{"line[3]", "line", api.Word{Scope: "line[3]#1", Activity: "line", Node: "B"}, true}, // what does the work of a call
		{"line[3]", "line", api.Word{Scope: "line[4]#1", Activity: "line", Node: "B"}, false},
		{"b#1", "line", api.Word{Scope: "b#1/line[3]", Activity: "line", Node: "B"}, true},
		{"b#1", "line", api.Word{Scope: "b#2/line[3]", Activity: "line", Node: "B"}, false},
		{"b#1", "ask", api.Word{Scope: "b#1", Activity: "ask", Node: "D"}, true}, // its work, where that is done
		{"b#1", "ask", api.Word{Scope: "b#1", Activity: "ask", Node: "A"}, false},
		{"b#1", "ask", api.Word{Scope: "b#2", Activity: "ask", Node: "D"}, false},
	} {
		c.word.Instance = instance
		wrong := p.otherWord(c.word, instance.String(), c.scope, c.activity)
		if (wrong == "") != c.about {
			t.Errorf("asked about %s in %q, told of %s in %q at %s: %q", c.activity, c.scope, c.word.Activity, c.word.Scope, c.word.Node, wrong)
		}
		c.word.Instance = uuid.UUID{15: 2}
		if p.otherWord(c.word, instance.String(), c.scope, c.activity) == "" {
			t.Errorf("an answer about %s of another instance is taken", c.activity)
		}
	}
}

// N29, N30: a site is started anew, and has the words of an operator about activities of instances that are suspended: so nothing else
// has asked whether these were started here. He is answered, and the activities end by his hand.
func TestN30AHandOnWhatIsSuspendedAfterARestart(t *testing.T) {
	p := given(8, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`)
	p.Brisk = false // some programs take seconds
	p.Events = []Event{{At: 6 * time.Second, Do: Crash, Site: "A", For: time.Second}}
	for i := range p.Instances {
		p.Events = append(p.Events,
			Event{At: 5*time.Second + 100*time.Millisecond, Do: Suspend, Site: "A", Instance: i},
			Event{At: 20 * time.Second, Do: Hand, Site: "A", Number: 1, Instance: i})
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return int(a.At - b.At) })
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if !says(r, "finish a of") {
		t.Errorf("no activity has ended by a hand\n%s", Story(r))
	}
}
