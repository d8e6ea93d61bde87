package report

import (
	"fmt"

	"fmqm/api"
	"fmqm/internal/text"
	"fmqm/message"
)

// NoPath is the error of a PATH that no execution of the process can have: with an element of what is no bundle, or beyond
// its list as far as that is told, with an iteration of what is no block, or with one activity inside of another that is
// not there. nil: it may be one.
func (g *Gathered) NoPath(path string) error {
	frames, err := message.Scope(path).Full().Frames()
	if err != nil {
		return noScope(path, err)
	}
	r, scope := g.read(), message.Scope("")
	for at, f := range frames {
		name := string(f.Composite)
		i, known := r.index[name]
		if !known {
			return nil // source or sink, or others say it
		}
		if err := r.noFrame(path, f, r.all[i]); err != nil {
			return err
		}
		if at > 0 && !r.flat && frames[at-1].Composite != f.Composite && r.all[i].Inside != string(frames[at-1].Composite) {
			return api.Errorf(api.CodeNotFound, "write "+name, "%s: %s is not inside of %s", path, name, frames[at-1].Composite)
		}
		if e := r.told[api.InScope(string(scope), name)].Elements; e != nil && f.Element >= e.Count {
			remedy := "its list is empty"
			if e.Count > 0 {
				remedy = fmt.Sprintf("the last is %s[%d], since they count from 0", name, e.Count-1)
			}
			return api.Errorf(api.CodeNotFound, remedy, "there is no %s: %s has %s", scope.Enter(f), name, text.Counted(e.Count, "element", "elements"))
		}
		scope = scope.Enter(f)
	}
	return nil
}

// noFrame is NoPath of one activity in a PATH.
func (r *reading) noFrame(path string, f message.Frame, p api.Place) error {
	switch {
	case f.Element >= 0 && !p.Each:
		return api.Errorf(api.CodeUsage, "write "+p.Activity, "%s: %s has no for_each, and so no elements", path, p.Activity)
	case f.Iteration > 0 && p.Each && f.Element < 0 && !r.block(p.Activity):
		return api.Errorf(api.CodeUsage, fmt.Sprintf("write %s, or one of them: %[1]s[0]", p.Activity), "%s: %s has elements, and no iterations", path, p.Activity)
	case f.Iteration > 0 && !r.block(p.Activity) && len(p.At) == 0:
		return api.Errorf(api.CodeUsage, "write "+p.Activity, "%s: %s is no block, and none of its iterations has a PATH", path, p.Activity)
	}
	return nil
}

func noScope(path string, err error) error {
	return api.Errorf(api.CodeUsage, "write blocks with their iterations, such as documents#2, or documents for its newest", "scope %s: %v", path, err)
}
