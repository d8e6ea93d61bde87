package thread

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/interpret"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// Invariants 2 to 5, 7, 9 and 10 of the process thread: whatever the order in which
// messages cross the network, transactions are joined, programs end, entries are
// evicted, transactions come too early and sites crash, every activity ends once, as
// the interpreter of the whole process says, and nothing is left in the stores.
func TestMachinesAgreeWithTheInterpreter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := generate.Cases().Draw(rt, "case")
		w := newWorld(rt, c)
		w.stales = rapid.IntRange(0, 5).Draw(rt, "stale refusals")
		w.crashes = rapid.IntRange(0, 3).Draw(rt, "crashes")
		w.leaps = rapid.IntRange(0, 3).Draw(rt, "leaps of the clock")
		w.holds = rapid.IntRange(0, 5).Draw(rt, "held back")
		w.start(rapid.IntRange(1, 4).Draw(rt, "instances"), c.Start, c.Input)
		w.run()
		w.compare(c)
		for _, s := range w.sites {
			s.atRest()
		}
		if !w.crashed {
			for e, n := range w.invoked {
				if n > 1 {
					rt.Fatalf("%s was invoked %d times for one attempt\n%s", e.entry.Activity, n, w.given)
				}
			}
		}
	})
}

// N7, R16: a terminated instance leaves nothing but its markers, whenever it was
// terminated, and nothing of it runs afterwards.
func TestTerminatedInstancesLeaveNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := generate.Cases().Draw(rt, "case")
		w := newWorld(rt, c)
		w.crashes = rapid.IntRange(0, 2).Draw(rt, "crashes")
		w.start(2, c.Start, c.Input)
		for range rapid.IntRange(0, 200).Draw(rt, "steps before") {
			if possible := w.possible(); len(possible) > 0 {
				possible[w.rand.IntN(len(possible))]()
			}
		}
		stopped := w.starts[0].call.Instance
		for _, s := range w.sites {
			w.wire = append(w.wire, message.Message{Header: message.Header{
				Queue: message.Queue{Process: s.machine.id(), Node: s.name}, Instance: stopped,
				Origin: w.starts[0].site.name, Kind: message.KindMarker,
			}})
		}
		w.run()
		for _, s := range w.sites {
			s.atRest()
			for e := range s.store.entries {
				if e.Instance == stopped {
					rt.Fatalf("%s of the terminated instance is left at %s\n%s", e.Activity, s.name, w.given)
				}
			}
		}
		w.audits()
	})
}

// Whatever operators and peers do, at any moment: no activity ends twice or runs beside
// itself, what is in memory is in the store, and a terminated instance leaves nothing.
func TestOperatorsAndPeersCannotBreakIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := generate.Cases().Draw(rt, "case")
		w := newWorld(rt, c)
		w.stales = rapid.IntRange(0, 5).Draw(rt, "stale refusals")
		w.crashes = rapid.IntRange(0, 2).Draw(rt, "crashes")
		w.leaps = rapid.IntRange(0, 3).Draw(rt, "leaps of the clock")
		w.holds = rapid.IntRange(0, 5).Draw(rt, "held back")
		w.meddles = rapid.IntRange(1, 20).Draw(rt, "meddles")
		w.start(2, c.Start, c.Input)
		w.run()
		w.audits()
		w.checkWords()
		for _, s := range w.sites {
			s.atRest()
			for _, started := range w.starts {
				w.wire = append(w.wire, message.Message{Header: message.Header{
					Queue: message.Queue{Process: s.machine.id(), Node: s.name}, Instance: started.call.Instance,
					Origin: started.site.name, Kind: message.KindMarker,
				}})
			}
		}
		w.run()
		w.audits()
		for _, s := range w.sites {
			s.atRest()
			if n := len(s.store.entries) + len(s.store.records) + len(s.store.timers); n > 0 {
				rt.Fatalf("%s: %v are left\n%s", s.name, s.store.sorted(), c)
			}
		}
	})
}

// compare holds every instance against the interpreter.
func (w *world) compare(given *generate.Case) {
	want, err := interpret.Run(w.def, w.starts[0].call.Input, generate.Interpreted(given), interpret.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	history := w.audits()
	for _, c := range w.starts {
		for a := range want.All() {
			w.compareActivity(*a, history[message.Entry{Instance: c.call.Instance, Scope: message.Scope(a.Scope), Activity: processtable.ActivityID(a.Activity)}])
		}
		ended := history[message.Entry{Instance: c.call.Instance, Activity: processtable.Sink}][record.EventEnded]
		if (want.State == interpret.Finished) != (len(ended) == 1) {
			w.t.Fatalf("instance: the interpreter says %s, the end was noted %d times\n%s", want.State, len(ended), w.given)
		}
		if len(ended) == 1 && string(ended[0].Output) != string(encode(w, want.Output)) {
			w.t.Fatalf("the outputs of the instance differ\n%s", w.given)
		}
	}
	if want.State == interpret.Finished {
		for _, s := range w.sites {
			if len(s.store.entries)+len(s.store.records)+len(s.store.timers)+len(s.store.aside) > 0 {
				w.t.Fatalf("%s: %v, %v, %v, %d set aside are left\n%s", s.name, s.store.sorted(), s.store.records, s.store.timers, len(s.store.aside), w.given)
			}
		}
	}
}

func (w *world) compareActivity(want interpret.ActivityResult, history map[record.Event][]record.AuditRecord) {
	terminated, skipped, inError := history[record.EventTerminated], history[record.EventSkipped], history[record.EventInError]
	state := interpret.Waiting
	switch {
	case len(history) == 0 && nowhere(want.Scope): // nothing of it has been there
		state = interpret.Skipped
	case len(terminated) == 1:
		state = interpret.Terminated
	case len(skipped) == 1:
		state = interpret.Skipped
	case len(inError) > 0:
		state = interpret.InError
	case want.State == interpret.Inactive, want.State == interpret.Running:
		state = want.State // nothing of it is in history either
	}
	if state != want.State {
		w.t.Fatalf("%s is %s, the interpreter says %s (%s)\n%s", want.Path(), state, want.State, want.Error, w.given)
	}
	switch {
	case state == interpret.Terminated:
		got := terminated[0]
		if got.Iteration != want.Iterations || got.RC != *want.RC || got.Attempt != max(1, want.Attempts) || string(got.Output) != string(encode(w, want.Output)) {
			w.t.Fatalf("%s: iteration %d, attempt %d, _RC %d, output %s; the interpreter: %d, %d, %d, %s\n%s",
				want.Path(), got.Iteration, got.Attempt, got.RC, w.shown(want.Definition.Output, got.Output), want.Iterations, want.Attempts, *want.RC, w.json(want.Output), w.given)
		}
	case state == interpret.InError && len(inError) != 1:
		w.t.Fatalf("%s went in error %d times\n%s", want.Path(), len(inError), w.given)
	case state == interpret.InError:
		if got := inError[0]; got.Iteration != want.Iterations {
			w.t.Fatalf("%s went in error in iteration %d; the interpreter: %d\n%s", want.Path(), got.Iteration, want.Iterations, w.given)
		}
	}
}

// nowhere says whether a scope is in none of a block's iterations: the block was skipped.
func nowhere(s interpret.Scope) bool {
	frames, err := message.Scope(s).Frames()
	return err == nil && len(frames) > 0 && frames[len(frames)-1].Iteration == 0
}

func encode(w *world, c *container.Struct) []byte {
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return encoded
}

// shown is an output of history, for people.
func (w *world) shown(t *container.Type, cbor []byte) string {
	output, err := container.DecodeCBOR(t, cbor)
	if err != nil {
		return fmt.Sprintf("%x (%v)", cbor, err)
	}
	return w.json(output)
}

func (w *world) json(c container.Value) string {
	encoded, err := container.EncodeJSON(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(encoded)
}
