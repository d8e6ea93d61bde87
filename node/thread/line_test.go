package thread

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// N31: a line gives what has the lowest turn, of equals the higher priority, then what came first, whatever is put into it
// and taken out; and nothing has its turn after what became ready MaxPriority steps later.
func TestN31ALineGivesTheLowestTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var all []readyEntry
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute)
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "puts") > 0 {
				e := readyEntry{
					Entry: &instancetable.Entry{Key: message.Entry{Activity: processtable.ActivityID(fmt.Sprint(n))}}, bytes: 1,
					rank: message.RankOf(int64(rapid.IntRange(0, 9).Draw(t, "priority"))), since: now,
				}
				l.add(e)
				all = append(all, e)
				continue
			}
			slices.SortStableFunc(all, func(a, b readyEntry) int {
				return cmp.Or(cmp.Compare(a.turn(), b.turn()), -cmp.Compare(a.rank, b.rank))
			})
			at, got := 0, readyEntry{}
			switch rapid.IntRange(0, 3).Draw(t, "takes") {
			case 0:
				if got = l.takeLast(); got.turn() != all[len(all)-1].turn() {
					t.Fatalf("the last has turn %d, want %d", got.turn(), all[len(all)-1].turn())
				}
				at = slices.IndexFunc(all, func(e readyEntry) bool { return e.Entry == got.Entry })
			case 1:
				at = rapid.IntRange(0, len(all)-1).Draw(t, "which")
				if bytes := l.take(all[at].Entry); bytes != 1 || l.take(all[at].Entry) != 0 {
					t.Fatalf("one of %d bytes was taken out, and is there once more", bytes)
				}
				got = all[at]
			default:
				if got = l.takeFirst(); got.Entry != all[0].Entry {
					t.Fatalf("the first is %s, want %s", got.Key.Activity, all[0].Key.Activity)
				}
				for _, e := range all {
					if got.since.Sub(e.since) > processtable.MaxPriority*Step {
						t.Fatalf("%s goes before %s, which has waited for %s more", got.Key.Activity, e.Key.Activity, got.since.Sub(e.since))
					}
				}
			}
			if all = slices.Delete(all, at, at+1); l.len != len(all) {
				t.Fatalf("%d in the line, want %d", l.len, len(all))
			}
		}
	})
}

// N31: of what is ready the highest priority runs first, also where the list has no room for all of it; and what has waited goes
// before what is more urgent and came later. Everything has its turn, however much of higher priority keeps coming.
func TestN31ReadyWorkGoesByItsTurn(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\nactivities:\n  x: {node: A, program: x}\n", 1)
	s := w.sites[0]
	s.open(1)
	s.machine.places.limit = 3
	begin := func(priority int) {
		w.start(1, 0, "")
		c := w.starts[len(w.starts)-1]
		c.call.Instance, c.call.Rank = identifier(len(w.starts)), message.RankOf(int64(priority))
		c.ask()
		s.pump()
	}
	var ran []int
	finish := func() {
		for _, run := range s.running {
			ran = append(ran, run.call.Rank.Priority(-1))
		}
		s.finish(0)
		s.pump()
	}
	for _, priority := range []int{4, 0, 9, 4, 7, 9, 2, 4, 8, 1} {
		begin(priority)
	}
	for len(s.running) > 0 {
		finish()
	}
	if want := []int{4, 9, 9, 8, 7, 4, 4, 2, 1, 0}; !slices.Equal(ran, want) { // the first had its place before there were others
		t.Errorf("they ran as %v, want %v", ran, want)
	}
	s.atRest()

	ran = nil
	for range 6 {
		begin(0)
	}
	for n := 0; count(ran, 0) < 6; n++ {
		if n > 200 {
			t.Fatalf("what is of the lowest priority starves: %v", ran)
		}
		begin(9)
		begin(9)
		finish()
		w.now = w.now.Add(5 * time.Minute)
	}
}

func count(of []int, n int) (found int) {
	for _, v := range of {
		if v == n {
			found++
		}
	}
	return found
}

// N31: an operator's word gives what waits already another turn, also what is in the store only; the last word counts, in
// whatever order the words come.
func TestN31AnExpediteChangesTheTurn(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\nactivities:\n  x: {node: A, program: x}\n", 1)
	s := w.sites[0]
	s.open(1)
	s.machine.places.limit = 2
	w.start(6, 0, "")
	for i := range w.starts {
		w.starts[i].ask()
	}
	s.pump()
	expedite := func(n int, clock uint64, priority int64) {
		mark := message.Mark{ID: message.WordID(uuid.Must(uuid.NewV7())), Time: w.now, New: true, Noted: true, Rank: message.RankOf(priority)}
		s.store.deliver(s.store.put(mark.Message(message.Queue{Process: s.machine.id(), Node: "A"}, identifier(n), "A", clock)))
		s.pump()
	}
	expedite(6, 9, 8) // in the store only
	expedite(3, 7, 5)
	expedite(3, 6, 9) // an earlier word that comes later
	expedite(2, 8, 0) // in the line
	var ran []uint64
	for len(s.running) > 0 {
		for _, run := range s.running {
			ran = append(ran, binary.BigEndian.Uint64(run.entry.Instance[8:]))
		}
		s.finish(0)
		s.pump()
	}
	if want := []uint64{1, 6, 3, 4, 5, 2}; !slices.Equal(ran, want) {
		t.Errorf("the instances ran as %v, want %v", ran, want)
	}
	s.atRest()
}
