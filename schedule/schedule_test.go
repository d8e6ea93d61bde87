package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func rule(t interface{ Fatal(...any) }, r Rule) *Times {
	times, err := Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  Rule
		after string
		want  []string
	}{
		{"each working day", Rule{Cron: "30 22 * * 1-5"}, "2026-05-28T23:00:00Z", []string{"2026-05-29T22:30:00Z", "2026-06-01T22:30:00Z"}},
		{"a time is not after itself", Rule{Cron: "0 * * * *"}, "2026-05-28T12:00:00Z", []string{"2026-05-28T13:00:00Z"}},
		{"names", Rule{Cron: "0 6 * mar Sun"}, "2026-02-01T00:00:00Z", []string{"2026-03-01T06:00:00Z", "2026-03-08T06:00:00Z"}},
		{"a day of the month or one of the week", Rule{Cron: "0 0 13 * 5"}, "2026-02-10T00:00:00Z", []string{"2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z"}},
		{"29 February", Rule{Cron: "@daily", Zone: "UTC"}, "2028-02-28T12:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"29 February on a Monday", Rule{Cron: "0 0 29 2 *"}, "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"in summer the clock is two hours ahead", Rule{Cron: "30 22 * * *", Zone: "Europe/Berlin"}, "2026-07-01T00:00:00Z", []string{"2026-07-01T20:30:00Z"}},
		{"what the clock jumps over is due after the jump", Rule{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"and once", Rule{Cron: "15,45 2 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z"}},
		{"what comes twice is due the first time", Rule{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"midnight that there is not", Rule{Cron: "@daily", Zone: "America/Asuncion"}, "2023-09-30T12:00:00Z", []string{"2023-10-01T04:00:00Z", "2023-10-02T03:00:00Z"}},
		{"a day that there is not", Rule{Cron: "0 12 * * *", Zone: "Pacific/Apia"}, "2011-12-29T23:00:00Z", []string{"2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
		{"a jump of half an hour", Rule{Cron: "15 2 * * *", Zone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z"}},
		{"an interval is counted from 1970", Rule{Every: 6 * time.Hour}, "2026-05-28T12:00:01Z", []string{"2026-05-28T18:00:00Z", "2026-05-29T00:00:00Z"}},
		{"also before", Rule{Every: time.Minute}, "1969-12-31T23:58:30Z", []string{"1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			times, after := rule(t, c.rule), at(c.after)
			var got []string
			for range c.want {
				after = times.Next(after)
				got = append(got, after.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsWrongIsSaidWithARemedy(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Cron: ""}, "the cron expression is empty: write five fields"},
		{Rule{Cron: "0 30 22 * * 1"}, "the cron expression has 6 fields: seconds and years are not in it"},
		{Rule{Cron: "0 22 * *"}, "the cron expression has 4 fields: write five fields"},
		{Rule{Cron: "0 24 * * *"}, `the second field is the hour, 0 to 23, and cannot be "24": write 0 to 23`},
		{Rule{Cron: "60 1 * * *"}, `the first field is the minute`},
		{Rule{Cron: "0 0 0 * *"}, `the third field is the day of the month, 1 to 31, and cannot be "0"`},
		{Rule{Cron: "0 0 * 13 *"}, `the fourth field is the month`},
		{Rule{Cron: "0 0 * * 7"}, `the fifth field is the day of the week, 0 to 6, or sun to sat, and cannot be "7": Sunday is 0`},
		{Rule{Cron: "0 0 * * noday"}, `and cannot be "noday"`},
		{Rule{Cron: "*/0 0 * * *"}, `cannot be "*/0"`},
		{Rule{Cron: "0 0 30 2 *"}, "0 0 30 2 * is never due"},
		{Rule{Cron: "@every 6h"}, "write `every: 6h` in the place of cron"},
		{Rule{Cron: "@nightly"}, "there is no @nightly: write @hourly"},
		{Rule{Cron: "TZ=Europe/Berlin 0 0 * * *"}, "write `zone: Europe/Berlin` beside cron"},
		{Rule{Cron: "TZ=Europe/Berlin"}, "write `zone: Europe/Berlin` beside cron"},
		{Rule{Cron: strings.Repeat("1,", 200) + "1 0 * * *"}, "use at most 256"},
		{Rule{Cron: "@daily", Zone: "Europe/Berln"}, `there is no time zone "Europe/Berln"`},
		{Rule{Cron: "@daily", Zone: "Local"}, `there is no time zone "Local"`},
		{Rule{Cron: "@daily", Zone: "../../etc/passwd"}, "there is no time zone"},
		{Rule{Every: 1500 * time.Millisecond}, "write whole seconds"},
		{Rule{Every: -time.Hour}, "every cannot be -1h0m0s"},
		{Rule{Every: 367 * 24 * time.Hour}, "every cannot be"},
	} {
		_, err := Parse(c.rule)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.rule, err, c.want)
		}
	}
}

// Next goes forward, never past a time that is due, whatever the zone's clock does.
func TestNextIsTheFirst(t *testing.T) {
	zones := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca"}
	crons := []string{"30 2 * * *", "0 0 * * *", "*/7 * * * *", "15 1,3 29 * 0", "@hourly", "59 23 31 12 *"}
	rapid.Check(t, func(t *rapid.T) {
		times := rule(t, Rule{Cron: rapid.SampledFrom(crons).Draw(t, "cron"), Zone: rapid.SampledFrom(zones).Draw(t, "zone")})
		after := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "after"), 0)
		next := times.Next(after)
		if !next.After(after) {
			t.Fatalf("%s is not after %s", next, after)
		}
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(t, "between")))
		if again := times.Next(between); !again.Equal(next) {
			t.Fatalf("after %s comes %s, but after %s in between %s", after, next, between, again)
		}
	})
}

func TestLatest(t *testing.T) {
	hourly := rule(t, Rule{Cron: "@hourly"})
	due, more := hourly.Latest(at("2026-05-28T09:30:00Z"), at("2026-05-28T12:00:00Z"), 5)
	if diff := cmp.Diff([]time.Time{at("2026-05-28T10:00:00Z"), at("2026-05-28T11:00:00Z"), at("2026-05-28T12:00:00Z")}, due); diff != "" || more {
		t.Error(diff, more)
	}
	due, more = hourly.Latest(time.Time{}, at("2026-05-28T12:10:00Z"), 2)
	if diff := cmp.Diff([]time.Time{at("2026-05-28T11:00:00Z"), at("2026-05-28T12:00:00Z")}, due); diff != "" || !more {
		t.Error(diff, more)
	}
	if due, more := hourly.Latest(at("2026-05-28T12:00:00Z"), at("2026-05-28T12:00:00Z"), 2); len(due) > 0 || more {
		t.Error(due, more)
	}
	if due, more := hourly.Latest(at("2026-05-28T13:00:00Z"), at("2026-05-28T12:00:00Z"), 2); len(due) > 0 || more {
		t.Error("a clock that was set back:", due, more)
	}
	seconds := rule(t, Rule{Every: time.Second})
	if due, more := seconds.Latest(time.Unix(0, 0), at("2026-05-28T12:00:00Z"), 100); len(due) != 100 || !more {
		t.Error(len(due), more)
	}
}
