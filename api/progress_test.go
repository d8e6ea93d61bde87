package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// Who asked for it is told how much of a request went out, to its end; the node gets the
// same request.
func TestProgressOfARequest(t *testing.T) {
	var got api.RetryRequest
	to := apitest.Serve(t, &apitest.Backend{OnRetry: func(_ context.Context, _ api.InstanceID, r api.RetryRequest) (api.Word, error) {
		got = r
		return api.Word{}, nil
	}})
	client, err := api.NewClient(to, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var mu sync.Mutex
	var last, total, calls int64
	ctx := api.WithProgress(t.Context(), func(sent, of int64) {
		mu.Lock()
		defer mu.Unlock()
		if sent <= last || sent > of {
			t.Errorf("%d of %d after %d", sent, of, last)
		}
		last, total = sent, of
		calls++
	})
	output := `{"x":"` + strings.Repeat("y", 200_000) + `"}`
	if _, err := client.Retry(ctx, instance(t), api.RetryRequest{Activity: "a", Output: []byte(output)}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if last != total || total < 200_000 || calls < 2 || string(got.Output) != output {
		t.Errorf("%d of %d in %d calls, and %d bytes arrived", last, total, calls, len(got.Output))
	}
}
