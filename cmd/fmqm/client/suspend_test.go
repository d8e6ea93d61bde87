package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
)

// N31: of many that are resumed those of which nothing is suspended are as was wanted; what is refused for another reason has failed.
func TestN31ResumeOfManyTakesWhatIsNotSuspended(t *testing.T) {
	var suspends []api.Suspend
	to := apitest.Serve(t, &apitest.Backend{
		OnResume: func(context.Context, api.InstanceID, api.ResumeRequest) (api.Word, error) {
			return api.Word{}, api.Errorf(api.CodeRefused, "", "not so")
		},
		OnList: func(context.Context, api.ListRequest) (api.ListAnswer, error) {
			return api.ListAnswer{Instances: []api.Instance{{Instance: uuid.MustParse(id), Process: "p@2", State: api.InstanceRunning, Origin: "A"}}}, nil
		},
		OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
			return api.Status{Instance: i, Process: "p@2", State: api.InstanceRunning, Suspends: suspends}, nil
		},
	})
	if r := fmqm(to, "", "resume", "--process", "p", "--yes"); r.code != 0 || !strings.Contains(r.out, "done") {
		t.Errorf("nothing is suspended: exit %d, printed\n%s%s", r.code, r.out, r.err)
	}
	suspends = []api.Suspend{{By: "olga"}}
	if r := fmqm(to, "", "resume", "--process", "p", "--yes"); r.code != 4 || !strings.Contains(r.out, "failed") {
		t.Errorf("it is suspended: exit %d, printed\n%s%s", r.code, r.out, r.err)
	}
	if r := fmqm(to, "", "resume", id); r.code != 4 {
		t.Errorf("one alone: exit %d, said %s", r.code, r.err)
	}
}

// Of a site that does not answer nobody knows whether it has heard of a word.
func TestPendingSaysWhatIsNotKnown(t *testing.T) {
	word := uuid.MustParse(id)
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
		return api.Status{
			Pending:     []api.Pending{{Word: "resume", ID: word, Node: "LAB"}, {Word: "resume", ID: word, Node: "WARD", LastHeard: at}},
			Unreachable: []api.Unreachable{{Node: "WARD", LastHeard: at}},
		}, nil
	}})
	r := fmqm(to, "", "status", id)
	for _, line := range []string{
		"pending      LAB has not heard of the resume " + id + "\n",
		"pending      WARD may not have heard of the resume " + id + ", last heard 2025-06-01 12:00:00\n",
	} {
		if !strings.Contains(r.out, line) {
			t.Errorf("there is no %q in\n%s", line, r.out)
		}
	}
}

// Of one of many of which no answer came nobody knows whether it was done, and only a restart may be done twice.
func TestManySaysWhatMayHaveBeenDone(t *testing.T) {
	to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"instance": "`+id+`", "instances": [{"instance": "`+id+`", "process": "p@2", "state": "running", "origin": "A"}],
			"activities": [{"activity": "sign", "node": "A", "state": "terminated"}]}`)
	}))
	const unsure = "broke: EOF; it may have been done: check that the node runs and try again; fmqm status says whether it was"
	for _, c := range []struct{ line, said string }{
		{"suspend --process p --yes", unsure + ", and a repeat is safe\n"},
		{"restart sign --process p --yes", unsure + "\n"},
	} {
		if r := fmqm(to, "", strings.Fields(c.line)...); r.code != 5 || !strings.Contains(r.out, c.said) {
			t.Errorf("%s: exit %d, printed\n%s%s", c.line, r.code, r.out, r.err)
		}
	}
}
