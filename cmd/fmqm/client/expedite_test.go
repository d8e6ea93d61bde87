package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
)

// N31: an instance gets the priority that is written, 9 where none is; many get it with --yes only; and what is no priority is
// refused before anybody is asked.
func TestExpedite(t *testing.T) {
	var asked []string
	to := apitest.Serve(t, &apitest.Backend{
		OnExpedite: func(_ context.Context, i api.InstanceID, r api.ExpediteRequest) (api.Word, error) {
			asked = append(asked, fmt.Sprintf("%v %d %s", i == uuid.MustParse(id), r.Priority, r.Reason))
			return api.Word{Instance: i, Word: "expedite", Result: api.WordDone}, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			return api.ListAnswer{Instances: []api.Instance{{Instance: uuid.MustParse(id), Process: r.Process + "@2", State: api.InstanceRunning, Origin: "A"}}}, nil
		},
		OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
			asked = append(asked, fmt.Sprint("start ", *r.Priority))
			return api.Status{Instance: r.Instance, Process: "p@1", State: api.InstanceRunning, Priority: r.Priority}, nil
		},
	})
	for _, tc := range []struct {
		line, did, out string
		code           int
	}{
		{"expedite " + id, "true 9 ", "", 0},
		{"expedite " + id + " 0 --reason why", "true 0 why", "", 0},
		{"expedite --process p", "", "expedite", 0},
		{"expedite --process p --yes", "true 9 ", "done", 0},
		{"expedite --process p 7 --yes", "true 7 ", "done", 0},
		{"expedite " + id + " 10", "", "", 2},
		{"expedite --process p high --yes", "", "", 2},
		{"expedite", "", "", 2},
		{"start p --priority 0", "start 0", "priority     0\n", 0},
		{"start p --priority 12", "", "", 2},
	} {
		asked = nil
		r := fmqm(to, "", strings.Fields(tc.line)...)
		if did := strings.Join(asked, "; "); r.code != tc.code || did != tc.did || !strings.Contains(r.out, tc.out) {
			t.Errorf("fmqm %s: exit %d, did %q, printed\n%s%s", tc.line, r.code, did, r.out, r.err)
		}
	}
}
