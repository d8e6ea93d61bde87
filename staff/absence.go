package staff

import (
	"fmt"
	"slices"
	"time"
)

// Absence is a time when somebody is absent: from From on, before Until; zero: without
// beginning, or without end.
type Absence struct {
	From, Until time.Time
}

func (a Absence) has(now time.Time) bool {
	return (a.From.IsZero() || !now.Before(a.From)) && (a.Until.IsZero() || now.Before(a.Until))
}

// moment reads a day or a time; last: of a day its end is meant, for it is included.
func moment(text string, last bool, zone *time.Location) (time.Time, error) {
	if len(text) > len("2006-01-02") {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t, nil
		}
	} else if day, err := time.Parse(time.DateOnly, text); err == nil {
		if last {
			day = day.AddDate(0, 0, 1)
		}
		return midnight(day.Year(), day.Month(), day.Day(), zone), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a day nor a time", text)
}

// midnight gives the first instant of a day in a zone: after the jump where a clock leaves
// midnight out, and the first of two where midnight comes twice.
func midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	start, end := t.ZoneBounds()
	hour, minute, second := t.Clock()
	switch {
	case t.Day() != day && !end.IsZero():
		return end
	case hour+minute+second != 0:
		return start
	case start.IsZero():
		return t
	}
	_, before := start.Add(-time.Nanosecond).Zone()
	_, since := t.Zone()
	if first := t.Add(time.Duration(since-before) * time.Second); first.Before(start) && first.Day() == day && first.Hour() == 0 {
		return first
	}
	return t
}

// Absent says whether a person is absent at a time.
func (s *Staff) Absent(n Name, now time.Time) bool {
	m := s.member(n)
	return m != nil && m.absent(now)
}

func (m *member) absent(now time.Time) bool {
	return m.always || slices.ContainsFunc(m.absences, func(a Absence) bool { return a.has(now) })
}

// Substitute gives who stands in for n at a time: of the chain of his substitutes the first who
// is not absent. False: n is not absent, or nobody of the chain is there.
func (s *Staff) Substitute(n Name, now time.Time) (Name, bool) {
	m := s.member(n)
	if m == nil || !m.absent(now) {
		return "", false
	}
	for at := m.substitute; at != nil; at = at.substitute { // no circle: Check has seen to it
		if !at.absent(now) {
			return at.name, true
		}
	}
	return "", false
}

// StandsInFor gives for whom n stands in at a time, sorted; at most most of them, and whether
// those are all. Who is absent stands in for nobody.
func (s *Staff) StandsInFor(n Name, now time.Time, most int) (all []Name, whole bool) {
	m := s.member(n)
	if m == nil || m.absent(now) {
		return nil, true
	}
	for next := []*member{m}; len(next) > 0; next = next[1:] {
		for _, r := range next[0].replaces {
			if !r.absent(now) {
				continue
			}
			if len(all) == most {
				slices.Sort(all)
				return all, false
			}
			all, next = append(all, r.name), append(next, r)
		}
	}
	slices.Sort(all)
	return all, true
}

// Until says how long what is true at a time stays true: to the first beginning or end of
// somebody's absence after it. False: for ever.
func (s *Staff) Until(now time.Time) (time.Time, bool) {
	if s == nil {
		return time.Time{}, false
	}
	i, _ := slices.BinarySearchFunc(s.changes, now, func(t, now time.Time) int {
		if t.After(now) {
			return 1
		}
		return -1
	})
	if i == len(s.changes) {
		return time.Time{}, false
	}
	return s.changes[i], true
}
