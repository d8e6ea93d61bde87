package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// rebuilder is a node that notes what it is asked.
type rebuilder struct {
	apitest.Backend
	asked []api.RebuildRequest
}

func (r *rebuilder) Rebuild(_ context.Context, q api.RebuildRequest) (api.RebuildAnswer, error) {
	r.asked = append(r.asked, q)
	return api.RebuildAnswer{Rebuilds: []api.Rebuild{{Node: "A", Peer: q.Peer, Stage: api.RebuildPlanned}}}, nil
}

// A plan is asked for by GET, the deed by POST, of one node or of all.
func TestRebuildRequests(t *testing.T) {
	b := &rebuilder{}
	server := httptest.NewServer(api.Handler(b))
	defer server.Close()
	client, err := api.NewClient(server.URL, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	want := []api.RebuildRequest{{Peer: "B"}, {Peer: "B", Do: true}, {Peer: "B", All: true}, {Peer: "B", All: true, Do: true}}
	for _, q := range want {
		a, err := client.Rebuild(t.Context(), q)
		if err != nil || len(a.Rebuilds) != 1 || a.Rebuilds[0].Lacks == nil || a.Rebuilds[0].Unknown == nil || a.Rebuilds[0].Unasked == nil {
			t.Errorf("%+v: %+v %v", q, a, err)
		}
	}
	for i := range b.asked {
		if b.asked[i].Wait <= 0 {
			t.Errorf("%+v does not wait", b.asked[i])
		}
		b.asked[i].Wait = 0
	}
	if !slices.Equal(b.asked, want) {
		t.Errorf("asked %+v", b.asked)
	}
}

// What is malformed reaches no node, and one that does not rebuild says so.
func TestMalformedRebuildRequests(t *testing.T) {
	b := &rebuilder{}
	for _, tc := range []struct {
		b                  api.Backend
		method, path, body string
		status             int
		want               string
	}{
		{b, http.MethodGet, "/v1/rebuild/B?all=perhaps", "", 400, "all=perhaps is neither"},
		{b, http.MethodGet, "/v1/rebuild/B?some=true", "", 400, "unknown parameter"},
		{b, http.MethodPost, "/v1/rebuild/B", `{"yes": true}`, 400, "yes"},
		{&apitest.Backend{}, http.MethodPost, "/v1/rebuild/B", `{}`, 409, "this node rebuilds nothing"},
	} {
		status, body := request(t, tc.b, tc.method, tc.path, tc.body)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, body)
		}
	}
	if len(b.asked) > 0 {
		t.Errorf("asked %+v", b.asked)
	}
}
