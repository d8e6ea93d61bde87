package thread

import (
	"encoding/binary"
	"fmt"
	"testing"

	"fmqm/message"
	"fmqm/processtable"
)

func lifeOf(n int, activity processtable.ActivityID) message.Entry {
	e := message.Entry{Activity: activity}
	binary.BigEndian.PutUint64(e.Instance[8:], uint64(n))
	return e
}

const twoInARow = "process: p\nversion: 1\nactivities:\n  a: {node: A, program: p}\n  b: {node: A, program: p}\ncontrol: [a -> b]\n"

// An entry lasts from the start of its instance to its own end; of what nobody started
// here nothing is known.
func TestLives(t *testing.T) {
	l := newLives(openWorld(t, twoInARow, 1).sites[0].process)
	a, b, sink := lifeOf(1, "a"), lifeOf(1, "b"), lifeOf(1, processtable.Sink)
	if l.lasts(a) {
		t.Error("before the start")
	}
	l.born(a.Instance)
	l.end(a)
	scoped := b
	scoped.Scope = "s"
	for e, want := range map[message.Entry]bool{a: false, b: true, sink: true, scoped: false, lifeOf(1, "x"): false, lifeOf(2, "a"): false} {
		if l.lasts(e) != want {
			t.Errorf("%s %q lasts: %t", e.Activity, e.Scope, !want)
		}
	}
	l.end(sink)
	if l.lasts(b) || len(l.young) != 0 {
		t.Error("after the instance's end nothing is remembered")
	}
	l.end(b) // late: nothing to note
}

// Memory is bounded: the oldest instances are forgotten, the newest are not.
func TestLivesForgetTheOldest(t *testing.T) {
	l := newLives(openWorld(t, twoInARow, 1).sites[0].process)
	const many = 3 * livesWords
	for i := range many {
		l.born(lifeOf(i, "a").Instance)
	}
	if n := len(l.young) + len(l.old); n > 2*livesWords {
		t.Errorf("%d are remembered", n)
	}
	if l.lasts(lifeOf(0, "a")) || !l.lasts(lifeOf(many-livesWords, "a")) || !l.lasts(lifeOf(many-1, "a")) {
		t.Error("not the oldest are forgotten")
	}
	l.end(lifeOf(many-livesWords, "a"))
	if l.lasts(lifeOf(many-livesWords, "a")) || !l.lasts(lifeOf(many-livesWords, "b")) {
		t.Error("an end is not noted in the old generation")
	}
}

// Where two nodes may start a process, two instances may have one identifier.
func TestLivesOfOneStartOnly(t *testing.T) {
	text := "process: p\nversion: 1\nstarts: [A, B]\nactivities:\n  a: {node: A, program: p}\n  b: {node: B, program: p}\n"
	for _, s := range openWorld(t, text, 1).sites {
		e := lifeOf(1, "a")
		s.machine.lives.born(e.Instance)
		if s.machine.lives.lasts(e) {
			t.Error(fmt.Sprint(s.name, ": the other node may have started it"))
		}
	}
}
