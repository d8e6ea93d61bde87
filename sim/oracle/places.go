package oracle

import (
	"fmt"
	"slices"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
)

// Place is where a process has an activity.
type Place struct {
	*definition.Activity
	In     *definition.Graph      // of which it is
	Around []*definition.Activity // the blocks that it is inside of, outermost first
}

// Places are those of all activities of a process, also inside of blocks, by name.
func Places(p *definition.Process) map[string]Place {
	all := map[string]Place{}
	for around, a := range p.All() {
		in := &p.Graph
		if n := len(around); n > 0 {
			in = around[n-1].Block
		}
		all[a.Name] = Place{a, in, slices.Clone(around)}
	}
	return all
}

// Scope is where the activity is in the iterations of the blocks around it, all of them the same one.
func (p Place) Scope(iteration int) message.Scope {
	var s message.Scope
	for _, block := range p.Around {
		s = s.Enter(message.Frame{Composite: processtable.ActivityID(block.Name), Iteration: iteration, Element: -1})
	}
	return s
}

// Fits says why the activity cannot be in a scope, or nothing. What is inside of a block that was
// skipped is in none of its iterations.
func (p Place) Fits(scope string) error {
	frames, err := message.Scope(scope).Frames()
	if err != nil {
		return err
	}
	if len(frames) != len(p.Around) {
		return fmt.Errorf("%s is inside of %d blocks", p.Name, len(p.Around))
	}
	for i, f := range frames {
		if block := p.Around[i]; string(f.Composite) != block.Name || f.Element >= 0 || f.Iteration > block.MaxIterations {
			return fmt.Errorf("%s is inside of %s, which has %d iterations at most, and not in %s", p.Name, block.Name, block.MaxIterations, f)
		}
	}
	return nil
}
