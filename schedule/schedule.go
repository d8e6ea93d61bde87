package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Limits of a rule.
const (
	MaxText  = 256         // bytes of a cron expression, and of the name of a zone
	MinEvery = time.Second // of an interval
	MaxEvery = 366 * 24 * time.Hour
)

// Rule is when something is due: Cron in Zone, or Every. Exactly one of the two is set.
type Rule struct {
	Cron  string        // five fields, or a name such as @daily
	Zone  string        // an IANA name; empty: UTC
	Every time.Duration // whole seconds
}

// Times gives the times of a rule, one after the other.
type Times struct {
	every time.Duration
	spec  *cron.SpecSchedule
	zone  *time.Location
}

// Problem is what is wrong with a rule.
type Problem struct {
	Zone   bool // it is the zone's; else the cron expression's or the interval's
	What   string
	Remedy string
}

func (p *Problem) Error() string { return p.What + ": " + p.Remedy }

// Parse reads a rule. An error is a *Problem.
func Parse(r Rule) (*Times, error) {
	if r.Every != 0 {
		if r.Every < MinEvery || r.Every > MaxEvery || r.Every%time.Second != 0 {
			return nil, &Problem{What: fmt.Sprintf("every cannot be %s", r.Every), Remedy: "write whole seconds, from 1s to 366d"}
		}
		return &Times{every: r.Every}, nil
	}
	zone, problem := location(r.Zone)
	if problem != nil {
		return nil, problem
	}
	spec, problem := parseCron(r.Cron)
	if problem != nil {
		return nil, problem
	}
	t := &Times{spec: spec, zone: zone}
	if t.Next(time.Unix(0, 0)).IsZero() {
		return nil, &Problem{What: fmt.Sprintf("%s is never due", r.Cron), Remedy: "no year has such a day: name one that there is"}
	}
	return t, nil
}

// location finds a zone. Those of the machine alone are not taken: the definition is read elsewhere.
func location(name string) (*time.Location, *Problem) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > MaxText {
		return nil, &Problem{
			Zone: true, What: fmt.Sprintf("there is no time zone %s", strconv.Quote(name)),
			Remedy: "write a name of the IANA list, such as Europe/Berlin, or leave zone out for UTC",
		}
	}
	return zone, nil
}

// field is one of the five of a cron expression.
type field struct {
	ordinal, name, span string
	option              cron.ParseOption
}

var fields = [...]field{
	{"first", "minute", "0 to 59", cron.Minute},
	{"second", "hour", "0 to 23", cron.Hour},
	{"third", "day of the month", "1 to 31", cron.Dom},
	{"fourth", "month", "1 to 12, or jan to dec", cron.Month},
	{"fifth", "day of the week", "0 to 6, or sun to sat", cron.Dow},
}

const fiveFields = "write five fields: minute, hour, day of the month, month and day of the week, such as `30 22 * * 1-6`"

// names are short forms that people know.
const names = "@hourly, @daily, @weekly, @monthly or @yearly"

func parseCron(text string) (*cron.SpecSchedule, *Problem) {
	written := strings.Fields(text)
	switch {
	case len(written) == 0:
		return nil, &Problem{What: "the cron expression is empty", Remedy: fiveFields}
	case len(text) > MaxText:
		return nil, &Problem{What: fmt.Sprintf("the cron expression has %d bytes", len(text)), Remedy: fmt.Sprintf("use at most %d: write several schedules", MaxText)}
	case strings.HasPrefix(text, "@every"):
		return nil, &Problem{What: "@every is no time of the calendar", Remedy: "write `every: 6h` in the place of cron"}
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, &Problem{What: "a zone does not belong into the cron expression", Remedy: "write `zone: Europe/Berlin` beside cron"}
	case strings.HasPrefix(text, "@"):
		parsed, err := cron.NewParser(cron.Descriptor).Parse(text)
		if err != nil {
			return nil, &Problem{What: fmt.Sprintf("there is no %s", text), Remedy: "write " + names + ", or five fields"}
		}
		return specOf(parsed)
	case len(written) == len(fields)+1:
		return nil, &Problem{What: "the cron expression has 6 fields", Remedy: "seconds and years are not in it: " + fiveFields}
	case len(written) != len(fields):
		return nil, &Problem{What: fmt.Sprintf("the cron expression has %d fields", len(written)), Remedy: fiveFields}
	}
	for i, f := range fields {
		if _, err := cron.NewParser(f.option).Parse(written[i]); err != nil {
			return nil, f.problem(written[i])
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, &Problem{What: fmt.Sprintf("the cron expression cannot be read: %v", err), Remedy: fiveFields}
	}
	return specOf(parsed)
}

// problem says what is wrong with one field.
func (f field) problem(written string) *Problem {
	remedy := "write " + f.span + ", `*`, a list such as `1,3`, a span such as `1-5`, or a step such as `*/2`"
	if f.option == cron.Dow && strings.Contains(written, "7") {
		remedy = "Sunday is 0, or sun: " + remedy
	}
	return &Problem{What: fmt.Sprintf("the %s field is the %s, %s, and cannot be %s", f.ordinal, f.name, f.span, strconv.Quote(written)), Remedy: remedy}
}

func specOf(parsed cron.Schedule) (*cron.SpecSchedule, *Problem) {
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, &Problem{What: "the cron expression is no list of times", Remedy: fiveFields}
	}
	return spec, nil
}

// AsProblem finds what is wrong with a rule in an error.
func AsProblem(err error) *Problem {
	var p *Problem
	errors.As(err, &p)
	return p
}
