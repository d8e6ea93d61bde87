package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"fmqm/api/apitest"
	"fmqm/cmd/fmqm/client"
	"fmqm/cmd/internal/cli/clitest"
)

// A format that is none is said before anything is asked of a node, by every command.
func TestAWrongFormatAsksNothing(t *testing.T) {
	var asked []string
	to := apitest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Method+" "+r.URL.Path) }))
	run := func(args []string) (int, string, string) {
		asked = nil
		r := fmqm(to, "", args...)
		return r.code, r.err, r.out + strings.Join(asked, ", ")
	}
	clitest.Formats(t, client.App(), map[string]string{
		"INSTANCE": id, "ACTIVITY": "credit", "PRIORITY": "7", "PEER": "B", "NUMBER": "7", "PROCESS[@VERSION": "p@1", "PROCESS": "p", "NAME": "paid", "ID": "x", "ITEM": "4f1c2b9d03aa", "PERSON": "bob",
		"rebuild": "--all --yes", "finish": "--output {}", "work save": "--output {}",
	}, run)
	for _, args := range [][]string{
		{"retry", "--in-error", "--yes"},
		{"terminate", "--in-error", "--yes"},
		{"start", "p@1", "--instance", id, "--yes"},
		{"start", "p@1", "-n", "3", "--wait"},
		{"nodes", "--wait"},
	} {
		if code, said, did := run(slices.Concat(args, []string{"-o", "xml"})); code != 2 || did != "" {
			t.Errorf("%v: exit %d, said %q, did %q", args, code, said, did)
		}
	}
}
