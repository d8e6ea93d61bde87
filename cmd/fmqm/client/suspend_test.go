package client_test

import (
	"context"
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
