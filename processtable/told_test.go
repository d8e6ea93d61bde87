package processtable

import (
	"strings"
	"testing"
)

// withTold is withPeopleNotices with notices of what happens to its instances, which come for nobody in particular and for a program.
func withTold() *Table {
	t := withPeopleNotices()
	t.Format, t.Deadlines = ToldFormat, true
	for _, a := range t.Activities {
		if a.Name == Sink && len(a.Path) == 0 {
			a.Notify = append(a.Notify,
				Notice{On: OnEnd | OnError, Staff: &Who{Is: WhoDid, Activity: Source}},
				Notice{On: OnDeadline, Program: "tell"})
		}
	}
	return t
}

// R58: notices of what happens come back, each time with another place than one that comes at a time.
func TestNoticesOfWhatHappensComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withTold()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withTold(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	for number, iterations := range []int{0, MaxTold + 1, MaxTold + 1} {
		path, has := got.NoticePath(Sink, number)
		if !has || len(path) != 1 || path[0] != (Composite{Activity: Noticing, Elements: true, Iterations: iterations}) {
			t.Errorf("notice %d is at %v, %t", number, path, has)
		}
	}
	if on := got.Activity(RowID{Name: Sink}).Tells(); on.String() != "end or error or deadline" {
		t.Errorf("it tells of %s", on)
	}
}

func TestRefusalsOfNoticesOfWhatHappens(t *testing.T) {
	of := func(t *Table, name ActivityID) *Activity {
		return t.Activity(RowID{Name: name})
	}
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of an activity", func(t *Table) { of(t, "assess").Notify[0] = Notice{On: OnEnd, Program: "p"} }, "notice 0: what tells of what happens to an instance is of its process, and has no time"},
		{"with a time", func(t *Table) { of(t, Sink).Notify[2].First.Fixed = 5 }, "notice 2: what tells of what happens"},
		{"repeated", func(t *Table) { of(t, Sink).Notify[2].Every = &Moment{Fixed: 5} }, "notice 2: what tells of what happens"},
		{"of what there is not", func(t *Table) { of(t, Sink).Notify[2].On = 8 }, "number 8 is over the limit of 7"},
		{"of deadlines that nobody tells of", func(t *Table) { t.Deadlines = false }, "notice 2: it tells of deadlines, and nobody tells of these"},
		{"of a format before", func(t *Table) { t.Format, t.Deadlines = PeopleFormat, false }, "format 8 has no such field: it is of format 9 on"},
		{"deadlines, of a format before", func(t *Table) {
			t.Format = PeopleFormat
			of(t, Sink).Notify = nil
		}, "format 8 has no deadlines that the origin is told of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withTold()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v\nwant %s", err, tc.want)
			}
		})
	}
}
