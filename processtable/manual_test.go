package processtable

import (
	"strings"
	"testing"

	"fmqm/condition"
	"fmqm/container"
)

var byOf = Mapping{Did: true, Type: container.Scalar(container.String), Source: DidMember, Target: DidMember}

// withManual is the table of a node that hosts all of a claim: who assesses may not approve, and each of many is told.
func withManual() *Table {
	empty := container.Empty
	claim := container.NewStructure("Claim", []container.Member{{Name: "amount", Type: container.Scalar(container.Double)}, {Name: "station", Type: container.Scalar(container.String)}})
	many := container.NewStructure("", []container.Member{{Name: MemberStruct, Type: container.NewList(claim)}})
	role := func(text string) *Who { return &Who{Is: WhoRole, Of: checked(text)} }
	notDid := func(of ActivityID) *Who { return &Who{Is: WhoNot, Parts: []*Who{{Is: WhoDid, Activity: of}}} }
	did := []Mapping{byOf}
	t := &Table{
		Format: PeopleFormat, Process: ProcessID{Name: "claim", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Roster: []Place{{Activity: "assess", Node: "A"}, {Activity: "approve", Node: "A"}, {Activity: "inform", Node: "A"}},
		Starts: []NodeID{"A"}, Input: claim, Output: empty,
		Starters: role(`"clerk"`), Administrator: &Who{Is: WhoOr, Parts: []*Who{role(`"lead"`), {Is: WhoPerson, Of: checked(`"ann"`)}}},
		Priority: &Priority{Expr: checked("amount > 100.0 ? 8 : 4")},
	}
	manual := func(name ActivityID, n Manual, more Activity) *Activity {
		more.Name, more.Kind, more.Manual, more.Output = name, KindManual, &n, empty
		if more.Input == nil {
			more.Input = claim
		}
		more.MaxIterations, more.Retry = 1, Retry{Attempts: 1}
		return &more
	}
	assess := manual("assess", Manual{
		Staff: &Who{Is: WhoAnd, Parts: []*Who{{Is: WhoOrg, Of: checked("station")}, {Is: WhoManages, Activity: Source}, {Is: WhoData, Of: checked("amount > 1.0")}}},
		Title: []TitlePart{{Text: "Assess "}, {Member: container.Path{0}}}, Did: []ActivityID{Source},
	}, Activity{
		InControl: []InControl{{Source}}, Start: and(variable(0)), OutControl: []OutControl{{To: "approve", Node: "A"}}, Priority: &Priority{Fixed: 9},
		InData:  []InData{{From: Source, Mappings: append(claimMapping(claim), byOf)}},
		OutData: []OutData{{To: "approve", Node: "A", Mappings: did}, {To: "inform", Node: "A", Mappings: did}},
	})
	approve := manual("approve", Manual{
		Staff: &Who{Is: WhoAnd, Parts: []*Who{{Is: WhoPerson, Of: checked("watchers"), Each: EachSome}, notDid("assess")}},
		Title: []TitlePart{{Text: "approve"}}, Did: []ActivityID{"assess"},
	}, Activity{
		InControl: []InControl{{"assess"}}, Start: and(variable(0)), OutControl: []OutControl{{To: "inform", Node: "A"}},
		InData: []InData{{From: "assess", Mappings: did}},
	})
	inform := &Activity{
		Name: "inform", Kind: KindBundle, Input: many, Output: empty, Bundle: &Bundle{Parallel: 3}, Start: and(variable(0)),
		InControl: []InControl{{"approve"}}, InData: []InData{{From: "assess", Mappings: did}}, OutControl: []OutControl{{To: Sink, Node: Origin}},
	}
	each := manual("inform", Manual{Staff: notDid("assess"), Title: []TitlePart{{Text: "inform"}}, Did: []ActivityID{"assess"}}, Activity{
		Start: and(), Path: []Composite{{Activity: "inform", Elements: true}},
	})
	t.Activities = []*Activity{
		{
			Name: Source, Kind: KindSource, Input: empty, Output: claim, Start: and(), OutControl: []OutControl{{To: "assess", Node: "A"}},
			OutData: []OutData{{To: "assess", Node: "A", Mappings: append(claimMapping(claim), byOf)}},
		},
		assess, approve, inform, each,
		{Name: Sink, Kind: KindSink, Input: empty, Output: empty, Start: and(), InControl: []InControl{{"inform"}}},
	}
	return t
}

func claimMapping(claim *container.Type) []Mapping {
	return []Mapping{{From: container.Path{0}, To: container.Path{0}, Type: claim.Members[0].Type, Source: "amount", Target: "amount"}}
}

// N27: what people do comes back.
func TestWhatPeopleDoComesBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withManual()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withManual(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	if all := got.Activities[1].Manual.Staff.Asks(); len(all) != 1 || all[0] != Source {
		t.Errorf("it asks who did %v", all)
	}
}

// Tables that say what nobody could follow are refused.
func TestRefusalsOfWhatPeopleDo(t *testing.T) {
	deep := &Who{Is: WhoData, Of: checked("true")}
	for range MaxWhoDepth {
		deep = &Who{Is: WhoNot, Parts: []*Who{deep}}
	}
	wide := &Who{Is: WhoOr}
	for range MaxWho {
		wide.Parts = append(wide.Parts, &Who{Is: WhoData, Of: checked("true")})
	}
	assess := func(t *Table) *Activity { return t.Activities[1] }
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"format 7", func(t *Table) { t.Format = BundleFormat }, "format 7 has nothing that people do"},
		{"format 7, of the process", func(t *Table) { t.Format, t.Activities[3].Manual = 7, nil }, "format 7 has nothing that people do"},
		{"no staff", func(t *Table) { assess(t).Manual.Staff = nil }, "who may do it is missing"},
		{"no title", func(t *Table) { assess(t).Manual.Title = nil }, "title: want 1 to 1024 bytes"},
		{"a long title", func(t *Table) { assess(t).Manual.Title[0].Text = strings.Repeat("x", MaxTitleText+1) }, "over the limit"},
		{"a title of a member that is not there", func(t *Table) { assess(t).Manual.Title[1].Member = container.Path{7} }, "title: "},
		{"a manual activity without staff", func(t *Table) { assess(t).Manual = nil }, "a manual activity, and nothing else"},
		{"a program", func(t *Table) { assess(t).Program = "assess" }, "an activity of this kind has no program"},
		{"or of one", func(t *Table) { t.Administrator.Parts = t.Administrator.Parts[:1] }, "administrator: who may do it: a term 2 of 1 parts"},
		{"deep", func(t *Table) { t.Starters = deep }, "nested deeper than 64"},
		{"wide", func(t *Table) { t.Starters = wide }, "who may start it: who may do it: 1025 terms, above the limit of 1024"},
		{"who starts did something", func(t *Table) { t.Starters = &Who{Is: WhoDid, Activity: "assess"} }, `a term 7 of 0 parts, about "assess", cannot be`},
		{"whose doer does not come", func(t *Table) { assess(t).Manual.Staff.Parts[1].Activity = "approve" }, `about "approve", cannot be`},
		{"doers that do not come", func(t *Table) { t.Activities[2].Manual.Did = append(t.Activities[2].Manual.Did, Source) }, "hidden connectors come from"},
		{"of elements as well", func(t *Table) { t.Activities[4].Manual.Did = nil }, "cannot be"},
		{"a hidden connector of one end", func(t *Table) {
			assess(t).OutData[0].Mappings = []Mapping{{Word: condition.WordBy, Type: byOf.Type, To: container.Path{1}}}
		}, "does not have the same one"},
		{"a hidden one that maps", func(t *Table) {
			assess(t).OutData[0].Mappings = []Mapping{{Did: true, Type: byOf.Type, To: container.Path{1}}}
		}, "who did it is a text, once, of no member"},
		{"a priority of 10", func(t *Table) { assess(t).Priority.Fixed = MaxPriority + 1 }, "over the limit"},
		{"a priority twice", func(t *Table) { t.Priority.Fixed = 3 }, "its priority is 0 to 9, or an expression"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withManual()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
}
