package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/api"
)

// A start with a wrong container is refused with all that is wrong with it.
func TestAStartSaysEverythingThatIsWrong(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	_, err := n.Start(context.Background(), api.StartRequest{
		Instance: uuid.Must(uuid.NewV7()), Process: "chain", Input: json.RawMessage(`{"amuont": 1, "note": 5}`),
	})
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Code != api.CodeRefused {
		t.Fatal(err)
	}
	want := []api.Problem{
		{Path: "amuont", Message: "unknown member; Order has amount, note", Remedy: "did you mean amount", Token: 2},
		{Path: "note", Message: "expected string, found 5", Remedy: `write a string, such as "text"`, Token: 5},
	}
	if diff := cmp.Diff(want, refused.Problems); diff != "" {
		t.Error(diff)
	}
	const text = "start chain@1: input: amuont: unknown member; Order has amount, note: did you mean amount; note: expected string, found 5: " +
		"write a string, such as \"text\""
	if refused.Message != text {
		t.Error(refused.Message)
	}
}
