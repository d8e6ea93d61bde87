package definition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Durations are shown as the language has them.
func TestDurationsAreShownWithDays(t *testing.T) {
	for text, same := range map[string]string{"14d": "14d", "36h": "1d12h", "90m": "1h30m", "60s": "1m", "1h": "1h", "1.5s": "1.5s", "10h0m10s": "10h0m10s", "24h30s": "1d30s", "20m": "20m"} {
		v, err := container.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := durationText(v); got != same {
			t.Errorf("%s is shown as %s, want %s", text, got, same)
		}
		if back, err := container.ParseDuration(durationText(v)); err != nil || back != v {
			t.Errorf("%s is shown as another duration", text)
		}
	}
}

// N22, N23, N25: each row has what ends its activity, and the rows that are cancelled know by whom.
func TestTablesHaveWhatEndsActivities(t *testing.T) {
	c := compileOne(t, testdata(t, "approval.yaml"))
	row := func(name, inside processtable.ActivityID) *processtable.Activity {
		for _, table := range c.Tables {
			if table.Format != processtable.BlockFormat {
				t.Errorf("format %d", table.Format)
			}
			if a := table.Activity(processtable.RowID{Name: name, Inside: inside}); a != nil {
				return a
			}
		}
		t.Fatalf("no row for %s", name)
		return nil
	}
	approve, remind, chase, pause := row("approve", ""), row("remind", ""), row("chase", ""), row("pause", "chase")
	for _, test := range []struct {
		what      string
		got, want any
	}{
		{"the deadline of approve", *approve.Deadline, processtable.Moment{Fixed: int64(132 * time.Hour)}},
		{"its errors go on", approve.Continues, true},
		{"reading _RC takes no retry away", approve.RCIsData, false},
		{"it cancels", approve.Cancels, []processtable.Place{{Activity: "remind", Node: "branch"}, {Activity: "chase", Node: "office"}}},
		{"remind is cancelled by", remind.CancelledBy, []processtable.ActivityID{"approve"}},
		{"chase is cancelled by", chase.CancelledBy, []processtable.ActivityID{"approve"}},
		{"remind waits", remind.Kind, processtable.KindWait},
		{"pause waits until", *pause.Wait, processtable.Moment{At: true, Fixed: time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC).UnixNano()}},
		{"what is inside of chase is told to it", pause.Path, []processtable.Composite{{Activity: "chase", Iterations: 1, Catches: true}}},
		{"chase ends at a time", chase.Deadline.At, true},
		{"the expression of chase", chase.Deadline.Expr.Text, `due - duration("24h")`},
		{"the words of its condition", chase.OutControl[0].Condition.Reads, condition.WordTimeout | condition.WordError},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
	var words []condition.Words
	for _, m := range approve.OutData[0].Mappings {
		words = append(words, m.Word)
	}
	if diff := cmp.Diff([]condition.Words{0, 0, condition.WordTimeout, condition.WordError}, words); diff != "" {
		t.Error(diff)
	}
	// Who reads them may load them.
	scope := condition.Scope{Members: chase.Input, Words: condition.WordInstance}
	if _, err := condition.LoadExpr(*chase.Deadline.Expr, scope, chase.Input.Members[1].Type); err != nil {
		t.Error(err)
	}
}

// A lower format cannot say it, and what says nothing of it is compiled as before.
func TestFormatsBelowDoNotHaveIt(t *testing.T) {
	for keys, needs := range map[string]string{
		"program: p, deadline: {after: 1h}": "deadlines", "wait: {for: 1h}": "waits", "program: p, on_error: continue": "on_error: continue",
		"program: p, cancels: [z]": "cancels", "program: p, on_error: wait": "",
	} {
		text := fmt.Sprintf("process: p\nversion: 1\nactivities:\n  a: {node: A, %s}\n  b: {node: A, program: p}\n  z: {node: A, program: p}\ncontrol:\n  - a -> b: _RC == 0\n", keys)
		if needs == "deadlines" {
			text = strings.Replace(text, "_RC == 0", "_TIMEOUT", 1)
		}
		p := loadOne(t, text)
		_, err := CompileWith(p, CompileOptions{TableFormat: 2})
		switch {
		case needs == "" && err != nil:
			t.Errorf("%s: %v", keys, err)
		case needs != "" && (err == nil || !strings.Contains(err.Error(), "table format 2 has no "+needs+": leave it out, and upgrade the sites of the process to a version that reads format 5")):
			t.Errorf("%s: %v", keys, err)
		}
	}
	p := loadOne(t, "process: p\nversion: 1\nstructures: {S: {s: string}}\nactivities:\n  a: {node: A, program: p, input: S}\ndata:\n  - source -> a: {s: _INSTANCE}\n")
	if _, err := CompileWith(p, CompileOptions{TableFormat: 2}); err == nil || !strings.Contains(err.Error(), "has no _INSTANCE") {
		t.Error(err)
	}
}

// The hash is of what ends activities, too; not of how that is written.
func TestTheHashIsOfWhatEndsActivities(t *testing.T) {
	text := testdata(t, "approval.yaml")
	seen := map[string]string{hashOf(t, loadClean(t, text)): "the original"}
	for _, change := range [][2]string{
		{"after: 5d12h", "after: 5d13h"},
		{"after: 5d12h", "at: 2026-01-01T00:00:00Z"},
		{"for: patience", "for: patience + patience"},
		{"until: 2026-12-31T18:00:00+01:00", "until: 2026-12-31T18:00:01+01:00"},
		{"cancels: [remind, chase]", "cancels: [remind]"},
		{"on_error: continue\n    activities", "activities"},
		{"late: _TIMEOUT, why: _ERROR}\n  - board -> letter", "late: _TIMEOUT}\n  - board -> letter"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Fatalf("%v is no change", change)
		}
		processes, diagnostics := Load("test.yaml", []byte(strings.Replace(changed, " || _ERROR != \"\"", "", 1)))
		if len(processes) != 1 {
			t.Fatal(diagnostics)
		}
		hash := hashOf(t, processes[0])
		if other, ok := seen[hash]; ok {
			t.Errorf("%v: the same hash as %s", change, other)
		}
		seen[hash] = change[0]
	}
	for _, same := range [][2]string{
		{"after: 5d12h", "after: 132h"},
		{"2026-12-31T18:00:00+01:00", "2026-12-31T17:00:00Z"},
		{`due - duration("24h")`, `due-duration("24h")`},
		{"cancels: [remind, chase]", "cancels: [chase, remind]"},
	} {
		changed := strings.Replace(text, same[0], same[1], 1)
		if changed == text || seen[hashOf(t, loadClean(t, changed))] != "the original" {
			t.Errorf("%q: another hash, or no change", same[1])
		}
	}
	const want = "b371bb75c132b92179c3c10cbfc8fc6489d5f7274c54ccd1255acc460796ff0b"
	if got := hashOf(t, loadClean(t, text)); got != want {
		t.Errorf("the definition hash of an approval is %s, want %s", got, want)
	}
	written := loadClean(t, strings.Replace(text, `due - duration("24h")`, `due-duration("24h")`, 1)).asWritten()
	if got := written.Activities[2].Deadline.Expr.Checked.Text; got != `due-duration("24h")` {
		t.Errorf("as written: %s", got)
	}
}

// What ends an activity is shown and drawn at it.
func TestWhatEndsActivitiesIsShown(t *testing.T) {
	text := testdata(t, "approval.yaml")
	shown := Show(compileOne(t, text).Tables)
	for _, want := range []string{
		"approve has its deadline after 5d12h; goes on after errors; cancels remind, chase\n",
		"remind waits for patience\n",
		"chase has its deadline at due - duration(\"24h\"); goes on after errors\n",
		"pause waits until 2026-12-31T17:00:00Z\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	p := loadClean(t, text)
	golden(t, "testdata/approval.dot", Dot(p))
	golden(t, "testdata/approval.mermaid", Mermaid(p))
	golden(t, "testdata/approval.svg", svgOf(t, p))
}
