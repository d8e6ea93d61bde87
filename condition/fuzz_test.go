package condition

import (
	"testing"

	"fmqm/container"
)

// FuzzCheck: whatever Check accepts, Load accepts, and evaluation ends; whatever it
// refuses, it refuses with a place in the text and a remedy.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		"amount > 1000", "_RC == 0", "!approved", "lines.exists(l, l == 'x')", "size(lines) / quantity > 1",
		"order.item.startsWith('a')", "_RESULTS.exists(r, r.item == _BY) && !_TIMEOUT", "_FAILED + size(_ERRORS) < _COUNT", "(amount", "amount = 1", "amount > 'x'", "a.b.c", "1 / 0 > 1", "\x00", "due < timestamp('2026-01-01T00:00:00Z')",
	} {
		f.Add(text)
	}
	order := container.NewStructure("Inner", []container.Member{{Name: "item", Type: container.Scalar(container.String)}})
	members := container.NewStructure("Order", []container.Member{
		{Name: "amount", Type: container.Scalar(container.Double)},
		{Name: "quantity", Type: container.Scalar(container.Int)},
		{Name: "approved", Type: container.Scalar(container.Bool)},
		{Name: "order", Type: order},
		{Name: "lines", Type: container.NewList(container.Scalar(container.String))},
		{Name: "due", Type: container.Scalar(container.Timestamp)},
	})
	scope := Scope{Members: members, RC: true, Words: everyWord, Results: order}
	f.Fuzz(func(t *testing.T, text string) {
		checked, problems := Check(text, scope)
		if len(problems) > 0 {
			for _, p := range problems {
				if p.Offset < 0 || p.Offset > len(text) || p.Message == "" || p.Remedy == "" {
					t.Fatalf("%q: %+v", text, p)
				}
			}
			return
		}
		c, err := Load(checked, scope)
		if err != nil {
			t.Fatalf("%q was accepted and does not load: %v", text, err)
		}
		_, _ = c.Eval(container.New(members), 0) // an error is an answer too
	})
}
