package processtable

import (
	"strings"
	"testing"
)

// withPeopleNotices is withManual with notices for people: of what people do, of a bundle of that, of what they do not, of the process.
func withPeopleNotices() *Table {
	t := withManual()
	after := Moment{Fixed: 3600e9}
	asks := func(is WhoIs, of ActivityID) *Who { return &Who{Is: is, Activity: of} }
	for _, a := range t.Activities {
		switch {
		case a.Name == "assess":
			a.Notify = []Notice{
				{First: after, Every: &Moment{Fixed: 60e9}},
				{First: after, Staff: &Who{Is: WhoOr, Parts: []*Who{asks(WhoManages, "assess"), asks(WhoDid, Source)}}},
			}
		case a.Name == "inform" && a.Begun():
			a.Notify = []Notice{{First: after, Program: "chase", Staff: asks(WhoManages, "assess")}}
		case a.Name == Sink:
			a.Notify = []Notice{{First: after, Staff: asks(WhoManages, Source)}}
		}
	}
	return t
}

// N27: notices for people come back, and name no program that is none.
func TestNoticesForPeopleComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withPeopleNotices()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withPeopleNotices(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	path, has := got.NoticePath("inform", 0)
	if _, second := got.NoticePath("inform", 1); second || !has || len(path) != 2 || path[0] != (Composite{Activity: "inform", Elements: true}) || path[1].Activity != Noticing {
		t.Errorf("each execution of inform has notices at %v, %t, and a second: %t", path, has, second)
	}
	if all := got.Activities[1].Programs(); len(all) != 0 {
		t.Errorf("assess runs %v", all)
	}
}

func TestRefusalsOfNoticesForPeople(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"who asks for what does not come", func(t *Table) { t.Activities[1].Notify[1].Staff.Parts[0].Activity = "approve" }, `notice 1: who may do it: a term 8 of 0 parts, about "approve", cannot be`},
		{"of the process, who asks for an activity", func(t *Table) { t.Activities[5].Notify[0].Staff.Activity = "assess" }, `notice 0: who may do it: a term 8 of 0 parts, about "assess", cannot be`},
		{"for nobody", func(t *Table) { t.Activities[5].Notify[0].Staff = nil }, "notice 0: it has no program, and nobody to whom it is shown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withPeopleNotices()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v\nwant %s", err, tc.want)
			}
		})
	}
	for name, change := range map[string]func(*Notice){
		"with a program": func(n *Notice) { n.Staff = &Who{Is: WhoRole, Of: checked(`"lead"`)} },
		"without one":    func(n *Notice) { n.Program, n.Staff = "", &Who{Is: WhoRole, Of: checked(`"lead"`)} },
	} {
		table := withNotices()
		for _, a := range table.Activities {
			if a.Deadline != nil {
				change(&a.Notify[0])
			}
		}
		if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), "format 7 has nothing that people do") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
