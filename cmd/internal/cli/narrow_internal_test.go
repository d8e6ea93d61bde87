package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A table that is wider than the terminal breaks its longest texts inside their columns;
// an identifier stays whole; without a terminal, and with -o wide, a row is a line.
func TestTablesFitTheTerminal(t *testing.T) {
	const id = "0197c0de-0000-7000-8000-000000000001"
	print := func(room int) string {
		var out bytes.Buffer
		p := &Printer{Format: Table, w: &out, room: room}
		l := p.List(false, "INSTANCE", "STATE", "REASON")
		for _, row := range [][]string{
			{id, "in-error", "program check-credit ended with 3 and nothing reads its return code"},
			{id, "running", strings.Repeat("x", 40)},
			{id, "finished", ""},
		} {
			if err := l.Row(nil, row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.End(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const want = `INSTANCE                              STATE     REASON
0197c0de-0000-7000-8000-000000000001  in-error  program check-credit
                                                ended with 3 and nothing
                                                reads its return code
0197c0de-0000-7000-8000-000000000001  running   xxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxx
0197c0de-0000-7000-8000-000000000001  finished
`
	if got := print(72); got != want {
		t.Errorf("72 characters:\n%s\nwant\n%s", got, want)
	}
	if got := print(0); strings.Count(got, "\n") != 4 {
		t.Errorf("no terminal:\n%s", got)
	}
	const below = `INSTANCE
    STATE
    REASON
0197c0de-0000-7000-8000-000000000001
    in-error
    program check-credit
`
	if got := print(26); !strings.HasPrefix(got, below) {
		t.Errorf("26 characters:\n%s\nwant\n%s", got, below)
	}
}

// A row that needs two lines, and whose text is broken, has no empty lines in it.
func TestBrokenRowsHaveNoEmptyLines(t *testing.T) {
	var out bytes.Buffer
	p := &Printer{Format: Table, w: &out, room: 60}
	err := p.WriteTable([]string{"ACTIVITY", "STATE", "WHY", "SINCE", "REACHABLE"}, [][]string{
		{"work", "in-error", "return code 3, and no condition or mapping of work reads _RC", "2026-11-22 14:52:58", "yes"},
		{"other", "in-error", "return code 4", "2026-11-22 14:52:58", "yes"},
	})
	if got := out.String(); err != nil || strings.Contains(got, "\n\n") || strings.Contains(got, " \n") || !strings.Contains(got, "\n    ") {
		t.Errorf("%v\n%s", err, got)
	} else {
		t.Log("\n" + got)
	}
}
