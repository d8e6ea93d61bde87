package execute

import (
	"slices"
	"testing"

	"fmqm/processtable"
)

// Places are handed to the thread that has waited longest, also when a new
// configuration makes more of them; a node that stops hands out none.
func TestSlots(t *testing.T) {
	limit := 1
	s := newSlots(func(processtable.ProgramID) int { return limit })
	var granted []string
	thread := func(name string) *threadPlaces {
		return s.of(func(p processtable.ProgramID) { granted = append(granted, name+" "+string(p)) })
	}
	a, b, c := thread("a"), thread("b"), thread("c")
	if !a.TryAcquire("p", 0) || b.TryAcquire("p", 0) || b.TryAcquire("p", 0) || c.TryAcquire("p", 0) || a.TryAcquire("p", 0) {
		t.Error("one place of p, and not one was taken")
	}
	if !b.TryAcquire("q", 0) {
		t.Error("each program has its places")
	}
	a.Release("p")
	a.Release("p") // b's
	if want := []string{"b p", "c p"}; !slices.Equal(granted, want) {
		t.Errorf("granted %v, want %v", granted, want)
	}
	if a.TryAcquire("p", 0) {
		t.Error("c has the place of p")
	}
	limit = 3
	s.limitsChanged()
	if want := []string{"b p", "c p", "a p"}; !slices.Equal(granted, want) || s.used["p"] != 2 {
		t.Errorf("granted %v, want %v; %d used", granted, want, s.used["p"])
	}
	s.close()
	if a.TryAcquire("p", 0) {
		t.Error("a node that stops begins no program")
	}
	a.Release("p")
	a.Release("p")
	b.Release("q")
	if len(granted) != 3 || len(s.used) != 0 {
		t.Errorf("granted %v, used %v", granted, s.used)
	}
}

// N31: the place goes to the lowest turn, whoever has waited longer; a turn that is said anew takes the place of the one before.
func TestSlotsByTurn(t *testing.T) {
	s := newSlots(func(processtable.ProgramID) int { return 1 })
	var granted []string
	thread := func(name string) *threadPlaces {
		return s.of(func(processtable.ProgramID) { granted = append(granted, name) })
	}
	a, b, c, d := thread("a"), thread("b"), thread("c"), thread("d")
	if !a.TryAcquire("p", 9) || b.TryAcquire("p", 5) || c.TryAcquire("p", 7) || d.TryAcquire("p", 5) || c.TryAcquire("p", 1) {
		t.Fatal("one place of p, and not one was taken")
	}
	for range 4 {
		a.Release("p")
	}
	if want := []string{"c", "b", "d"}; !slices.Equal(granted, want) || len(s.queue)+len(s.used) != 0 {
		t.Errorf("granted %v, want %v; %v wait", granted, want, s.queue)
	}
}
