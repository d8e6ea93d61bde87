package commit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"fmqm/queue/commit"
)

// What is too large is tried with half as many, down to one record; any other answer stands.
func TestInLots(t *testing.T) {
	other := errors.New("no room on the disk")
	for _, c := range []struct {
		fits int
		err  error // of what fits
		want []int
	}{
		{256, nil, []int{256}},
		{100, nil, []int{256, 128, 64}},
		{1, nil, []int{256, 128, 64, 32, 16, 8, 4, 2, 1}},
		{0, commit.ErrTooLarge, []int{256, 128, 64, 32, 16, 8, 4, 2, 1}},
		{200, other, []int{256, 128}},
	} {
		var asked []int
		err := commit.InLots(256, func(most int) error {
			asked = append(asked, most)
			if most > c.fits {
				return fmt.Errorf("%w: its records have 20 bytes", commit.ErrTooLarge)
			}
			return c.err
		})
		if !errors.Is(err, c.err) || !slices.Equal(asked, c.want) {
			t.Errorf("%d fit: asked for %v, %v", c.fits, asked, err)
		}
	}
}
