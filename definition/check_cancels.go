package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// cancels reads whom activities cancel (N25): others of the same graph, which may be under way then.
func (d *draft) cancels() {
	for _, s := range d.steps {
		n := s.keys["cancels"]
		if n == nil {
			continue
		}
		remedy := "write it as [ACTIVITY, ACTIVITY]"
		if n.Kind == yaml.ScalarNode && d.byName[n.Value] != nil {
			remedy = fmt.Sprintf("write it as [%s]", n.Value)
		}
		if !d.is(n, yaml.SequenceNode, "a list of activities", remedy) {
			continue
		}
		if len(n.Content) == 0 {
			d.fail(d.pos(n), codeValue, fmt.Sprintf("cancels of %s names no activity", s.Name), "name one, or leave it out")
		}
		named := map[string]bool{}
		for _, c := range n.Content {
			d.cancel(s, c, named)
		}
	}
}

// cancel reads one of the activities that s cancels.
func (d *draft) cancel(s *step, n *yaml.Node, named map[string]bool) {
	name, ok := d.scalar(n, "an activity")
	if !ok {
		return
	}
	t, at := d.byName[name], d.pos(n)
	switch {
	case t == s:
		d.fail(at, codeSelf, fmt.Sprintf("%s cancels itself", name), "remove it: it has ended when it cancels")
	case named[name]:
		d.fail(at, codeDuplicateName, fmt.Sprintf("activity %s is named twice", name), "remove one of the two")
	case t != nil:
		named[name] = true
		s.Cancels = append(s.Cancels, name)
		t.cancelledBy++
		if k := d.leadsTo(s, t); k != nil {
			d.fail(at, codeSuccessor, fmt.Sprintf("%s only begins after %s", name, s.Name), fmt.Sprintf("use a condition on `%s -> %s`", k.Source, k.Target))
		}
	case name == sourceEnd || name == sinkEnd:
		d.fail(at, codeEnds, fmt.Sprintf("%s cannot be cancelled", name), "name the activities that are to be cancelled")
	case d.home[name] != nil:
		d.borderOfCancel(name, at)
	case !d.stepsUnknown:
		d.fail(at, codeUnknownName, fmt.Sprintf("unknown activity %s", name), d.oneOfSteps(name))
	}
}

// borderOfCancel reports an activity of another graph.
func (d *draft) borderOfCancel(name string, at Pos) {
	if their := d.home[name].blockIn(d); their != nil {
		d.fail(at, codeBorder, fmt.Sprintf("%s is inside the block %s", name, their.Name), fmt.Sprintf("cancel %s as a whole", their.Name))
		return
	}
	where, remedy := "outside "+d.owner, "cancel only what is in the same block"
	if around := d.blockIn(d.home[name]); around != nil && around.Name == name {
		where, remedy = "the block around this", "map what is found to its sink, and let its exit condition or a condition out of it decide"
	}
	d.fail(at, codeBorder, fmt.Sprintf("%s is %s", name, where), remedy)
}

// leadsTo gives the last connector of a control path from s to t; nil: there is none.
func (d *draft) leadsTo(s, t *step) *Control {
	if d.topology == nil || !d.above(t).has(s.index) {
		return nil
	}
	for _, i := range t.in {
		k := d.Control[i]
		if before := d.stepOf(k.Source); before == s || before != d.head && d.above(before).has(s.index) {
			return k
		}
	}
	return nil
}

// checkCancels warns of what has always ended when it would be cancelled: an activity is decided
// once all that leads to it is resolved, so what is before it has ended, unless it begins with the first.
func (d *draft) checkCancels() {
	for _, s := range d.steps {
		for i, name := range s.Cancels {
			if t := d.byName[name]; d.above(s).has(t.index) && d.waitsFor(s, t, map[*step]bool{}) {
				d.warn(d.pos(s.keys["cancels"].Content[i]), codeCancelsNothing, fmt.Sprintf("%s always ends before %s begins", name, s.Name), "remove it")
			}
		}
	}
}
