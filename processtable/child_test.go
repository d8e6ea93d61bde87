package processtable

import (
	"strings"
	"testing"

	"fmqm/container"
)

// withChildren is the table of a node that hosts all of a process: pack is done by an instance of
// pack-line@2, and print, in a block, by one of the label that is current, which outlives it.
func withChildren() *Table {
	empty, inside := container.Empty, []Composite{{Activity: "block", Iterations: 1}}
	row := func(a Activity) *Activity {
		a.Input, a.Output, a.Start = empty, empty, and()
		if a.Name != Source {
			a.Start = and(variable(0))
		}
		if !a.Added() {
			a.MaxIterations, a.Retry = 1, Retry{Attempts: 1}
		}
		return &a
	}
	last := row(Activity{Name: Sink, Kind: KindSink, Path: inside, InControl: []InControl{{"print"}}})
	return &Table{
		Format: ModelFormat, Process: ProcessID{Name: "order", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Roster: []Place{{Activity: "pack", Node: "A"}, {Activity: "block", Node: "A"}, {Activity: "print", Node: "A", Inside: "block"}},
		Starts: []NodeID{"A"}, Input: empty, Output: empty, Children: 2,
		Activities: []*Activity{
			row(Activity{Name: Source, Kind: KindSource, OutControl: []OutControl{{To: "pack", Node: "A"}}}),
			row(Activity{
				Name: "pack", Kind: KindProcess, Child: &Child{Name: "pack-line", Version: 2}, Continues: true, Deadline: &Moment{Fixed: 1e9},
				InControl: []InControl{{Source}}, OutControl: []OutControl{{To: "block", Node: "A"}},
			}),
			row(Activity{Name: "block", Kind: KindBlock, InControl: []InControl{{"pack"}}, OutControl: []OutControl{{To: Sink, Node: Origin}}}),
			row(Activity{Name: Source, Kind: KindSource, Path: inside, OutControl: []OutControl{{To: "print", Node: "A"}}}),
			last,
			row(Activity{
				Name: "print", Kind: KindProcess, Child: &Child{Name: "label"}, Independent: true, Path: inside,
				InControl: []InControl{{Source}}, OutControl: []OutControl{{To: Sink, Node: "A"}},
			}),
			row(Activity{Name: Sink, Kind: KindSink, InControl: []InControl{{"block"}}}),
		},
	}
}

// N19: which process an activity begins, and what becomes of that, comes back.
func TestSubprocessesComeBack(t *testing.T) {
	encoded := mustEncode(t, withChildren())
	got, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withChildren(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
	if n := ReaderOf(encoded); n != ModelFormat {
		t.Errorf("the format that a reader must know is %d, want %d (L6)", n, ModelFormat)
	}
	if one, newest := got.Activities[1].Child.String(), got.Activities[5].Child.String(); one != "pack-line@2" || newest != "label" {
		t.Errorf("they are called %s and %s", one, newest)
	}
}

func TestRefusalsOfSubprocesses(t *testing.T) {
	const pack, block = 1, 2
	for _, tc := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"of format 5", func(t *Table) { t.Format = BlockFormat }, "activity pack: format 5 has no subprocesses"},
		{"without a process", func(t *Table) { t.Activities[pack].Child = nil }, "activity pack: a subprocess, and nothing else, names a process"},
		{"of another kind", func(t *Table) { t.Activities[pack].Kind = KindEmpty }, "activity pack: a subprocess, and nothing else, names a process"},
		{"a block that is independent", func(t *Table) { t.Activities[block].Independent = true }, "activity block: a subprocess, and nothing else, names a process; that alone may be independent"},
		{"of no name", func(t *Table) { t.Activities[pack].Child.Name = "pack line" }, `activity pack: process "pack line" is not a name`},
		{"of a version below 0", func(t *Table) { t.Activities[pack].Child.Version = -1 }, "process: byte"},
		{"with a program", func(t *Table) { t.Activities[pack].Program = "run" }, "an activity of this kind has no program"},
		{"of another behaviour", func(t *Table) {
			a := t.Activities[pack]
			*a = Activity{
				Name: a.Name, Behaviour: "count-to", Child: a.Child, Input: a.Input, Output: a.Output, InControl: a.InControl, OutControl: a.OutControl,
			}
		}, "behaviour count-to: kind, start and exit condition"},
		{"without attempts", func(t *Table) { t.Activities[pack].Retry.Attempts = 0 }, "retry: attempts is below 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := withChildren()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
		})
	}
	for key, value := range map[int]any{keyChild: []any{"pack-line", 1}, keyIndependent: true} {
		b := rewriteOf(t, withTimes(), func(m map[any]any) {
			m[uint64(keyActivities)].([]any)[1].(map[any]any)[uint64(keyMore)].(map[any]any)[uint64(key)] = value
		})
		if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "format 5 has no such field: it is of format 6 on") {
			t.Errorf("key %d in a table of format 5: %v", key, err)
		}
	}
}
