package client_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// ofBlocks is a status of what is in blocks, a page of it.
func ofBlocks(r api.StatusRequest) api.Status {
	st := api.Status{Process: "claim@1", State: api.InstanceRunning, Scope: r.Scope, Next: "documents#2/check", Activities: []api.Activity{
		{Scope: "documents#1", Activity: "check", Kind: api.KindProgram, Node: "A", State: api.ActivityInError, Reason: "broken"},
		{Scope: "documents#2", Activity: "check", Kind: api.KindProgram, Node: "A", State: api.ActivityInError, Reason: "broken"},
	}}
	if r.Tree {
		st.Activities = append([]api.Activity{{Activity: "documents", Kind: api.KindBlock, Node: "A", State: api.ActivityRunning, Iterations: 2}}, st.Activities...)
	}
	return st
}

// N18: the flags of status come to the node, and what is cut is said.
func TestN18StatusAsksForWhatIsInside(t *testing.T) {
	var asked api.StatusRequest
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(_ context.Context, _ api.InstanceID, r api.StatusRequest) (api.Status, error) {
		asked = r
		return ofBlocks(r), nil
	}})
	for _, c := range []struct {
		line string
		want api.StatusRequest
		exit int
		says string // on standard error
	}{
		{"", api.StatusRequest{}, 0, "there may be more: --after documents#2/check\n"},
		{"--scope documents#1/deeper", api.StatusRequest{Scope: "documents#1/deeper"}, 0, ""},
		{"--tree --state in-error --state running --limit 2 --after documents#1/check", api.StatusRequest{Tree: true, States: []api.ActivityState{"in-error", "running"}, Limit: 2, After: "documents#1/check"}, 0, ""},
		{"--tree --scope documents", api.StatusRequest{}, 2, "leave one of them out"},
		{"--limit 0", api.StatusRequest{}, 2, "--limit: write a number from 1 to 1000"},
		{"--state broken", api.StatusRequest{}, 2, "state=broken: no activity is broken"},
	} {
		asked = api.StatusRequest{}
		r := fmqm(to, "", append([]string{"status", id}, strings.Fields(c.line)...)...)
		if r.code != c.exit || !strings.Contains(r.err, c.says) || !reflect.DeepEqual(asked, c.want) {
			t.Errorf("%s: exit %d, %s, asked for %+v", c.line, r.code, r.err, asked)
		}
	}
	r := fmqm(to, "", "status", id, "--tree")
	for _, line := range []string{"\ndocuments            A ", "\n  documents#1/check  A ", "\n  documents#2/check  A "} {
		if !strings.Contains(r.out, line) {
			t.Errorf("no line %q in\n%s", line, r.out)
		}
	}
	if r := fmqm(to, "", "status", id, "--scope", "documents#1", "-o", "json"); !strings.Contains(r.out, `"scope": "documents#1"`) || !strings.Contains(r.out, `"kind": "program"`) {
		t.Errorf("%s", r.out)
	}
}

// N18: history and why of a PATH.
func TestN18HistoryAndWhyOfAPath(t *testing.T) {
	var history api.HistoryRequest
	var why api.WhyRequest
	to := apitest.Serve(t, &apitest.Backend{
		OnHistory: func(_ context.Context, _ api.InstanceID, r api.HistoryRequest) (api.HistoryAnswer, error) {
			history = r
			return api.HistoryAnswer{Events: []api.HistoryEvent{{Clock: 7, Node: "A", Activity: "documents", Event: api.EventBegun, Iteration: 2}}}, nil
		},
		OnWhy: func(_ context.Context, _ api.InstanceID, r api.WhyRequest) (api.WhyAnswer, error) {
			why = r
			return api.WhyAnswer{State: api.InstanceRunning}, nil
		},
	})
	r := fmqm(to, "", "history", id, "--activity", "documents#2", "--since", "7")
	if !strings.Contains(r.out, "documents  begun  2") || history != (api.HistoryRequest{Activity: "documents#2", Since: 7}) {
		t.Errorf("asked for %+v:\n%s", history, r.out)
	}
	if r := fmqm(to, "", "why", id, "documents#2/check"); why.Activity != "documents#2/check" || !strings.Contains(r.err, "documents#2/check waits for nothing") {
		t.Errorf("asked for %+v: %s", why, r.err)
	}
}

// N18: retry --all is of every execution in error, on every page.
func TestN18RetryAll(t *testing.T) {
	var mu sync.Mutex // several are retried at a time
	var retried []string
	to := apitest.Serve(t, &apitest.Backend{
		OnStatus: func(_ context.Context, _ api.InstanceID, r api.StatusRequest) (api.Status, error) {
			if !r.Tree || fmt.Sprint(r.States) != "[in-error]" {
				t.Errorf("asked for %+v", r)
			}
			st := ofBlocks(r) // two pages
			if r.After == "" {
				st.Activities, st.Next = st.Activities[:2], "documents#1/check"
			} else if st.Activities, st.Next = st.Activities[2:], ""; r.After != "documents#1/check" {
				t.Errorf("asked for what is after %s", r.After)
			}
			return st, nil
		},
		OnRetry: func(_ context.Context, _ api.InstanceID, r api.RetryRequest) (api.Word, error) {
			mu.Lock()
			retried = append(retried, api.InScope(r.Scope, r.Activity)+" "+r.Reason)
			mu.Unlock()
			if r.Scope == "documents#2" {
				return api.Word{}, api.Errorf(api.CodeRefused, "", "it is over")
			}
			return api.Word{Result: api.WordDone, Scope: r.Scope, Activity: r.Activity}, nil
		},
	})
	r := fmqm(to, "", "retry", id, "check", "--all", "--reason", "mended")
	if r.code != 4 || len(retried) != 2 || !strings.Contains(strings.Join(retried, ","), "documents#1/check mended") || !strings.Contains(r.err, "1 of 2 failed") {
		t.Errorf("exit %d, %v: %s%s", r.code, retried, r.out, r.err)
	}
	if r := fmqm(to, "", "retry", id, "ship", "--all"); r.code != 3 || !strings.Contains(r.err, "ship is nowhere in error") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := fmqm(to, "", "retry", id, "check", "--all", "--output", "{}"); r.code != 2 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// The table of a status says where the work of a call is done, and what a receive waits for.
func TestStatusSaysWhereAndForWhat(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
		return api.Status{Process: "claim@1", State: api.InstanceRunning, Activities: []api.Activity{
			{Activity: "count", Node: "office", At: "s03", State: api.ActivityRunning},
			{Activity: "arrival", Node: "office", State: api.ActivityRunning, Waits: &api.EventWait{Events: []string{"arrived", "cancelled"}, Key: "J-7"}},
		}}, nil
	}})
	r := fmqm(to, "", "status", id)
	for _, want := range []string{"\ncount     office, at s03  running", "waits for arrived or cancelled, key J-7\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}
