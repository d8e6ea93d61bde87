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
	if !a.TryAcquire("p") || b.TryAcquire("p") || b.TryAcquire("p") || c.TryAcquire("p") || a.TryAcquire("p") {
		t.Error("one place of p, and not one was taken")
	}
	if !b.TryAcquire("q") {
		t.Error("each program has its places")
	}
	a.Release("p")
	a.Release("p") // b's
	if want := []string{"b p", "c p"}; !slices.Equal(granted, want) {
		t.Errorf("granted %v, want %v", granted, want)
	}
	if a.TryAcquire("p") {
		t.Error("c has the place of p")
	}
	limit = 3
	s.limitsChanged()
	if want := []string{"b p", "c p", "a p"}; !slices.Equal(granted, want) || s.used["p"] != 2 {
		t.Errorf("granted %v, want %v; %d used", granted, want, s.used["p"])
	}
	s.close()
	if a.TryAcquire("p") {
		t.Error("a node that stops begins no program")
	}
	a.Release("p")
	a.Release("p")
	b.Release("q")
	if len(granted) != 3 || len(s.used) != 0 {
		t.Errorf("granted %v, used %v", granted, s.used)
	}
}
