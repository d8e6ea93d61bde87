package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
)

// N27: who repeats what he has said, with its identifier, is told that it is done. Whoever says something else with it, or is somebody
// else, is not: he would believe that he has the item, or that it is completed.
func TestN27AWordIsWhoseItWas(t *testing.T) {
	n := openNode(t, "A", "")
	n.SetStaff(reviewers(t))
	upload(t, n, reviewed)
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "reviewed", Input: json.RawMessage(`{"n": 9}`)}); err != nil {
		t.Fatal(err)
	}
	list := func() []api.WorkItem {
		a, err := n.Work(t.Context(), api.WorkRequest{All: true, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return a.Items
	}
	item := itemOf(t, list, api.ItemOffered).Item
	claim, save := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	for _, c := range []struct {
		who  string
		verb api.WorkVerb
		word api.WordID
		w    api.WorkWord
		want string // in the refusal; empty: it is done
	}{
		{"bob", api.WorkClaim, claim, api.WorkWord{}, ""},
		{"bob", api.WorkClaim, claim, api.WorkWord{}, ""},
		{"ann", api.WorkClaim, claim, api.WorkWord{}, "is another, claim, that bob@A has said"},
		{"bob", api.WorkRelease, claim, api.WorkWord{}, "is another, claim, that bob@A has said"},
		{"bob", api.WorkSave, save, api.WorkWord{Output: json.RawMessage(`{"n": 1}`)}, ""},
		{"ann", api.WorkSave, save, api.WorkWord{Output: json.RawMessage(`{"n": 1}`)}, "is another, save, that bob@A has said"},
		{"bob", api.WorkComplete, save, api.WorkWord{Output: json.RawMessage(`{"n": 3}`)}, "is another, save, that bob@A has said"},
		{"bob", api.WorkTransfer, save, api.WorkWord{To: "ann"}, "is another, save, that bob@A has said"},
	} {
		c.w.As, c.w.Word = c.who, c.word
		_, err := n.SayWork(t.Context(), item, c.verb, c.w)
		if c.want == "" && err != nil || c.want != "" && (api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s says %s: %v, want %q", c.who, c.verb, err, c.want)
		}
	}
	if i := itemOf(t, list, api.ItemClaimed); i.ClaimedBy != "bob@A" && i.ClaimedBy != "bob" {
		t.Errorf("it is with %s", i.ClaimedBy)
	}
}
