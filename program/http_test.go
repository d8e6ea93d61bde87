package program_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/program"
)

// serve gives the spec of an http program that a test's handler is.
func serve(t *testing.T, h http.HandlerFunc) program.Spec {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return program.Spec{Kind: program.KindHTTP, URL: s.URL + "/notify"}
}

func TestHTTPPostsTheInputWithTheFactsAsHeaders(t *testing.T) {
	got := map[string]string{}
	spec := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got["request"], got["body"] = r.Method+" "+r.URL.Path, string(body)
		for _, h := range []string{"Content-Type", "Process", "Instance", "Activity", "Scope", "Iteration", "Attempt", "Idempotency-Key", "Node"} {
			name := h
			if h != "Content-Type" {
				name = "Fmqm-" + h
			}
			got[h] = r.Header.Get(name)
		}
		_, _ = io.WriteString(w, `{"quantity": 9}`)
	})
	r := register(t, spec, program.Options{}).Run(context.Background(), call(t))
	if out := json(t, r.Output); r.Err != nil || r.RC != 0 || out != `{"customer":"","quantity":9,"limit":2.5}` {
		t.Errorf("rc %d, output %s, error %v", r.RC, out, r.Err)
	}
	want := map[string]string{
		"request": "POST /notify", "body": `{"customer":"ann","quantity":4,"limit":2.5}`, "Content-Type": "application/json",
		"Process": "purchase-order@1", "Instance": "0197c0de-0000-7000-8000-000000000001", "Activity": "credit",
		"Scope": "orders#4/credit", "Iteration": "2", "Attempt": "3", "Idempotency-Key": ownKey, "Node": "B",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
}

// P3: which answers are return codes, and which are failed attempts.
func TestHTTPAnswers(t *testing.T) {
	for _, tc := range []struct {
		name       string
		status     int
		body       string
		noOutput   bool
		rcContinue bool
		rc         int64
		output     string
		err        []string
	}{
		{name: "204 without a body", status: 204, output: `{"customer":"","quantity":0,"limit":2.5}`},
		{name: "404 is a return code", status: 404, body: "<html>", rc: 404, output: `{"customer":"","quantity":0,"limit":2.5}`},
		{name: "so is a redirect", status: 307, rc: 307, output: `{"customer":"","quantity":0,"limit":2.5}`},
		{name: "200 with no container", status: 200, body: "<html>", err: []string{"the output is not a container of type Order"}},
		{name: "200 with anything, where no output is named", status: 200, body: "<html>", noOutput: true, output: `{}`},
		{name: "408", status: 408, rc: 408, err: []string{"answered 408 Request Timeout"}},
		{name: "425", status: 425, rc: 425, err: []string{"answered 425 Too Early"}},
		{name: "429", status: 429, rc: 429, err: []string{"answered 429 Too Many Requests"}},
		{name: "503", status: 503, rc: 503, err: []string{"answered 503 Service Unavailable", "`retry`"}},
		{name: "503 with on_rc: continue", status: 503, rcContinue: true, rc: 503, output: `{"customer":"","quantity":0,"limit":2.5}`},
		{name: "over the limit", status: 200, body: string(make([]byte, 2000)), err: []string{"answered with more than 1024 bytes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			c := call(t)
			c.NoOutput, c.RCContinue = tc.noOutput, tc.rcContinue
			if tc.noOutput {
				c.OutputType = container.Empty
			}
			r := register(t, spec, program.Options{MaxOutput: 1024}).Run(context.Background(), c)
			if r.RC != tc.rc {
				t.Errorf("rc %d, want %d", r.RC, tc.rc)
			}
			if tc.err != nil {
				wantError(t, r.Err, tc.err...)
				return
			}
			if got := json(t, r.Output); r.Err != nil || got != tc.output {
				t.Errorf("output %s, error %v; want %s", got, r.Err, tc.output)
			}
		})
	}
}

func TestHTTPWithoutAnAnswerIsAFailedAttempt(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	spec := program.Spec{Kind: program.KindHTTP, URL: s.URL}
	s.Close()
	wantError(t, register(t, spec, program.Options{}).Run(context.Background(), call(t)).Err,
		"no answer from "+s.URL, "connection refused", "check that the service runs")
}

func TestHTTPIsEndedByItsTimeoutAndByItsNode(t *testing.T) {
	spec := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client go
		<-r.Context().Done()
	})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, register(t, spec, program.Options{}).Run(canceled, call(t)).Err, "stopped by the node")
	spec.Timeout = 20 * time.Millisecond
	wantError(t, register(t, spec, program.Options{}).Run(context.Background(), call(t)).Err, "overran its timeout of 20ms")
}
