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

// A notice is taken off, with or without a terminal: there is nothing of it to complete.
func TestANoticeIsTakenOff(t *testing.T) {
	to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"item": "4f1c2b9d03aa", "kind": "notice", "activity": "approve", "process": "P@1"}`)
	}))
	taken := result{0, "", "taken off the worklists: notice 4f1c2b9d03aa, approve of P@1\n"}
	want(t, "without a terminal", fmqm(to, "", "work", "complete", "4f1c2b9d03aa"), taken)
	client.OnATerminal(t)
	want(t, "on a terminal", fmqm(to, "", "work", "complete", "4f1c2b9d03aa"), taken)
}

// What nobody here may have shows how it goes on: of a notice why has nothing to say.
func TestWhoGoesOnWithWhatNobodyMayHave(t *testing.T) {
	for kind, said := range map[string]string{
		"notice": "eligible    nobody here: who administers the process may take it off: fmqm work complete 4f1c2b9d03aa\n",
		"work":   "eligible    nobody here: see fmqm why 0197c0de-0000-7000-8000-000000000001\n",
	} {
		to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"item": "4f1c2b9d03aa", "kind": "`+kind+`", "instance": "`+id+`"}`)
		}))
		if r := fmqm(to, "", "work", "show", "4f1c2b9d03aa"); !strings.Contains(r.out, said) {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}
