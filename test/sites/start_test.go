package sites

import (
	"encoding/json"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/test/fleet"
)

const smallProcess = `process: small
version: 1
structures:
  Note: {text: string}
input: Note
output: Note
activities:
  one: {node: A, program: pass, input: Note, output: Note}
  two: {node: B, program: pass, input: Note, output: Note}
control:
  - one -> two
data:
  - source -> one
  - one -> two
  - two -> sink
`

// instances gives the identifiers of all that were started at a site.
func instances(t *testing.T, s *site) []string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(fleet.Must(t, "fmqm", "list", "--all", "--to", s.To(), "-o", "jsonl")) {
		var i api.Instance
		if err := json.Unmarshal([]byte(line), &i); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.Instance.String())
	}
	return ids
}

// started gives the instance that a command has printed.
func started(t *testing.T, out string) string {
	t.Helper()
	var s api.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return s.Instance.String()
}

func smallNetwork(t *testing.T) *network {
	t.Helper()
	return smallNetworkWith(t, "")
}

// smallNetworkWith has the data of one site on a small disk, if one can be mounted.
func smallNetworkWith(t *testing.T, small string) *network {
	t.Helper()
	pass := []string{"pass: {builtin: echo}"}
	n := newNetworkOf(t, setup{programs: map[string][]string{"A": pass, "B": pass}, small: small})
	n.sites["A"].Upload(smallProcess)
	return n
}

// N2: whoever hears nothing of a start repeats it with the same identifier: the order
// that was lost on the way back is not doubled.
func TestAStartWhoseAnswerIsLostIsRepeatedAndStartsOne(t *testing.T) {
	n := smallNetwork(t)
	a := n.sites["A"]
	w := fleet.Wire(t, a.Listen)
	w.DropAnswers(2)
	out := fleet.Must(t, "fmqm", "start", "small", "--to", "http://"+w.Addr(), "--input", `{"text": "once"}`, "-o", "json")
	if _, total := w.Counts(); total < 3 {
		t.Error("answers were still to be lost: the start was not repeated")
	}
	if all := instances(t, a); len(all) != 1 || all[0] != started(t, out) {
		t.Errorf("instances %v, the command says %s", all, started(t, out))
	}
}

// N2: --key makes the identifier, also over a crash of the node.
func TestAStartWithTheSameKeyStartsOne(t *testing.T) {
	n := smallNetwork(t)
	a := n.sites["A"]
	start := func(extra ...string) (out, talk string, code int) {
		return fleet.Run(t, "fmqm", append([]string{"start", "small", "--to", a.To(), "--key", "order-17", "--wait", "-o", "json"}, extra...)...)
	}
	first, _, code := start("--input", `{"text": "one"}`)
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	a.Kill()
	a.Start()
	a.Answers()
	again, _, code := start("--input", `{"text": "one"}`)
	if code != 0 || started(t, again) != started(t, first) {
		t.Errorf("repeated: exit code %d, instance %s after %s", code, started(t, again), started(t, first))
	}
	if _, talk, code := start("--input", `{"text": "two"}`); code != 4 {
		t.Errorf("the same key with another input: exit code %d, want 4 (refused): %s", code, talk)
	}
	if all := instances(t, a); len(all) != 1 || all[0] != started(t, first) {
		t.Errorf("instances %v, want only %s", all, started(t, first))
	}
}
