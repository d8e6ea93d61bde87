package node_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
)

// placesToErr is in error in an element, inside of one that is a block, and in the work of a call.
const placesToErr = `
process: places
version: 1
structures:
  List: {amount: [int]}
  Order: {amount: int, note: string}
input: List
activities:
  count: {node: A, for_each: amount, program: fail, input: Order, output: Order}
  box:
    node: A
    for_each: amount
    input: Order
    activities:
      pick: {node: A, program: fail, input: Order, output: Order}
    data: [source -> pick]
  ask: {node: A, for_each: amount, at: {node: '"A"', of: [A]}, program: fail, input: Order, output: Order}
  one: {node: A, at: {node: '"A"', of: [A]}, program: fail, output: Order}
data:
  - source -> count: {amount: amount}
  - source -> box: {amount: amount}
  - source -> ask: {amount: amount}
`

// What is told of an activity names it with the PATH that people write: where it is in error, what a retry has let go on,
// and what a retry could not.
func TestWhatIsActedOnIsNamedByItsPath(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, placesToErr)
	s := run(t, n, "places", `{"amount": [5]}`)
	paths := []string{"one", "count[0]", "box[0]#1/pick", "ask[0]"}
	list, err := n.List(t.Context(), api.ListRequest{InError: true, Limit: 10})
	if err != nil || len(list.Instances) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	var listed []string
	for _, e := range list.Instances[0].Errors {
		listed = append(listed, api.Shown(e.Scope, e.Activity))
	}
	if !slices.Equal(listed, paths) {
		t.Errorf("in error: %q, want %q", listed, paths)
	}
	for at, path := range paths {
		if s, err = n.Wait(t.Context(), s.Instance); err != nil || s.InError != len(paths)-at || !strings.HasPrefix(s.Reason, "activity "+path+" at A: ") {
			t.Errorf("it is %s with %d in error: %s, %v", s.State, s.InError, s.Reason, err)
		}
		scope, activity := api.CutScope(path)
		r := api.RetryRequest{Scope: scope, Activity: activity, Output: json.RawMessage(`{"amount": "few"}`)}
		if _, err := n.Retry(t.Context(), s.Instance, r); err == nil || !strings.HasPrefix(err.Error(), "retry "+path+": output") {
			t.Errorf("a wrong output of %s: %v", path, err)
		}
		r.Output = json.RawMessage(`{"amount": 1}`)
		if w, err := n.Retry(t.Context(), s.Instance, r); err != nil || api.Shown(w.Scope, w.Activity) != path {
			t.Errorf("retry of %s: %+v, %v", path, w, err)
		}
	}
	if s, err = n.Wait(t.Context(), s.Instance); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("it is %s, %v", s.State, err)
	}
	for _, path := range paths {
		scope, activity := api.CutScope(path)
		if _, err := n.Retry(t.Context(), s.Instance, api.RetryRequest{Scope: scope, Activity: activity}); err == nil || !strings.HasPrefix(err.Error(), "retry "+path+": it is not in error") {
			t.Errorf("another retry of %s: %v", path, err)
		}
	}
}
