package node

import (
	"testing"

	"fmqm/api"
	"fmqm/node/report"
	"fmqm/processtable"
)

// Where the table of a process is not here, nothing is done by what others say of it: a
// roster of theirs would name the sites that are sent something.
func TestNothingIsDoneByAForeignRoster(t *testing.T) {
	w := inboxWorldOf(t, orders, true)
	here := func(name string) bool {
		return site{w.a}.Process(processtable.ProcessID{Name: name, Version: 1}) != nil
	}
	if here("trust") || !here("orders") {
		t.Fatal("which tables are here")
	}
	r := report.Report{Known: true, Process: "trust@1", Origin: "M", State: api.InstanceRunning, Roster: []api.Place{{Activity: "x", Node: "nowhere"}}}
	if r, shown := r.Believed("M", nil); !shown || len(r.Roster) != 1 {
		t.Fatalf("it is not shown: %+v", r)
	}
}
