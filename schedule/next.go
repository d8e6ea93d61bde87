package schedule

import (
	"math"
	"time"
	_ "time/tzdata" // where the machine has no list of time zones
)

// farthest is how many days ahead a day is looked for: 29 February of one weekday comes after
// 40 years at the latest.
const farthest = 41 * 366

// Next is the first time after a time at which the rule is due, in UTC; the zero time: never.
func (t *Times) Next(after time.Time) time.Time {
	if t.every > 0 {
		step := int64(t.every / time.Second)
		return time.Unix(floor(after.Unix(), step)+step, 0).UTC()
	}
	local := after.In(t.zone)
	year, month, day := local.Date()
	for n := -1; n <= farthest; n++ { // from the day before: a jump may lead over midnight
		date := time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC)
		if !t.isDay(date) {
			continue
		}
		if at := t.within(date, after); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// Latest are the last times up to a time and after another, at most so many, the earliest first;
// more: others came before those. It looks back from until, so a clock that was wrong by years costs
// nothing.
func (t *Times) Latest(after, until time.Time, most int) (due []time.Time, more bool) {
	for span := time.Minute; ; span *= 2 {
		from := until.Add(-span)
		all := !from.After(after)
		if all {
			from = after
		}
		if due = t.between(from, until); len(due) > most {
			return due[len(due)-most:], true
		}
		if all || span > longest/2 {
			return due, false
		}
	}
}

// longest is the longest span that can be told.
const longest = time.Duration(math.MaxInt64)

func (t *Times) between(after, until time.Time) (due []time.Time) {
	for at := t.Next(after); !at.IsZero() && !at.After(until); at = t.Next(at) {
		due = append(due, at)
	}
	return due
}

// floor is the greatest multiple of step that is not above n.
func floor(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}

// star is how the parser marks a field that is `*`.
const star = 1 << 63

// isDay: of two fields for days both count, but where neither is `*` one of them will do, as in
// every cron.
func (t *Times) isDay(date time.Time) bool {
	if t.spec.Month&(1<<uint(date.Month())) == 0 {
		return false
	}
	inMonth := t.spec.Dom&(1<<uint(date.Day())) != 0
	inWeek := t.spec.Dow&(1<<uint(date.Weekday())) != 0
	if t.spec.Dom&star != 0 || t.spec.Dow&star != 0 {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// within is the first time of a day that is after a time; zero: none is.
func (t *Times) within(date, after time.Time) time.Time {
	if instant(date.Add(24*time.Hour-time.Minute), t.zone).Before(after) {
		return time.Time{}
	}
	for hour := range 24 {
		if t.spec.Hour&(1<<uint(hour)) == 0 {
			continue
		}
		for minute := range 60 {
			if t.spec.Minute&(1<<uint(minute)) == 0 {
				continue
			}
			local := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			if at := instant(local, t.zone); at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

// instant is when a local time comes, which is given as if it were UTC: the first time where it
// comes twice, and the first instant after the jump where it does not come at all.
func instant(local time.Time, zone *time.Location) time.Time {
	const around = 24 * time.Hour // from any jump that could be about it
	before, after := offset(local.Add(-around), zone), offset(local.Add(around), zone)
	for _, at := range []time.Time{local.Add(-max(before, after)), local.Add(-min(before, after))} {
		if offset(at, zone) == local.Sub(at) {
			return at
		}
	}
	// It lies in the jump: with the offset of before it is behind that.
	jump, _ := local.Add(-before).In(zone).ZoneBounds()
	return jump.UTC()
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
