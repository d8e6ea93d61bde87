package node_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
)

const choosing = `
process: claim
version: 1
structures:
  Claim: {amount: int, days: int}
input: Claim
output: Claim
activities:
  assess: {node: A, program: echo, input: Claim, output: Claim, choice: first_match}
  pay: {node: A, program: echo, start: source || assess}
  refuse: {node: A, program: echo}
  round:
    node: A
    input: Claim
    output: Claim
    activities:
      one: {node: A, program: echo}
      two: {node: A, program: echo}
    control:
      - source -> one: 100 / amount > 1
      - source -> two: otherwise
control:
  - source -> assess: amount / days > 10
  - source -> pay: otherwise
  - source -> round
  - assess -> pay: amount < 1000
  - assess -> refuse: amount < 2000
data:
  - source -> assess
  - source -> round
  - assess -> sink
`

// ends gives what an instance's activities have come to, by name: + for ran, - for skipped.
func ends(s api.Status) string {
	var all []string
	for _, a := range s.Activities {
		sign := map[api.ActivityState]string{api.ActivityTerminated: "+", api.ActivitySkipped: "-"}[a.State]
		if sign == "" {
			sign = string(a.State) + " "
		}
		all = append(all, sign+api.InScope(a.Scope, a.Activity))
	}
	return strings.Join(all, " ")
}

// R24, R25: choices on the input and of the first match, from the file to the end.
func TestChoicesAtOneNode(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, choosing)
	for input, want := range map[string]string{
		`{"amount": 10, "days": 5}`:   "-assess +pay -refuse +round +round#1/one -round#1/two",
		`{"amount": 500, "days": 5}`:  "+assess +pay -refuse +round -round#1/one +round#1/two",
		`{"amount": 1500, "days": 5}`: "+assess -pay +refuse +round -round#1/one +round#1/two",
		`{"amount": 2500, "days": 5}`: "+assess -pay -refuse +round -round#1/one +round#1/two",
	} {
		if s := run(t, n, "claim", input); s.State != api.InstanceFinished || ends(s) != want {
			t.Errorf("%s: %s, %s\nwant %s", input, s.State, ends(s), want)
		}
	}
}

// R24: where a condition cannot be evaluated over the input, the start is refused, and there is nothing.
func TestAStartIsRefusedForWhatSourceAsks(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, choosing)
	id := uuid.Must(uuid.NewV7())
	_, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "claim@1", Input: json.RawMessage(`{"amount": 10}`)})
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Code != api.CodeRefused ||
		!strings.HasPrefix(refused.Message, `start claim@1: transition condition "amount / days > 10" to assess: `) || !strings.Contains(refused.Remedy, "nothing was started") {
		t.Errorf("it is answered %v", err)
	}
	if _, err := n.Status(t.Context(), id); !errors.As(err, &refused) || refused.Code != api.CodeNotFound {
		t.Errorf("its status: %v", err)
	}
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "claim@1", Input: json.RawMessage(`{"amount": 10, "days": 1}`)}); err != nil {
		t.Errorf("under the same name, with another input: %v", err)
	}
}

// R24: where one of a block cannot be evaluated, the block is in error, and a retry gives it an output.
func TestABlockIsInErrorForWhatItsSourceAsks(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, choosing)
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "claim@1", Input: json.RawMessage(`{"days": 1}`)}); err != nil {
		t.Fatal(err)
	}
	s, err := n.Wait(t.Context(), id)
	if want := "-assess +pay -refuse in-error round -round#1/one -round#1/two"; err != nil || s.State != api.InstanceInError || ends(s) != want {
		t.Fatalf("%s, %s, %v\nwant %s", s.State, ends(s), err, want)
	}
	if _, err := n.Retry(t.Context(), id, api.RetryRequest{Activity: "round", Output: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Wait(t.Context(), id); err != nil || s.State != api.InstanceFinished {
		t.Errorf("after the retry it is %s, %v", s.State, err)
	}
}
