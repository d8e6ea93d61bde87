package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// Whatever comes in, a request is taken or answered with an error that says what to do.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", `{"instance": "` + id + `", "process": "p@1", "input": {"a": [1, {"b": null}]}}`,
		`{"tables": [{"node": "A", "process": "p@1", "definition": "", "sha256": "", "table": ""}], "plan_only": true}`,
		`{"activity": "a", "output": {}}`, `{"a":{"a":{"a":[[[]]]}}}`, "{\"process\": \"\\ud800\"}",
	} {
		f.Add("/v1/instances", body)
		f.Add("/v1/upload", body)
		f.Add("/v1/instances/"+id+"/retry", body)
	}
	b := &apitest.Backend{
		OnStart:  func(context.Context, api.StartRequest) (api.Status, error) { return api.Status{}, nil },
		OnUpload: func(context.Context, api.UploadRequest) (api.UploadAnswer, error) { return api.UploadAnswer{}, nil },
		OnRetry:  func(context.Context, api.InstanceID, api.RetryRequest) (api.Word, error) { return api.Word{}, nil },
	}
	known := map[string]bool{"/v1/instances": true, "/v1/upload": true, "/v1/instances/" + id + "/retry": true}
	f.Fuzz(func(t *testing.T, path, body string) {
		if !known[path] {
			return
		}
		r, answer := request(t, b, http.MethodPost, path, body)
		var e struct {
			Error *api.Error `json:"error"`
		}
		if err := json.Unmarshal([]byte(answer), &e); err != nil {
			t.Fatalf("answer %q: %v", answer, err)
		}
		if r != http.StatusOK && (e.Error == nil || e.Error.Message == "" || e.Error.Remedy == "") {
			t.Errorf("status %d without a message and a remedy: %s", r, answer)
		}
		if r == http.StatusOK && !json.Valid([]byte(body)) {
			t.Errorf("accepted %q", body)
		}
	})
}
