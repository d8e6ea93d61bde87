package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
)

// kin is a node that knows an instance with one that an activity of it has begun, and in that another.
func kin(t *testing.T) (to string, child, grandchild api.InstanceID, listed *api.ListRequest) {
	t.Helper()
	parent := uuid.MustParse(id)
	child, grandchild, listed = uuid.MustParse(strings.Replace(id, "8", "9", 1)), uuid.MustParse(strings.Replace(id, "8", "a", 1)), &api.ListRequest{}
	of := map[api.InstanceID]api.Activity{
		parent:     {Activity: "pack", Kind: api.KindProcess, Node: "A", State: api.ActivityRunning, Child: &child, Of: "line@2"},
		child:      {Activity: "wrap", Kind: api.KindProcess, Node: "A", State: api.ActivityRunning, Child: &grandchild, Of: "label@1"},
		grandchild: {Activity: "print", Node: "B", State: api.ActivityReady},
	}
	to = apitest.Serve(t, &apitest.Backend{
		OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
			st := api.Status{Instance: i, Process: "p@1", State: api.InstanceRunning, Activities: []api.Activity{of[i]}}
			if i == child {
				st.Parent = &api.Parent{Instance: parent, Process: "p@1", Scope: "block#1", Activity: "pack"}
			}
			return st, nil
		},
		OnWhy: func(_ context.Context, i api.InstanceID, _ api.WhyRequest) (api.WhyAnswer, error) {
			a := of[i]
			return api.WhyAnswer{Instance: i, State: api.InstanceRunning, Waits: []api.Wait{{
				Activity: a.Activity, Node: a.Node, State: a.State, For: "it goes on", At: a.Node, Heard: true, Child: a.Child,
			}}}, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			*listed = r
			return api.ListAnswer{}, nil
		},
		OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
			return api.HistoryAnswer{Events: []api.HistoryEvent{
				{Clock: 1, Node: "A", Activity: "pack", Event: api.EventBegun, Iteration: 1, About: child.String()},
				{Clock: 2, Node: "A", Activity: "pack", Event: api.EventReturned, Iteration: 1, About: child.String()},
			}}, nil
		},
	})
	return to, child, grandchild, listed
}

// N19: the tree of a status goes into the instances that activities have begun; what it shows of one names
// its parent.
func TestN19StatusGoesIntoChildren(t *testing.T) {
	to, child, grandchild, _ := kin(t)
	r := fmqm(to, "", "status", id, "--tree")
	for _, line := range []string{"instance " + child.String() + " of line@2", "parent       block#1/pack of p@1, instance " + id, "instance     " + grandchild.String(), "\nprint"} {
		if r.code != 0 || !strings.Contains(r.out, line) {
			t.Errorf("exit %d %s, no line %q in\n%s", r.code, r.err, line, r.out)
		}
	}
	if r := fmqm(to, "", "status", id); strings.Contains(r.out, grandchild.String()) {
		t.Errorf("without --tree it is\n%s", r.out)
	}
	var st api.Status
	if r := fmqm(to, "", "status", id, "--tree", "-o", "json"); json.Unmarshal([]byte(r.out), &st) != nil || len(st.Children) != 1 || len(st.Children[0].Children) != 1 {
		t.Errorf("%s", r.out)
	}
}

// N19: so does why.
func TestN19WhyGoesIntoChildren(t *testing.T) {
	to, child, _, _ := kin(t)
	r := fmqm(to, "", "why", id)
	for _, line := range []string{"pack ", "pack > wrap ", "pack > wrap > print "} {
		if r.code != 0 || !strings.Contains(r.out, "\n"+line) {
			t.Errorf("exit %d %s, no line %q in\n%s", r.code, r.err, line, r.out)
		}
	}
	if r := fmqm(to, "", "why", id, "-o", "jsonl"); !strings.Contains(r.out, `"instance":"`+child.String()+`"`) {
		t.Errorf("%s", r.out)
	}
}

func TestN19HistoryAndListOfChildren(t *testing.T) {
	to, child, _, listed := kin(t)
	if r := fmqm(to, "", "history", id); strings.Count(r.out, "instance "+child.String()) != 2 {
		t.Errorf("%s", r.out)
	}
	if r := fmqm(to, "", "list", "--all", "--parent", id); r.code != 0 || listed.Parent.String() != id || !strings.Contains(r.err, "no instance fits --parent "+id) {
		t.Errorf("exit %d %s, asked for %+v", r.code, r.err, listed)
	}
	for _, wrong := range [][]string{{"--parent", "x"}, {"--parent", ""}, {"--parent", id, "--state", "unknown"}} {
		if r := fmqm(to, "", append([]string{"list"}, wrong...)...); r.code != 2 {
			t.Errorf("%v: exit %d %s", wrong, r.code, r.err)
		}
	}
}

// S4: an instance that a subprocess of the lost site had begun is not for an operator to start.
func TestN19RebuildNamesChildren(t *testing.T) {
	b := api.Rebuild{Node: "A", Peer: "B", Stage: api.RebuildDone, Store: strings.Repeat("0", 32), Unknown: []api.UnknownInstance{
		{Instance: uuid.MustParse(id), Process: "p@1"}, {Instance: uuid.MustParse(strings.Replace(id, "8", "9", 1)), Process: "line@2", UnderWay: true, Child: true},
	}}
	r := fmqm(apitest.Serve(t, &rebuilder{look: []api.Rebuild{b}}), "", "rebuild", "B")
	lines := strings.Split(r.out, "\n")
	if len(lines) < 3 || strings.Contains(lines[1], "subprocess") || !strings.Contains(lines[2], "it runs at A; a subprocess has begun it, and begins it again: do not start it, rebuild once more then") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
}

// N19: who waits for an instance that stands in error with what it has begun is told which activity of which instance to
// retry, or where to ask for that.
func TestN19WaitNamesWhatIsInErrorInChildren(t *testing.T) {
	child := uuid.MustParse(strings.Replace(id, "8", "9", 1))
	for _, tc := range []struct {
		in   api.Parent
		want string
	}{
		{api.Parent{Instance: child, Process: "line@2", Scope: "box#2", Activity: "wrap"}, "\n  remove the cause, then: fmqm retry " + child.String() + " box#2/wrap\n"},
		{api.Parent{Instance: child, Process: "line@2"}, "\n  ask a node of line@2 why: fmqm why " + child.String() + "\n"},
	} {
		last := fullStatus()
		last.State, last.Reason, last.ErrorIn, last.Activities = api.InstanceInError, "instance "+child.String()+" of line@2, which pack has begun at A, is in error", &tc.in, nil
		to := apitest.Serve(t, &apitest.Backend{
			OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) { return last, nil },
		})
		if r := fmqm(to, "", "wait", id); r.code != 1 || !strings.Contains(r.err, "instance "+id+" is in error: "+last.Reason) || !strings.Contains(r.err, tc.want) {
			t.Errorf("exit %d %s\nwant %s", r.code, r.err, tc.want)
		}
	}
}

// N19: what a subprocess has begun may be ended with its parent before its turn comes: that is what was wanted. One that
// has finished meanwhile was not ended.
func TestN19WhatEndsWithItsParentIsTerminated(t *testing.T) {
	for state, code := range map[api.InstanceState]int{api.InstanceTerminated: 0, api.InstanceFinished: 4} {
		to := apitest.Serve(t, &apitest.Backend{
			OnList: func(context.Context, api.ListRequest) (api.ListAnswer, error) {
				return api.ListAnswer{Instances: []api.Instance{{Instance: uuid.MustParse(id), Process: "line@2", Origin: "A", State: api.InstanceInError}}}, nil
			},
			OnTerminate: func(_ context.Context, i api.InstanceID, _ api.TerminateRequest) error {
				return api.Errorf(api.CodeRefused, "there is nothing to terminate", "instance %s is %s", i, state)
			},
			OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
				return api.Status{Instance: i, Process: "line@2", State: state}, nil
			},
		})
		result := map[int]string{0: "done", 4: "failed"}[code]
		if r := fmqm(to, "", "terminate", "--in-error", "--yes"); r.code != code || !strings.Contains(r.out, result) {
			t.Errorf("of one that is %s: exit %d, %s\n%s", state, r.code, r.err, r.out)
		}
	}
}
