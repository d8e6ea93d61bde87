package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

const escalating = `
process: claim
version: 1
structures:
  Claim: {number: string, lead: string}
  Claims: {number: [string]}
  Verdict: {fair: bool}
input: Claim
output: Verdict
notify: [{after: 30d, staff: manages(source)}]
activities:
  assess: {node: A, staff: role("adjuster"), input: Claim, output: Verdict, notify: [{after: 1h, every: 30m}, {after: 1d, program: mail, staff: manages(assess)}]}
  pay:    {node: B, program: pay, input: Claim, notify: [{after: 2d, staff: "did(assess) || person(lead)"}]}
  inform: {node: B, staff: role("clerk") && !did(assess), for_each: number, input: Claim, notify: [{after: 1h, staff: manages(inform) || manages(assess)}]}
  visit:  {node: B, program: v, input: Claim, at: {node: lead, of: [B, C]}, notify: [{after: 1h, staff: did(assess)}]}
  round:
    node: B
    notify: [{after: 1h, staff: did(assess) && !did(source)}]
    activities:
      look: {node: B, program: v}
control:
  - assess -> pay
  - assess -> visit
  - assess -> round
  - assess -> inform
data:
  - source -> assess: {number: number}
  - source -> pay: {number: number, lead: lead}
  - source -> visit: {number: number, lead: lead}
  - assess -> sink: {fair: fair}
`

// N27: notices for people are in the tables, of format 8; who did what they ask for comes by hidden connectors, but for who has the activity itself.
func TestNoticesForPeople(t *testing.T) {
	c := compileOne(t, escalating)
	rows := map[processtable.RowID]*processtable.Activity{}
	for _, table := range c.Tables {
		if table.Format != processtable.PeopleFormat {
			t.Errorf("%s has format %d", table.Node, table.Format)
		}
		for _, a := range table.Activities {
			rows[a.Row()] = a
		}
	}
	for row, want := range map[processtable.RowID]struct {
		doers []processtable.ActivityID
		shown string
	}{
		{Name: "assess"}: {nil, `after 1h, for who has it, or may have it, every 30m; after 1d mail, for manages(assess)`},
		{Name: "pay"}:    {[]processtable.ActivityID{"assess"}, "after 2d, for did(assess) || person(lead)"},
		{Name: "inform"}: {[]processtable.ActivityID{"assess"}, ""},
		{Name: "inform", Inside: "inform", Begun: 1}: {nil, "after 1h, for manages(inform) || manages(assess)"},
		{Name: "visit"}: {[]processtable.ActivityID{"assess"}, "after 1h, for did(assess)"},
		{Name: "visit", Inside: "visit", Begun: 1}: {nil, ""},
		{Name: "round"}:           {[]processtable.ActivityID{"assess", "source"}, "after 1h, for did(assess) && !did(source)"},
		{Name: processtable.Sink}: {nil, "after 30d, for manages(source)"},
	} {
		a := rows[row]
		if a == nil {
			t.Errorf("%v is not there", row)
			continue
		}
		if got := showNotices(a.Notify); got != want.shown {
			t.Errorf("%v notifies %s\nwant %s", row, got, want.shown)
		}
		if d := cmp.Diff(want.doers, a.Doers()); d != "" {
			t.Errorf("whose doers come to %v (-want +got):\n%s", row, d)
		}
	}
	if got := rows[processtable.RowID{Name: "assess"}].Programs(); !slices.Equal(got, []processtable.ProgramID{"mail"}) {
		t.Errorf("assess runs %v", got)
	}
}

// What is shown to whom is part of what a definition says: another makes another, and a process without stays what it was.
func TestNoticesForPeopleAreInTheHash(t *testing.T) {
	hash := func(text string) string { return string(compileOne(t, text).Manifest.Definition) }
	before := hash(escalating)
	for _, change := range [][2]string{
		{"manages(assess)}]}", `role("lead")}]}`},
		{"{after: 1h, every: 30m}", "{after: 1h, every: 30m, staff: role(\"adjuster\")}"},
		{"program: mail, ", ""},
	} {
		if text := strings.Replace(escalating, change[0], change[1], 1); text == escalating || hash(text) == before {
			t.Errorf("with %s it is the same", change[1])
		}
	}
}

// A process with nothing of people but such a notice needs their format too.
func TestANoticeForPeopleNeedsTheirFormat(t *testing.T) {
	p := loadOne(t, `
process: p
version: 1
activities:
  a: {node: A, program: p, notify: [{after: 1d, staff: role("lead")}]}
`)
	_, err := CompileWith(p, CompileOptions{TableFormat: processtable.BundleFormat})
	if err == nil || !strings.Contains(err.Error(), "table format 7 has no notify with staff") {
		t.Errorf("of format 7: %v", err)
	}
}

// N27, R51: what is offered at other nodes has its notices for people there as well, without programs, in tables of format 9; so has
// one execution of a bundle. What is offered at home only needs no more than format 8.
func TestNoticesOfWhatIsOfferedElsewhere(t *testing.T) {
	text := strings.Replace(escalating, "notify: [{after: 1h, every: 30m}, {after: 1d, program: mail", "offered_at: [A, L], notify: [{after: 1h, program: log}, {after: 1d, program: mail", 1)
	text = strings.Replace(text, "for_each: number,", "for_each: number, offered_at: [L],", 1)
	shown := map[processtable.ActivityID]string{}
	for _, table := range compileOne(t, text).Tables {
		if table.Format != processtable.AwayFormat {
			t.Errorf("%s has format %d", table.Node, table.Format)
		}
		if table.Node != "L" {
			continue
		}
		for _, a := range table.Activities {
			shown[a.Name] = showNotices(a.Notify)
			if _, has := table.NoticePath(a.Name, 0); a.Begun() && !has {
				t.Errorf("%s has no notice in a scope", a.Name)
			}
		}
	}
	want := map[processtable.ActivityID]string{"assess": "after 1d, for manages(assess)", "inform": "after 1h, for manages(inform) || manages(assess)"}
	if d := cmp.Diff(want, shown); d != "" {
		t.Errorf("L has notices (-want +got):\n%s", d)
	}
	if _, err := CompileWith(loadOne(t, text), CompileOptions{TableFormat: processtable.PeopleFormat}); err == nil || !strings.Contains(err.Error(), "has no notify for people of what is offered at other nodes") {
		t.Errorf("of format 8: %v", err)
	}
}
