package who

import (
	"slices"

	"fmqm/processtable"
	"fmqm/staff"
)

// Bars says whether four eyes bar somebody of another site, by what this one knows, and who did what he may not have done: his own
// site has found out by its staff that he may have what w is of, and knows others of the two than this one. What must not hold of
// anybody is looked at: `!did(x)` where all of w would be FALSE with it. In doubt somebody is barred: who did it, whom that one stood
// in for, and who has the name of one of them at a third site. s may be nil: then nobody here is known.
func Bars(w *processtable.Who, s *staff.Staff, did map[processtable.ActivityID][]Doer, who Doer) (of processtable.ActivityID, by staff.Person, barred bool) {
	for _, activity := range excluded(w, false) {
		for _, d := range did[activity] {
			for _, done := range []staff.Person{d.Person, d.For} {
				if same(s, done, who.Person) || same(s, done, who.For) {
					return activity, done, true
				}
			}
		}
	}
	return "", "", false
}

// excluded are the activities that nobody may have done of whom w holds; with not, of whom it does not hold.
func excluded(w *processtable.Who, not bool) (all []processtable.ActivityID) {
	switch {
	case w == nil:
	case w.Is == processtable.WhoNot:
		for _, p := range w.Parts {
			all = append(all, excluded(p, !not)...)
		}
	case w.Is == processtable.WhoAnd && !not, w.Is == processtable.WhoOr && not:
		for _, p := range w.Parts {
			all = append(all, excluded(p, not)...)
		}
	case w.Is == processtable.WhoDid && not:
		all = append(all, w.Activity)
	}
	return all
}

// same says whether two people of sites may be one.
func same(s *staff.Staff, a, b staff.Person) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	here, sure := s.Surely(a)
	there, surely := s.Surely(b)
	if sure && surely {
		return here == there
	}
	name, node, sited := a.Split()
	other, at, also := b.Split()
	if sited && also && node == at {
		return false
	}
	perhaps := s.Perhaps(b)
	if slices.ContainsFunc(s.Perhaps(a), func(n staff.Name) bool { return slices.Contains(perhaps, n) }) {
		return true
	}
	home := s.Node()
	return sited && also && name == other && (s == nil || node != home && at != home)
}
