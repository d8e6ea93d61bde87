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

// pathOf names an execution as everybody does, of the scope that an answer or a record has.
func pathOf[S ~string, A ~string](scope S, activity A) string {
	return message.Scope(scope).Full().Path(processtable.ActivityID(activity))
}

// isElement says whether a record is of one execution of a bundle, which has the bundle's name.
func isElement(scope message.Scope, activity processtable.ActivityID) bool {
	f, ok := last(scope)
	return ok && f.Composite == activity && f.Element >= 0
}

// IsWork says whether a record is of what does the work of a call, in a scope of its own: it has the call's name.
func IsWork(scope message.Scope, activity processtable.ActivityID) bool {
	f, ok := last(scope)
	return ok && f.Composite == activity && f.Element < 0
}

func last(scope message.Scope) (message.Frame, bool) {
	frames, err := scope.Frames()
	if err != nil || len(frames) == 0 {
		return message.Frame{}, false
	}
	return frames[len(frames)-1], true
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

// Locate writes out in a process where activities are of which it says that they are where an instance is started, for
// who judges instances that are started at one node. Its tables are compiled before.
func Locate(p *definition.Process, origin string) {
	for _, a := range p.All() {
		if a.Node == definition.OriginNode {
			a.Node = origin
		}
		if a.Send != nil && a.Send.To == definition.OriginNode {
			a.Send.To = origin
		}
	}
}

// Scope is where the activity is in the iterations of the blocks around it, all of them the same one, and in the
// first element of each bundle.
func (p Place) Scope(iteration int) message.Scope {
	var s message.Scope
	for _, block := range p.Around {
		if block.Bundle != nil {
			s = s.Enter(message.Frame{Composite: processtable.ActivityID(block.Name), Element: 0})
		}
		s = s.Enter(message.Frame{Composite: processtable.ActivityID(block.Name), Iteration: iteration, Element: -1})
	}
	return s
}

// Fits says why the activity cannot be in a scope, or nothing. What is inside of a block that was
// skipped is in none of its iterations.
func (p Place) Fits(scope string) error {
	frames, err := message.Scope(scope).Full().Frames()
	if err != nil {
		return err
	}
	for _, around := range p.Around {
		if frames, err = p.step(around, frames, around.Bundle != nil, true); err != nil {
			return err
		}
	}
	if len(frames) > 0 && p.Bundle != nil && frames[0].Element >= 0 {
		frames, err = p.step(p.Activity, frames, true, false)
	}
	if err == nil && len(frames) > 0 {
		return fmt.Errorf("%s is inside of %d blocks", p.Name, len(p.Around))
	}
	return err
}

// step takes from frames those of something around the activity: of its element, and of its iteration.
func (p Place) step(around *definition.Activity, frames []message.Frame, element, iteration bool) ([]message.Frame, error) {
	if element && iteration && len(frames) > 0 && string(frames[0].Composite) == around.Name && frames[0].Element < 0 && frames[0].Iteration == 0 {
		return frames[1:], nil // nothing of it has begun
	}
	if element {
		if len(frames) == 0 || string(frames[0].Composite) != around.Name || frames[0].Element < 0 || frames[0].Iteration != 0 {
			return nil, fmt.Errorf("%s is inside of an element of %s, and not in %v", p.Name, around.Name, frames)
		}
		frames = frames[1:]
	}
	if !iteration {
		return frames, nil
	}
	if len(frames) == 0 {
		return nil, fmt.Errorf("%s is inside of %d blocks", p.Name, len(p.Around))
	}
	if f := frames[0]; string(f.Composite) != around.Name || f.Element >= 0 || f.Iteration > around.MaxIterations {
		return nil, fmt.Errorf("%s is inside of %s, which has %d iterations at most, and not in %s", p.Name, around.Name, around.MaxIterations, f)
	}
	return frames[1:], nil
}
