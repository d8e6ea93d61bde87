package report

import (
	"testing"

	"fmqm/processtable"
	"fmqm/queue/record"
)

// N30: of what an operator has ended it is said how, by whom and why.
func TestWhoHasEndedAnActivityByHandIsTold(t *testing.T) {
	const by = "alice at B"
	for want, rec := range map[string]record.AuditRecord{
		"skipped by alice at B":                              {Event: record.EventSkipped, By: by},
		"skipped by alice at B: not needed":                  {Event: record.EventSkipped, By: by, Reason: "not needed"},
		"finished by alice at B":                             {Event: record.EventTerminated, By: by},
		"finished by alice at B: by phone":                   {Event: record.EventTerminated, By: by, Reason: "by phone"},
		"its output was given by hand by alice at B":         {Event: record.EventTerminated, By: by, Reason: record.GivenByHand},
		"its output was given by hand by alice at B: a typo": {Event: record.EventTerminated, By: by, Reason: record.GivenByHand + ": a typo"},
		"the condition was FALSE":                            {Event: record.EventSkipped, Reason: "the condition was FALSE"},
	} {
		f := Facts{Self: "A"}
		got := f.endedActivity(&processtable.Activity{Name: "pay", Kind: processtable.KindProgram}, rec)
		if got.Reason != want || got.By != rec.By {
			t.Errorf("%+v: %q by %q, want %q", rec, got.Reason, got.By, want)
		}
	}
}
