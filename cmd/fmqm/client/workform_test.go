package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"fmqm/api/apitest"
	"fmqm/cmd/fmqm/client"
)

// Nobody fills in a form of which it is known that it will be refused; and what was filled in is not lost where it was.
func TestAFormOfWhatSomebodyElseHas(t *testing.T) {
	client.OnATerminal(t)
	holder, puts := "", 0
	to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			puts++
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error": {"code": "refused", "message": "bob@A has claimed it"}}`)
		case strings.HasSuffix(r.URL.Path, "/whoami"):
			_, _ = io.WriteString(w, `{"node": "A", "person": "ann@A"}`)
		default:
			_, _ = io.WriteString(w, `{"item": "4f1c2b9d03aa", "title": "Assess", "claimed_by": "`+holder+`", "input": {"number": "K-7"}, "output_type": [{"name": "sum", "type": "double"}]}`)
		}
	}))
	for _, c := range []struct {
		holder, verb, said string
		puts               int
	}{
		{"bob@A", "complete", "bob@A has claimed item 4f1c2b9d03aa", 0},
		{"", "save", "nobody has claimed item 4f1c2b9d03aa: claim it first: fmqm work claim 4f1c2b9d03aa", 0},
		{"", "complete", `you have filled in: {"sum":800}`, 1},
		{"ann@A", "save", "number: K-7", 1},
	} {
		holder, puts = c.holder, 0
		r := fmqm(to, "800\n", "work", c.verb, "4f1c2b9d03aa")
		if r.code != 4 || puts != c.puts || !strings.Contains(r.err, c.said) {
			t.Errorf("%s of what %q has: exit %d, %d words, said\n%s", c.verb, c.holder, r.code, puts, r.err)
		}
	}
}
