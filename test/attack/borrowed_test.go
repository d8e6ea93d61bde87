package attack

import (
	"slices"
	"testing"
)

// A site that knows the identifier of an instance of others, in which it has no part, says that
// under it an instance of its own process was started where that one was. That one's start says
// nothing of it: no program runs.
func TestASiteBorrowsAnIdentifier(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	wards, commons := i.start("ward"), i.start("common")
	i.finished(wards, "honest")
	m := i.connector("common", "theirs", "final")
	m.Instance, m.Origin = wards, "A"
	i.sends(m, "")
	i.answers(commons) // which comes behind it
	i.finished(commons, "of M")
	if want := slices.Sorted(slices.Values([]string{
		wards.String() + " here", wards.String() + " there", commons.String() + " begin", commons.String() + " final",
	})); !slices.Equal(i.ran(), want) {
		t.Errorf("programs have run for\n%q, want\n%q", i.ran(), want)
	}
}
