package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// What a start has done is undone from the last to the first, each step once, whatever one
// of them says.
func TestCleanUpsGoBackwards(t *testing.T) {
	var did []string
	worn, torn := errors.New("worn"), errors.New("torn")
	var c cleanUps
	for i, err := range []error{nil, worn, nil, torn} {
		c.add(func(context.Context) error {
			did = append(did, fmt.Sprint(i))
			return err
		})
	}
	if err := c.run(context.Background()); !errors.Is(err, worn) || !errors.Is(err, torn) {
		t.Errorf("run = %v", err)
	}
	if err := c.run(context.Background()); err != nil || !slices.Equal(did, []string{"3", "2", "1", "0"}) {
		t.Errorf("done: %v, then %v", did, err)
	}
}
