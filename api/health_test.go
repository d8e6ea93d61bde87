package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"fmqm/api"
)

// patient answers with what it was given.
type patient struct{ live, ready api.Health }

func (p patient) Live(context.Context) api.Health  { return p.live }
func (p patient) Ready(context.Context) api.Health { return p.ready }

func health(checks ...api.HealthCheck) api.Health {
	h := api.Health{State: api.HealthOK}
	for _, c := range checks {
		h.Add(c.Name, c.State, c.Reason)
	}
	return h
}

// The whole is as good as the worst part; degraded is still ready; only what has failed
// is 503; the body says what.
func TestHealth(t *testing.T) {
	good := api.HealthCheck{Name: "committer", State: api.HealthOK}
	link := api.HealthCheck{Name: "link B", State: api.HealthDegraded, Reason: "connecting"}
	dead := api.HealthCheck{Name: "committer", State: api.HealthFailed, Reason: "it did not answer in time"}
	p := patient{live: health(good), ready: health(good, link)}
	for _, tc := range []struct {
		of     patient
		path   string
		method string
		status int
		body   string
	}{
		{p, "/livez", "GET", 200, `{"state":"ok","checks":[{"name":"committer","state":"ok"}]}` + "\n"},
		{p, "/readyz", "GET", 200, `{"state":"degraded","checks":[{"name":"committer","state":"ok"},{"name":"link B","state":"degraded","reason":"connecting"}]}` + "\n"},
		{patient{live: health(dead), ready: health(dead, link)}, "/livez", "GET", 503, `{"state":"failed","checks":[{"name":"committer","state":"failed","reason":"it did not answer in time"}]}` + "\n"},
		{patient{ready: health(dead, link)}, "/readyz", "GET", 503, `{"state":"failed","checks":[{"name":"committer","state":"failed","reason":"it did not answer in time"},{"name":"link B","state":"degraded","reason":"connecting"}]}` + "\n"},
		{patient{live: api.Health{State: api.HealthOK}}, "/livez", "GET", 200, `{"state":"ok","checks":[]}` + "\n"},
		{p, "/livez", "HEAD", 200, ""},
		{p, "/livez", "POST", 405, "Method Not Allowed\n"},
	} {
		server := httptest.NewServer(api.HealthHandler(tc.of))
		status, body := fetch(t, server, tc.method, tc.path)
		server.Close()
		if status != tc.status || body != tc.body {
			t.Errorf("%s %s: %d %s, want %d %s", tc.method, tc.path, status, body, tc.status, tc.body)
		}
	}
}

func fetch(t *testing.T, server *httptest.Server, method, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	return resp.StatusCode, string(body)
}
