package processtable

import (
	"strings"
	"testing"
)

// withNotices is withTimes, whose activity with a deadline has notices, and so has the process.
func withNotices() *Table {
	t := withTimes()
	t.Format, t.History = BundleFormat, 100
	for _, a := range t.Activities {
		switch {
		case a.Deadline != nil:
			a.Notify = []Notice{
				{Program: "remind", First: Moment{Fixed: 3600e9}, Every: &Moment{Expr: checked("wait")}},
				{Program: "chase", First: Moment{At: true, Fixed: 1e18}},
			}
		case a.Name == Sink && len(a.Path) == 0:
			a.Notify = []Notice{{Program: "remind", First: Moment{Expr: checked("wait")}}}
		}
	}
	return t
}

// What only format 7 says of notices comes back.
func TestNoticesComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withNotices()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withNotices(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	path, has := got.NoticePath(Sink, 0)
	if _, second := got.NoticePath(Sink, 1); second || !has || len(path) != 1 || path[0] != (Composite{Activity: Noticing, Elements: true}) {
		t.Errorf("the process has notices at %v, %t, and a second: %t", path, has, second)
	}
}

func TestRefusalsOfNotices(t *testing.T) {
	noticing := func(change func(*Activity)) func(*Table) {
		return func(t *Table) {
			for _, a := range t.Activities {
				if a.Deadline != nil {
					change(a)
				}
			}
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 6", func(t *Table) { t.Format = ModelFormat }, "and no notices"},
		{"without a program", noticing(func(a *Activity) { a.Notify[1].Program = "" }), "format 7 has nothing that people do"},
		{"repeated at once", noticing(func(a *Activity) { a.Notify[0].Every = &Moment{} }), "notice 0: its times are fixed, or expressions"},
		{"repeated at a time", noticing(func(a *Activity) { a.Notify[0].Every = &Moment{At: true, Fixed: 1} }), "notice 0: its times are fixed, or expressions"},
		{"counted backwards", noticing(func(a *Activity) { a.Notify[0].First.Fixed = -1 }), "notice 0: its times are fixed, or expressions"},
		{"of source", func(t *Table) { t.Activities[0].Notify = []Notice{{Program: "remind"}} }, "kind 3 has no notices"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withNotices()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v\nwant %s", err, tc.want)
			}
		})
	}
}
