package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
)

// On a terminal a list has lines that fit: what has not ended has no column for when it
// did, and the columns for which there is no room stand below, indented.
func TestListOnATerminal(t *testing.T) {
	instance, err := api.ParseInstance(id)
	if err != nil {
		t.Fatal(err)
	}
	to := apitest.Serve(t, &apitest.Backend{OnList: func(context.Context, api.ListRequest) (api.ListAnswer, error) {
		return api.ListAnswer{Instances: []api.Instance{
			{Instance: instance, Process: "p@1", State: api.InstanceRunning, InError: 2, Started: at, Ended: at.Add(time.Hour), Key: "order-4711"},
		}}, nil
	}})
	for _, tc := range []struct {
		name  string
		width int
		args  []string
		want  string
	}{
		{"80 columns", 80, []string{"list"}, `
INSTANCE                              PROCESS  STATE
    STARTED              KEY
` + id + `  p@1      running (2 in error)
    2025-06-01 12:00:00  order-4711
`},
		{"80 columns, all", 80, []string{"list", "--all"}, `
INSTANCE                              PROCESS  STATE
    STARTED              ENDED                KEY
` + id + `  p@1      running (2 in error)
    2025-06-01 12:00:00  2025-06-01 13:00:00  order-4711
`},
		{"120 columns", 120, []string{"list"}, `
INSTANCE                              PROCESS  STATE                 STARTED              KEY
` + id + `  p@1      running (2 in error)  2025-06-01 12:00:00  order-4711
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shown, _, code := onTerminal(t, tc.width, to, map[string]string{"NO_COLOR": "1"}, tc.args...)
			if code != 0 || shown != strings.TrimPrefix(tc.want, "\n") {
				t.Errorf("exit %d:\n%s", code, shown)
			}
		})
	}
}

// What is suspended says so, whatever else is said of it.
func TestAListSaysWhatIsSuspended(t *testing.T) {
	instance, err := api.ParseInstance(id)
	if err != nil {
		t.Fatal(err)
	}
	var asked []api.ListRequest
	to := apitest.Serve(t, &apitest.Backend{OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
		asked = append(asked, r)
		one := api.Instance{Instance: instance, Process: "p@1", State: api.InstanceRunning, Suspended: true, Started: at}
		two := one
		two.InError = 2
		return api.ListAnswer{Instances: []api.Instance{one, two}}, nil
	}})
	r := fmqm(to, "", "list", "--state", "suspended")
	if r.code != 0 || !strings.Contains(r.out, "running (suspended)") || !strings.Contains(r.out, "running (2 in error, suspended)") {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
	if len(asked) != 1 || asked[0].State != api.InstanceSuspended {
		t.Errorf("asked for %+v", asked)
	}
}
