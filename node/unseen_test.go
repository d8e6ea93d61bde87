package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node"
	"fmqm/staff"
)

// unseen are processes which may be started at B only, here, and by nurses, and one of which all versions are retired.
const unseen = `
process: many
version: 1
starts: [B]
activities:
  one: {node: A, program: echo}
---
process: near
version: 1
activities:
  one: {node: A, program: echo}
---
process: cared
version: 1
staff: role("nurse")
activities:
  one: {node: A, program: echo}
---
process: old
version: 1
activities:
  one: {node: A, program: echo}
`

// unseenNode has these processes, and nina, a nurse, and bob, who is none.
func unseenNode(t *testing.T) *node.Node {
	t.Helper()
	n := openNode(t, "A", "")
	uploadFamily(t, n, unseen)
	nurse, clerk := []staff.Word{{Text: "nurse"}}, []staff.Word{{Text: "clerk"}}
	people, problems := staff.Draft{Roles: append(nurse, clerk...), People: []staff.DraftPerson{
		{Name: staff.Word{Text: "nina"}, Roles: nurse}, {Name: staff.Word{Text: "bob"}, Roles: clerk},
	}}.Check(staff.Site{Node: "A"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	n.SetStaff(people)
	if _, err := n.Retire(t.Context(), "old@1", api.RetireRequest{Number: 1}); err != nil {
		t.Fatal(err)
	}
	return n
}

// startsAs is what somebody with rights over some processes is told who starts one.
func startsAs(t *testing.T, n *node.Node, person, process string, right api.Right, over ...string) *api.Error {
	t.Helper()
	c := api.Caller{Name: person + "@A", Person: person, Rights: &api.Rights{Node: "A", Grants: []api.Grant{{Rights: []api.Right{right}, Processes: over}}}}
	err := n.Begin(api.WithCaller(t.Context(), c), api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: process})
	if err == nil {
		return &api.Error{}
	}
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s starts %s: %v", person, process, err)
	}
	return e
}

// N28: what somebody may not see is not there: he is told of it what he is told of what there is not, to the letter.
func TestN28WhatIsNotSeenIsNotThere(t *testing.T) {
	n := unseenNode(t)
	for _, process := range []string{"many", "many@1", "many@2", "near", "near@1", "old", "old@1"} {
		name, version, _ := strings.Cut(process, "@")
		none := strings.TrimSuffix("none@"+version, "@")
		got, want := startsAs(t, n, "bob", process, api.RightClerk, "appr*"), startsAs(t, n, "bob", none, api.RightClerk, "appr*")
		if got.Code != api.CodeNotFound || got.Code != want.Code || strings.ReplaceAll(got.Message, name, "none") != want.Message || strings.ReplaceAll(got.Remedy, name, "none") != want.Remedy {
			t.Errorf("%s: %s %s: %s\nof what there is not %s %s: %s", process, got.Code, got.Message, got.Remedy, want.Code, want.Message, want.Remedy)
		}
	}
}

// N28: who sees a process, and may not start it, is told why; and so are the people of the staff where its `staff` says who may.
func TestN28WhoSeesAProcessIsToldWhyItIsNotStarted(t *testing.T) {
	n := unseenNode(t)
	for _, tc := range []struct{ person, process, over, want string }{
		{"bob", "many", "*", "many@1 may not be started at A, only at B"},
		{"bob", "near", "*", "bob@A may not start near@1: the process does not say that people of the staff start it"},
		{"bob", "cared", "*", "bob@A may not start cared@1: its `staff` does not let him"},
		{"bob", "old", "*", "old@1 is retired at A"},
		{"bob", "cared", "appr*", "bob@A may not start cared@1: its `staff` does not let him"},
		{"nina", "cared", "appr*", ""},
		{"nina", "many", "appr*", "no table of many at A"},
	} {
		if got := startsAs(t, n, tc.person, tc.process, api.RightViewer, tc.over); got.Message != tc.want {
			t.Errorf("%s starts %s, seeing %s: %q, want %q", tc.person, tc.process, tc.over, got.Message, tc.want)
		}
	}
}

// N28: whose identifier a start has is not told by the process that the other instance is of.
func TestN28AConflictNamesNoProcessThatIsNotSeen(t *testing.T) {
	n := unseenNode(t)
	id := start(t, n, "near", `{}`)
	for over, named := range map[string]bool{"cared": false, "*": true} {
		c := api.Caller{Name: "nina@A", Person: "nina", Rights: &api.Rights{Node: "A", Grants: []api.Grant{{Rights: []api.Right{api.RightViewer}, Processes: []string{over}}}}}
		err := n.Begin(api.WithCaller(t.Context(), c), api.StartRequest{Instance: id, Process: "cared"})
		if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "another instance has this identifier") || strings.Contains(err.Error(), "near@1") != named {
			t.Errorf("who sees %s: %v", over, err)
		}
	}
}
