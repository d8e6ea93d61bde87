package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"fmqm/api"
)

// A web page whose own name leads to this machine (DNS rebinding) gets no answer,
// whatever it asks with; who calls the address, or the machine by its name, does.
func TestNoOtherNameLeadsHere(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h := api.OwnHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "a.example.org:7411")
	for host, want := range map[string]int{
		"127.0.0.1:7411": 200, "127.0.0.1": 200, "[::1]:7411": 200, "[::1]": 200, "10.1.2.3:80": 200,
		"localhost:7411": 200, "LocalHost": 200, "a.example.org": 200, "A.Example.org:7411": 200, machine + ":7411": 200,
		"evil.example": 403, "evil.example:7411": 403, "": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:7411": 403, "2130706433": 403,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequest(method, "/v1/nodes", nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want || want == 403 && !strings.Contains(w.Body.String(), "call it by its address, or write the name into `listen`") {
				t.Errorf("%s %q: %d %s", method, host, w.Code, w.Body)
			}
		}
	}
}
