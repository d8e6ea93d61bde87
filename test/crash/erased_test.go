package crash

import (
	"context"
	"slices"

	"fmqm/api"
)

// erased: an administrator has a member overwritten at both sites, once the instance has ended. What is left is what the
// interpreter makes of an input that never had it.
var erased = &scenario{
	process: process, input: `{"n":5,"text":""}`, given: `{"n":5,"text":"ann ames"}`,
	want: append(slices.Clone(whole), "source erased 0"), events: map[string]int{"source erased 0": 2}, // a line of each site
	play: func(w *world, ctx context.Context) {
		w.begin(ctx)
		w.operate(ctx)
		w.ended(ctx)
		w.settle(ctx, true)
		until(ctx, w.T, "erase", func() error {
			a, err := w.a.Client.Erase(ctx, w.ids[0], api.EraseRequest{Members: []string{"text"}, Reason: "request 17"})
			switch {
			case err != nil:
				return err
			case len(a.Nodes) != 2:
				return notYet("%d sites are told of", len(a.Nodes))
			}
			for _, n := range a.Nodes {
				if n.Result != api.ResultErased || n.Records == 0 {
					return notYet("%+v", n)
				}
			}
			return nil
		}, api.CodeFailed, api.CodeNotFound)
	},
}
