package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/api/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "0197c0de-0000-7000-8000-000000000001"

func instance(t *testing.T) api.InstanceID {
	t.Helper()
	i, err := api.ParseInstance(id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// request asks a backend that expects nothing, and gives status and body.
func request(t *testing.T, b api.Backend, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	api.Handler(b).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Every malformed request, with the message that it gets. The backend expects nothing,
// so none of them reaches it.
func TestMalformedRequests(t *testing.T) {
	const start, retry, upload = "/v1/instances", "/v1/instances/" + id + "/retry", "/v1/upload"
	const version4, otherVariant = "0197c0de-0000-4000-8000-000000000001", "0197c0de-0000-7000-c000-000000000001"
	good := `"instance": "` + id + `", "process": "p"`
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     api.Code
		message                  string // and remedy
	}{
		{name: "no content type", path: start, body: "{}", header: []string{"Content-Type", ""}, message: `the request's Content-Type is "": send application/json`},
		{name: "form", path: start, body: "a=b", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, message: `the request's Content-Type is "application/x-www-form-urlencoded": send application/json`},
		{name: "empty", path: start, body: " ", message: "the request is empty: send one JSON object"},
		{name: "not UTF-8", path: start, body: "{\"process\": \"\xff\"}", message: "the request is not valid UTF-8: send UTF-8"},
		{name: "no JSON", path: start, body: "hello", message: "the request is not JSON at byte 1: invalid character 'h' looking for beginning of value: send one JSON object"},
		{name: "half of it", path: start, body: `{"process": "p"`, message: "the request ends in the middle of its JSON: send one whole JSON object"},
		{name: "a list", path: start, body: `[]`, message: "the request is not an object: send an object"},
		{name: "null", path: start, body: `null`, message: "the request is not an object: send an object"},
		{name: "something after it", path: start, body: `{} {}`, message: "the request has something after byte 4, where its object ends: send one JSON object and nothing else"},
		{name: "unknown member", path: start, body: `{"proces": "p"}`, message: "unknown member proces: did you mean process?"},
		{name: "unknown member, none near", path: start, body: `{"xyzzy": "p"}`, message: "unknown member xyzzy: remove it; there are instance, process, input, key, priority"},
		{name: "other case", path: start, body: `{"Process": "p"}`, message: "unknown member Process: did you mean process?"},
		{name: "twice", path: start, body: `{"process": "p", "process": "q"}`, message: "process is there twice: send it once"},
		{name: "wrong type", path: start, body: `{"process": 5}`, message: "process is a JSON number: send a string"},
		{name: "no UUID", path: start, body: `{"instance": "x", "process": "p"}`, message: "instance: invalid UUID length: 1: send a UUID in a string, such as " + id},
		{name: "no instance", path: start, body: `{"process": "p"}`, message: "instance is missing: send a UUIDv7, and the same one when you repeat the request"},
		{name: "no process", path: start, body: `{"instance": "` + id + `"}`, message: "process is missing: send NAME or NAME@VERSION"},
		{name: "key too long", path: start, body: `{` + good + `, "key": "` + strings.Repeat("k", api.MaxKey+1) + `"}`, message: "the key has over 1024 bytes: use something short, such as a date or an order number"},
		{name: "input is no object", path: start, body: `{` + good + `, "input": [1]}`, message: `input is not a JSON object: send an object, such as {"customer": "ann"}`},
		{name: "too large", path: start, body: `{"process": "` + strings.Repeat("x", api.MaxStart) + `"}`, message: "the request is over 9437184 bytes: send less at once"},
		{name: "retry without activity", path: retry, body: `{}`, message: "activity is missing: send the name of the activity that is in error"},
		{name: "retry's output", path: retry, body: `{"activity": "a", "output": "x"}`, message: `output is not a JSON object: send an object, such as {"customer": "ann"}`},
		{name: "retry's reason", path: retry, body: `{"activity": "a", "reason": "` + strings.Repeat("x", api.MaxReason+1) + `"}`, message: "reason is too long, or no text: write at most 1024 bytes of UTF-8"},
		{name: "retry's word of version 4", path: retry, body: `{"activity": "a", "word": "` + version4 + `"}`, message: "word " + version4 + " is no UUIDv7: send the identifier that the first answer gave, or none"},
		{name: "retry's word of another variant", path: retry, body: `{"activity": "a", "word": "` + otherVariant + `"}`, message: "word " + otherVariant + " is no UUIDv7: send the identifier that the first answer gave, or none"},
		{name: "retry that was asked before", path: retry, body: `{"activity": "a", "asked": true}`, message: "a retry that was asked before is asked for, and word is missing: send the identifier that the first answer gave, as word"},
		{name: "terminate with members", path: "/v1/instances/" + id + "/terminate", body: `{"now": true}`, message: "unknown member now: remove it; there are process, reason"},
		{name: "terminate's reason", path: "/v1/instances/" + id + "/terminate", body: `{"reason": "` + strings.Repeat("x", api.MaxReason+1) + `"}`, message: "reason is too long, or no text: write at most 1024 bytes of UTF-8"},
		{name: "upload of nothing", path: upload, body: `{}`, message: "tables is missing or empty: send the tables of a compiled process"},
		{name: "tables is no list", path: upload, body: `{"tables": {}}`, message: "tables is not a list: send a list"},
		{name: "a table is null", path: upload, body: `{"tables": [null]}`, message: "tables[0] is not an object: send an object"},
		{name: "a table's member", path: upload, body: `{"tables": [{}, {"nod": "A"}]}`, message: "unknown member tables[1].nod: did you mean node?"},
		{name: "a table's member twice", path: upload, body: `{"tables": [{"node": "A", "node": "B"}]}`, message: "tables[0].node is there twice: send it once"},
		{name: "a table's type", path: upload, body: `{"tables": [{"table": 5}]}`, message: "tables[0].table is a JSON number: send base64 in a string"},
		{name: "no base64", path: upload, body: `{"tables": [{"table": "*"}]}`, message: "tables[0].table: illegal base64 data at input byte 0: send base64 in a string"},
		{name: "plan_only is no bool", path: upload, body: `{"plan_only": 1}`, message: "plan_only is a JSON number: send true or false"},
		{
			name: "sha256 of another table", path: upload, body: `{"tables": [{"node": "A", "process": "p@1", "sha256": "00", "table": "eA=="}]}`,
			message: "tables[0]: the table of p@1 for node A does not have the sha256 that is given: send it again; sha256 is of the bytes of the table, in 64 lower-case hexadecimal digits",
		},
		{name: "no identifier", method: "GET", path: "/v1/instances/x", message: `"x" is not the identifier of an instance: write it as start and list print it, such as 0197c0de-0000-7000-8000-000000000001`},
		{name: "identifier in braces", method: "GET", path: "/v1/instances/%7B" + id + "%7D/why", message: `"{` + id + `}" is not the identifier of an instance: write it as start and list print it, such as 0197c0de-0000-7000-8000-000000000001`},
		{name: "watch of no identifier", method: "GET", path: "/v1/instances/x/watch", message: `"x" is not the identifier of an instance: write it as start and list print it, such as 0197c0de-0000-7000-8000-000000000001`},
		{name: "unknown parameter", method: "GET", path: "/v1/instances/" + id + "?wayt=1s", message: `unknown parameter "wayt": remove it; there are: wait, scope, tree, state, limit, after`},
		{name: "a long term", method: "GET", path: "/v1/instances?search=a%3D1&search=" + strings.Repeat("x", 9000), message: "search has 9000 bytes, and at most 8192 are allowed: send a shorter one"},
		{name: "parameter twice", method: "GET", path: "/v1/instances?all=true&all=false", message: "parameter all is there twice: send it once"},
		{name: "bad parameters", method: "GET", path: "/v1/instances?a=%zz", message: `the parameters cannot be read: invalid URL escape "%zz": write ?name=value&name=value`},
		{name: "wait too long", method: "GET", path: "/v1/instances/" + id + "?wait=2m", message: "wait=2m is out of range: send a duration from 0s to 1m, and ask again when it is over"},
		{name: "wait and scope", method: "GET", path: "/v1/instances/" + id + "?wait=1s&scope=a", message: "wait goes with no other parameter: wait first, and then ask for the activities"},
		{name: "tree and scope", method: "GET", path: "/v1/instances/" + id + "?tree=true&scope=a", message: "scope and tree do not go together: send one of them"},
		{name: "tree", method: "GET", path: "/v1/instances/" + id + "?tree=all", message: "tree=all is neither: send true or false"},
		{name: "state", method: "GET", path: "/v1/instances/" + id + "?state=running,broken", message: "state=running,broken: no activity is broken: send states of activities, with commas between them, such as running,in-error"},
		{name: "limit of activities", method: "GET", path: "/v1/instances/" + id + "?limit=0", message: "limit=0 is out of range: send a number from 1 to 1000, and ask for the next page with `after`"},
		{name: "a long path", method: "GET", path: "/v1/instances/" + id + "?after=" + strings.Repeat("a", api.MaxPath+1), message: "after has over 2048 bytes: write it as a status shows it, such as documents#2/check"},
		{name: "since", method: "GET", path: "/v1/instances/" + id + "/history?since=noon", message: "since=noon is no moment of the logical clock: send the clock of an event"},
		{name: "all", method: "GET", path: "/v1/instances?all=yes", message: "all=yes is neither: send true or false"},
		{name: "limit", method: "GET", path: "/v1/instances?limit=5000", message: "limit=5000 is out of range: send a number from 1 to 1000, and ask for the next page with `next`"},
		{name: "after", method: "GET", path: "/v1/instances?after=x", message: `"x" is not the identifier of an instance: write it as start and list print it, such as 0197c0de-0000-7000-8000-000000000001`},
		{name: "unknown request", method: "GET", path: "/v2/nodes", status: 404, message: "a node has no request GET /v2/nodes: see the documentation of the API; the node may be of another version than its caller"},
		{name: "limit of dead", method: "GET", path: "/v1/dead?limit=0", message: "limit=0 is out of range: send a number from 1 to 1000, and ask for the next page with `before`"},
		{name: "page of dead", method: "GET", path: "/v1/dead?before=x", message: "before=x is no number of a message: send the number of the last message of the page before"},
		{name: "wrong method", method: "DELETE", path: "/v1/nodes", status: 404, message: "a node has no request DELETE /v1/nodes: see the documentation of the API; the node may be of another version than its caller"},
		{name: "a page of another site", path: start, body: "{}", header: []string{"Origin", "https://evil.example.org"}, status: 403, code: api.CodeRefused, message: "the API is not for web browsers: use fmqm, curl or the like"},
		{name: "a browser", method: "GET", path: "/v1/nodes", header: []string{"User-Agent", "Mozilla/5.0"}, status: 403, code: api.CodeRefused, message: "the API is not for web browsers: use fmqm, curl or the like"},
		{name: "a browser's script", method: "GET", path: "/v1/nodes", header: []string{"Sec-Fetch-Site", "same-origin"}, status: 403, code: api.CodeRefused, message: "the API is not for web browsers: use fmqm, curl or the like"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.status == 0 {
				tc.status, tc.code = http.StatusBadRequest, api.CodeUsage
			}
			if tc.code == "" {
				tc.code = api.CodeUsage
			}
			status, body := request(t, &apitest.Backend{}, tc.method, tc.path, tc.body, tc.header...)
			var answer struct {
				Error *api.Error `json:"error"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error == nil {
				t.Fatalf("answer %q: %v", body, err)
			}
			if status != tc.status || answer.Error.Code != tc.code || answer.Error.Error() != tc.message {
				t.Errorf("got %d %s %q\nwant %d %s %q", status, answer.Error.Code, answer.Error.Error(), tc.status, tc.code, tc.message)
			}
		})
	}
}

func TestErrorsOfTheBackendKeepTheirCode(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		body   string
	}{
		{api.Errorf(api.CodeNotFound, "r", "m"), 404, `{"error":{"code":"not-found","message":"m","remedy":"r"}}`},
		{api.Errorf(api.CodeRefused, "", "a < b"), 409, `{"error":{"code":"refused","message":"a < b"}}`},
		{api.Errorf(api.CodeUsage, "", "m"), 400, `{"error":{"code":"usage","message":"m"}}`},
		{api.Errorf(api.CodeUnreachable, "", "m"), 504, `{"error":{"code":"unreachable","message":"m"}}`},
		{errors.New("boom"), 500, `{"error":{"code":"failed","message":"boom","remedy":"see the log of the node"}}`},
		{context.DeadlineExceeded, 504, `{"error":{"code":"unreachable","message":"the node did not finish in time: context deadline exceeded","remedy":"try again"}}`},
	} {
		b := &apitest.Backend{OnNodes: func(context.Context) (api.NodesAnswer, error) { return api.NodesAnswer{}, tc.err }}
		if status, body := request(t, b, http.MethodGet, "/v1/nodes", ""); status != tc.status || body != tc.body+"\n" {
			t.Errorf("got %d %s, want %d %s", status, body, tc.status, tc.body)
		}
	}
}

// The keys of the JSON are API: this is the status as it is documented.
func TestTheShapeOfAStatus(t *testing.T) {
	rc := int64(0)
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	b := &apitest.Backend{OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
		return api.Status{
			Instance: i, Process: "purchase-order@1", State: api.InstanceFinished, Started: at, Ended: at.Add(time.Second),
			Output: json.RawMessage(`{"tracking":"<1>"}`),
			Activities: []api.Activity{
				{Activity: "credit", Node: "B", State: api.ActivityTerminated, Iterations: 2, RC: &rc, Started: at, Ended: at, Output: json.RawMessage(`{"approved":true}`)},
				{Activity: "reject", Node: "D", State: api.ActivitySkipped},
			},
		}, nil
	}}
	status, body := request(t, b, http.MethodGet, "/v1/instances/"+id, "")
	want := `{"instance":"` + id + `","process":"purchase-order@1","state":"finished","started":"2025-06-01T12:00:00Z","ended":"2025-06-01T12:00:01Z","output":{"tracking":"<1>"},` +
		`"activities":[{"activity":"credit","node":"B","state":"terminated","iterations":2,"rc":0,"started":"2025-06-01T12:00:00Z","ended":"2025-06-01T12:00:00Z","output":{"approved":true}},` +
		`{"activity":"reject","node":"D","state":"skipped"}],"unreachable":[]}` + "\n"
	if status != 200 || body != want {
		t.Errorf("got %d\n%s\nwant\n%s", status, body, want)
	}
}

func TestListsThatAreEmptyAreListsInJSON(t *testing.T) {
	b := &apitest.Backend{
		OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return api.Status{}, nil },
		OnList:  func(context.Context, api.ListRequest) (api.ListAnswer, error) { return api.ListAnswer{}, nil },
		OnDead:  func(context.Context, api.RefusedRequest) (api.RefusedAnswer, error) { return api.RefusedAnswer{}, nil },
		OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
			return api.HistoryAnswer{}, nil
		},
		OnWhy: func(context.Context, api.InstanceID, api.WhyRequest) (api.WhyAnswer, error) {
			return api.WhyAnswer{}, nil
		},
		OnNodes:       func(context.Context) (api.NodesAnswer, error) { return api.NodesAnswer{}, nil },
		OnDefinitions: func(context.Context) (api.DefinitionsAnswer, error) { return api.DefinitionsAnswer{}, nil },
	}
	for path, want := range map[string]string{
		"/v1/instances":                    `{"instances":[],"more":false}`,
		"/v1/instances/" + id + "/history": `{"events":[],"unreachable":[]}`,
		"/v1/instances/" + id + "/why":     `{"instance":"00000000-0000-0000-0000-000000000000","process":"","state":"","waits":[],"unreachable":[]}`,
		"/v1/nodes":                        `{"nodes":[]}`,
		"/v1/dead":                         `{"messages":[],"more":false}`,
		"/v1/definitions":                  `{"definitions":[]}`,
	} {
		if status, body := request(t, b, http.MethodGet, path, ""); status != 200 || body != want+"\n" {
			t.Errorf("%s: got %d %s, want %s", path, status, body, want)
		}
	}
}

func TestAWaitEndsWithItsTime(t *testing.T) {
	b := &apitest.Backend{OnWait: func(ctx context.Context, i api.InstanceID) (api.Status, error) {
		<-ctx.Done()
		return api.Status{Instance: i, State: api.InstanceRunning}, nil
	}}
	status, body := request(t, b, http.MethodGet, "/v1/instances/"+id+"?wait=1ms", "")
	if status != 200 || !strings.Contains(body, `"state":"running"`) {
		t.Errorf("got %d %s", status, body)
	}
}

func TestAnAnswerThatCannotBeEncodedSaysSo(t *testing.T) {
	b := &apitest.Backend{OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
		return api.Status{Output: json.RawMessage(`{`)}, nil
	}}
	status, body := request(t, b, http.MethodGet, "/v1/instances/"+id, "")
	if status != 500 || !strings.Contains(body, "the answer cannot be encoded") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestWatchStreamsEventsThenTheErrorThatEndedIt(t *testing.T) {
	b := &apitest.Backend{OnWatch: func(_ context.Context, _ api.InstanceID, event func(api.HistoryEvent) error) error {
		if err := event(api.HistoryEvent{Clock: 1, Node: "A", Activity: "source", Event: api.EventStarted}); err != nil {
			return err
		}
		return errors.New("boom")
	}}
	status, body := request(t, b, http.MethodGet, "/v1/instances/"+id+"/watch", "")
	want := `{"clock":1,"time":"0001-01-01T00:00:00Z","node":"A","activity":"source","event":"started"}` + "\n" +
		`{"error":{"code":"failed","message":"boom","remedy":"see the log of the node"}}` + "\n"
	if status != 200 || body != want {
		t.Errorf("got %d\n%s\nwant\n%s", status, body, want)
	}
}

func TestRequestsReachTheBackendWhole(t *testing.T) {
	var got []any
	b := &apitest.Backend{
		OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
			got = append(got, r)
			return api.Status{}, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			got = append(got, r)
			return api.ListAnswer{}, nil
		},
		OnRetry: func(_ context.Context, _ api.InstanceID, r api.RetryRequest) (api.Word, error) {
			got = append(got, r)
			return api.Word{}, nil
		},
	}
	for _, r := range [][3]string{
		{"POST", "/v1/instances", ` {"instance": "` + id + `", "process": "p@2", "input":  {"a": 1} } `},
		{"POST", "/v1/instances", `{"instance": "` + id + `", "process": "p", "input": null}`},
		{"GET", "/v1/instances?all=true&limit=7&after=" + id, ""},
		{"GET", "/v1/instances", ""},
		{"GET", "/v1/instances?everywhere=true&state=in-error&process=p@2&in_error=true&since=2025-06-01T12:00:00Z&next=there", ""},
		{"POST", "/v1/instances/" + id + "/retry", `{"activity": "a", "output": {}}`},
		{"POST", "/v1/instances/" + id + "/retry", `{"activity": "a", "output": null}`},
	} {
		if status, body := request(t, b, r[0], r[1], r[2]); status != 200 {
			t.Errorf("%s %s: %d %s", r[0], r[1], status, body)
		}
	}
	i := instance(t)
	want := []any{
		api.StartRequest{Instance: i, Process: "p@2", Input: json.RawMessage(`{"a": 1}`)},
		api.StartRequest{Instance: i, Process: "p"},
		api.ListRequest{All: true, Limit: 7, After: i},
		api.ListRequest{Limit: api.MaxPage},
		api.ListRequest{
			Everywhere: true, State: api.InstanceInError, Process: "p@2", InError: true,
			Since: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC), Next: "there", Limit: api.MaxPage,
		},
		api.RetryRequest{Activity: "a", Output: json.RawMessage(`{}`)},
		api.RetryRequest{Activity: "a"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestARequestThatBreaksOffIsRefused(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/v1/instances", io.MultiReader(strings.NewReader(`{"process": `), brokenReader{}))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.Handler(&apitest.Backend{}).ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "the request broke off: gone") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("gone") }
