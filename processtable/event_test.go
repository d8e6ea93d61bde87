package processtable

import (
	"slices"
	"strings"
	"testing"

	"fmqm/container"
)

// withEvents is the table of a node that hosts all of a process: arrival takes the first of two events
// by key, tell sends one to where its input says, done one to a named node.
func withEvents() *Table {
	empty := container.Empty
	row := func(a Activity) *Activity {
		a.Input, a.Output, a.Start = orderType(), empty, and()
		if a.Name == Source {
			a.Input, a.Output = empty, orderType()
		} else {
			a.Start = and(variable(0))
		}
		if a.Name == Sink {
			a.Input = empty
		}
		if !a.Added() {
			a.MaxIterations, a.Retry = 1, Retry{Attempts: 1}
		}
		return &a
	}
	return &Table{
		Format: BundleFormat, Process: ProcessID{Name: "repair", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Roster: []Place{{Activity: "arrival", Node: "A"}, {Activity: "tell", Node: "A"}, {Activity: "done", Node: "A"}},
		Starts: []NodeID{"A"}, Input: orderType(), Output: empty,
		Activities: []*Activity{
			row(Activity{Name: Source, Kind: KindSource, OutControl: []OutControl{{To: "arrival", Node: "A"}}}),
			row(Activity{
				Name: "arrival", Kind: KindReceive, Deadline: &Moment{Fixed: 1e9}, Exit: checked(`_EVENT != ""`),
				Receive:   &Receive{Events: []ReceivedEvent{{"part-arrived", creditType()}, {"cancelled", empty}}, Key: checked("item")},
				InControl: []InControl{{Source}}, OutControl: []OutControl{{To: "tell", Node: "A"}},
			}),
			row(Activity{
				Name: "tell", Kind: KindSend,
				Send:      &Send{Event: "told", Type: orderType(), Key: checked("item"), ToExpr: checked("item"), Of: []NodeID{"A", "B"}, Keep: &Moment{Expr: checked("keep")}},
				InControl: []InControl{{"arrival"}}, OutControl: []OutControl{{To: "done", Node: "A"}},
			}),
			row(Activity{
				Name: "done", Kind: KindSend, Send: &Send{Event: "finished", Type: empty, To: "C", Keep: &Moment{Fixed: 5e9}},
				InControl: []InControl{{"tell"}}, OutControl: []OutControl{{To: Sink, Node: Origin}},
			}),
			row(Activity{Name: Sink, Kind: KindSink, InControl: []InControl{{"done"}}}),
		},
	}
}

// N24: what an activity receives and sends comes back.
func TestEventsComeBack(t *testing.T) {
	encoded := mustEncode(t, withEvents())
	got, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withEvents(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	if n := ReaderOf(encoded); n != BundleFormat {
		t.Errorf("the format that a reader must know is %d, want %d (L6)", n, BundleFormat)
	}
	here := got.ReceivedHere()
	if len(here) != 2 || here[0].Name != "part-arrived" || here[1].Name != "cancelled" {
		t.Errorf("it receives %v", here)
	}
	arrival, tell, done := got.Activities[1], got.Activities[2], got.Activities[3]
	if e := arrival.Receive.Event("cancelled"); e == nil || e.Type != here[1].Type || arrival.Receive.Event("told") != nil {
		t.Errorf("it receives %v under the name of the second", e)
	}
	if two, one := tell.Send.Targets(), done.Send.Targets(); !slices.Equal(two, []NodeID{"A", "B"}) || !slices.Equal(one, []NodeID{"C"}) {
		t.Errorf("they are sent to %v and %v", two, one)
	}
}

func TestRefusalsOfEvents(t *testing.T) {
	const arrival, tell, done = 1, 2, 3
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 6", func(t *Table) { t.Format = ModelFormat }, "activity arrival: format 6 has no events"},
		{"a receive of nothing", func(t *Table) { t.Activities[arrival].Receive = nil }, "a receive, and nothing else, names what it receives"},
		{"a wait that receives", func(t *Table) { t.Activities[arrival].Kind = KindEmpty; t.Activities[arrival].Deadline = nil }, "a receive, and nothing else, names what it receives"},
		{"no event", func(t *Table) { t.Activities[arrival].Receive.Events = nil }, "it receives 0 events"},
		{"one twice", func(t *Table) { t.Activities[arrival].Receive.Events[1].Name = "part-arrived" }, `event "part-arrived" is not a name, occurs twice`},
		{"of no name", func(t *Table) { t.Activities[arrival].Receive.Events[0].Name = "@part" }, `event "@part" is not a name`},
		{"with a program", func(t *Table) { t.Activities[arrival].Program = "run" }, "an activity of this kind has no program"},
		{"that goes on after errors", func(t *Table) { t.Activities[arrival].Continues = true }, "no errors to go on after"},
		{"a send with a deadline", func(t *Table) { t.Activities[tell].Deadline = &Moment{Fixed: 1} }, "a send has neither exit condition nor deadline"},
		{"to nowhere", func(t *Table) { t.Activities[done].Send.To = "" }, "it is sent to a node, or to what an expression gives"},
		{"to one and to others", func(t *Table) { t.Activities[tell].Send.To = "C" }, "it is sent to a node, or to what an expression gives"},
		{"to one twice", func(t *Table) { t.Activities[tell].Send.Of[1] = "A" }, `it is sent to "A": that is not a name, or occurs twice`},
		{"to no name", func(t *Table) { t.Activities[done].Send.To = "@else" }, `it is sent to "@else": that is not a name`},
		{"to one of which none is a name", func(t *Table) { t.Activities[tell].Send.Of[1] = Origin }, `it is sent to "@origin": that is not a name`},
		{"kept for less than nothing", func(t *Table) { t.Activities[done].Send.Keep.Fixed = -1 }, "it is kept for a fixed time above 0"},
		{"kept until a day", func(t *Table) { t.Activities[done].Send.Keep.At = true }, "it is kept for a fixed time above 0"},
		{"of another behaviour", func(t *Table) {
			a := t.Activities[arrival]
			*a = Activity{Name: a.Name, Behaviour: "count-to", Receive: a.Receive, Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: a.OutControl}
		}, "behaviour count-to: kind, start and exit condition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withEvents()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
	for key, value := range map[int]any{keyReceive: map[any]any{}, keySend: map[any]any{}} {
		b := rewriteOf(t, withChildren(), func(m map[any]any) {
			m[uint64(keyActivities)].([]any)[1].(map[any]any)[uint64(keyMore)].(map[any]any)[uint64(key)] = value
		})
		if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "format 6 has no such field: it is of format 7 on") {
			t.Errorf("key %d in a table of format 6: %v", key, err)
		}
	}
}
