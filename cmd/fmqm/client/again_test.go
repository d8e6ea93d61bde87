package client_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// An instance without a key whose site has lost its store is started again under the
// identifier that the others know it by: with a plan first, which does nothing, and only
// where it is lost.
func TestAnInstanceIsStartedAgain(t *testing.T) {
	i, err := api.ParseInstance(id)
	if err != nil {
		t.Fatal(err)
	}
	lost := api.Status{
		Instance: i, Process: "p@2", State: api.InstanceUnknown, Reason: "the node where it was started, B, does not know it",
		Activities: []api.Activity{
			{Activity: "own", Node: "B", State: api.ActivityUnknown},
			{Activity: "done", Node: "C", State: api.ActivityTerminated},
			{Activity: "next", Node: "C", State: api.ActivityWaiting},
			{Activity: "far", Node: "D", State: api.ActivityUnknown},
		},
		Unreachable: []api.Unreachable{{Node: "D"}},
	}
	known := lost
	var started []api.StartRequest
	var problem error
	to := apitest.Serve(t, &apitest.Backend{
		OnStatus: func(_ context.Context, of api.InstanceID, _ api.StatusRequest) (api.Status, error) {
			if of != i {
				return api.Status{}, api.Errorf(api.CodeNotFound, "", "no node knows it")
			}
			return known, problem
		},
		OnNodes: func(context.Context) (api.NodesAnswer, error) {
			return api.NodesAnswer{Nodes: []api.Node{{Node: "C", State: "connected"}, {Node: "B", State: api.NodeSelf}}}, nil
		},
		OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
			started = append(started, r)
			return api.Status{Instance: r.Instance, Process: r.Process, State: api.InstanceRunning, Activities: []api.Activity{}, Unreachable: []api.Unreachable{}}, nil
		},
	})
	line := []string{"start", "p@2", "--input", `{"a": 1}`, "--instance", id}
	plan := fmqm(to, "", line...)
	for _, want := range []string{
		"plan: start p@2 at B again as " + id + `, with the input: {"a": 1}` + "\n", "plan: C knows of it: done terminated, next waiting\n",
		"plan: D is unreachable: it may know more\n", "Nothing was done: add --yes\n",
	} {
		if !strings.Contains(plan.err, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan.err)
		}
	}
	if plan.code != 0 || len(started) != 0 || !strings.Contains(plan.out, id) {
		t.Errorf("a plan: %+v, started %+v", plan, started)
	}
	if r := fmqm(to, "", append(line, "--yes", "-o", "json")...); r.code != 0 || !strings.Contains(r.out, `"state": "running"`) {
		t.Errorf("%+v", r)
	}
	if len(started) != 1 || started[0].Instance != i || started[0].Process != "p@2" || string(started[0].Input) != `{"a":1}` || started[0].Key != "" {
		t.Fatalf("started %+v", started)
	}

	other := strings.Replace(id, id[:1], "f", 1)
	for _, c := range []struct {
		name, want string
		code       int
		known      func(*api.Status)
		line       []string
	}{
		{"it is known where it was started", "the site where " + id + " was started knows it: it is running", 4, func(s *api.Status) { s.State = api.InstanceRunning }, nil},
		{"it is of another process", "instance " + id + " is of q@1, not of p@2", 4, func(s *api.Status) { s.Process = "q@1" }, nil},
		{"nobody knows it", "no site knows instance " + other + ": nothing of it is left", 3, nil, []string{"start", "p@2", "--instance", other, "--yes"}},
		{"no version", "write the version too, p@VERSION", 2, nil, []string{"start", "p", "--instance", id, "--yes"}},
		{"no identifier", "--instance: ", 2, nil, []string{"start", "p@2", "--instance", "x", "--yes"}},
		{"a key", "leave out --key and -n", 2, nil, []string{"start", "p@2", "--instance", id, "--key", "k", "--yes"}},
		{"many", "leave out --key and -n", 2, nil, []string{"start", "p@2", "--instance", id, "-n", "2", "--yes"}},
		{"--yes for nothing", "--yes is for --instance", 2, nil, []string{"start", "p@2", "--yes"}},
	} {
		known = lost
		if c.known != nil {
			c.known(&known)
		}
		if c.line == nil {
			c.line = append(slices.Clone(line), "--yes")
		}
		if r := fmqm(to, "", c.line...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: %+v\nwant %d: %s", c.name, r, c.code, c.want)
		}
	}
	if len(started) != 1 {
		t.Errorf("what is refused was started: %+v", started[1:])
	}
}
