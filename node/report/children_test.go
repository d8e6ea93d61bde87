package report

import (
	"testing"

	"fmqm/api"
	"fmqm/message"
)

// What a peer says of children counts as far as it can be so: names that there can be, which people are told to type.
func TestWhatAPeerSaysOfChildren(t *testing.T) {
	child := message.InstanceID{1}
	at := func(process, scope, activity string) *api.Parent {
		return &api.Parent{Instance: child, Process: process, Scope: scope, Activity: activity}
	}
	for name, tc := range map[string]struct {
		report ChildrenReport
		want   bool
	}{
		"one goes on":               {ChildrenReport{}, false},
		"an activity":               {ChildrenReport{InError: 1, ErrorIn: at("line@2", "", "wrap")}, true},
		"in a block":                {ChildrenReport{InError: 2, ErrorIn: at("line@2", "box[3]#2", "wrap")}, true},
		"the sink":                  {ChildrenReport{InError: 1, ErrorIn: at("line@2", "", "sink")}, true},
		"a process of others":       {ChildrenReport{InError: 1, ErrorIn: at("line@2", "", "")}, true},
		"less than none":            {ChildrenReport{InError: -1, ErrorIn: at("line@2", "", "wrap")}, false},
		"more than there can be":    {ChildrenReport{InError: 1 << 62, ErrorIn: at("line@2", "", "wrap")}, false},
		"nothing that is in error":  {ChildrenReport{InError: 1}, false},
		"a command for an activity": {ChildrenReport{InError: 1, ErrorIn: at("line@2", "", "$(reboot)")}, false},
		"a command for a scope":     {ChildrenReport{InError: 1, ErrorIn: at("line@2", "; reboot #1", "wrap")}, false},
		"a scope and no activity":   {ChildrenReport{InError: 1, ErrorIn: at("line@2", "box#2", "")}, false},
		"a command for a process":   {ChildrenReport{InError: 1, ErrorIn: at("`reboot`@1", "", "")}, false},
	} {
		if got := tc.report.Stands(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
