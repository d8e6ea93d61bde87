package definition

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// otherwise is the transition condition that is TRUE when all others out of its
// source are FALSE.
const otherwise = "otherwise"

// The ends of a graph.
const (
	sourceEnd = "source"
	sinkEnd   = "sink"
)

// connector is a list item `a -> b` or `a -> b: value`, control or data.
type connector struct {
	at             Pos
	source, target string
	sourceAt       Pos
	targetAt       Pos
	value          *yaml.Node // nil: none
}

// connectors reads the items of a list of connectors. Kind is "control" or "data".
func (d *draft) connectors(n *yaml.Node, kind, example string) []connector {
	if n == nil || isNull(n) {
		return nil
	}
	if !d.is(n, yaml.SequenceNode, "a list of "+kind+" connectors", "write each as `- "+example+"`") {
		d.controlUnknown = d.controlUnknown || kind == "control"
		return nil
	}
	var all []connector
	for _, item := range n.Content {
		if c, ok := d.connector(item, kind, example); ok {
			all = append(all, c)
		} else {
			d.controlUnknown = d.controlUnknown || kind == "control"
		}
	}
	return all
}

func (d *draft) connector(item *yaml.Node, kind, example string) (connector, bool) {
	arrow, value := item, (*yaml.Node)(nil)
	if item.Kind == yaml.MappingNode && len(item.Content) == 2 {
		arrow, value = item.Content[0], item.Content[1]
	}
	if item.Kind == 0 || d.wrongArrow(arrow, example) {
		return connector{}, false
	}
	c := connector{at: d.pos(arrow), value: value}
	before, after, ok := strings.Cut(arrow.Value, "->")
	if arrow.Kind != yaml.ScalarNode || !ok || strings.Contains(after, "->") {
		d.fail(c.at, codeForm, fmt.Sprintf("expected a %s connector, found %s", kind, formOf(arrow)),
			"write `- "+example+"`, one connector per item")
		return connector{}, false
	}
	c.source, c.target = strings.TrimSpace(before), strings.TrimSpace(after)
	if c.source == "" || c.target == "" {
		d.fail(c.at, codeForm, fmt.Sprintf("the %s connector has only one end", kind), "write `- "+example+"`")
		return connector{}, false
	}
	if colon := strings.IndexByte(arrow.Value, ':'); colon >= 0 {
		d.fail(d.within(arrow, colon), codeForm, "there is no space after the colon", "write a space after `:`")
		return connector{}, false
	}
	c.sourceAt = d.within(arrow, strings.Index(arrow.Value, c.source))
	c.targetAt = d.within(arrow, len(before)+2+strings.Index(after, c.target))
	return c, true
}

// end finds the activity that a connector names at one end, source or sink.
func (d *draft) end(name string, at Pos, end string) *step {
	s, ok := d.byName[name]
	remedy, member := d.insideAsEnd(name)
	if !member {
		remedy, member = d.memberAsEnd(name)
	}
	switch {
	case ok:
	case member:
		d.fail(at, codeUnknownName, fmt.Sprintf("unknown activity %s", name), remedy)
	case d.home[name] != nil:
		d.border(name, at, end)
	case !d.stepsUnknown:
		if d.isNoticed(name) {
			d.fail(at, codeUnknownName, fmt.Sprintf("%s is a program of notify, and a notice has no connectors", name), "make it an activity, or use deadline for a path")
			break
		}
		d.fail(at, codeUnknownName, fmt.Sprintf("unknown activity %s", name), d.oneOfSteps(name))
	}
	return s
}

// oneOfSteps is the remedy for an unknown activity; the same name is often there again.
func (d *draft) oneOfSteps(name string) string {
	remedy, ok := d.remedies[name]
	if !ok {
		near, known := d.nearest(name, d.stepNames)
		if !known && len(d.graphs) > 1 {
			if near, known = d.nearest(name, d.names); known {
				near += ", which is in " + d.home[near].owner
			}
		}
		if remedy = "did you mean " + near; !known {
			remedy = oneOfThese(d.stepNames)
		}
		d.remedies[name] = remedy
	}
	return remedy
}

// pair is what no two connectors of one kind may share.
type pair struct{ source, target string }

// unique reports the second connector between the same two ends.
func (d *draft) unique(seen map[pair]Pos, c connector, kind, remedy string) bool {
	p := pair{c.source, c.target}
	if first, ok := seen[p]; ok {
		d.fail(c.at, codeDuplicate, fmt.Sprintf("the %s connector %s -> %s is already in line %d", kind, c.source, c.target, first.Line), remedy)
		return false
	}
	seen[p] = c.at
	return true
}

// control reads the control connectors; their conditions are checked later.
func (d *draft) control(n *yaml.Node) {
	seen := map[pair]Pos{}
	for _, c := range d.connectors(n, "control", "a -> b") {
		if d.isEnd(c) {
			continue
		}
		source, target := d.head, d.end(c.target, c.targetAt, sinkEnd)
		if c.source != sourceEnd {
			source = d.endMeant(c.source, c.sourceAt, sourceEnd)
		}
		if source == nil || target == nil {
			d.controlUnknown = true
			if source != nil {
				source.outUnknown = true
			}
			if target != nil {
				target.inUnknown = true
			}
			continue
		}
		if source == target {
			d.fail(c.at, codeSelf, fmt.Sprintf("a control connector leads from %s to itself", c.source),
				"for a loop write `exit: CONDITION` at the activity: it runs again until that holds")
			continue
		}
		if !d.unique(seen, c, "control", "write one condition with || between the two") || d.overLimit(c.at) {
			continue
		}
		k := &Control{Pos: c.at, Source: c.source, Target: c.target}
		if c.value != nil && c.value.Kind == yaml.ScalarNode && c.value.Value == otherwise {
			k.Otherwise, c.value = true, nil
		}
		d.Control = append(d.Control, k)
		d.transition = append(d.transition, c.value)
		if k.Otherwise {
			d.oneOtherwise(source, k)
		}
	}
	d.join()
	d.checkOtherwise(d.head)
	for _, s := range d.steps {
		d.checkOtherwise(s)
	}
}

// join gives activities, and source, the connectors that are theirs. It leaves out `source -> a`
// where nothing else leads to a and it has no start condition: that is so without being written.
func (d *draft) join() {
	into := map[string]int{}
	for _, k := range d.Control {
		into[k.Target]++
	}
	control, transition := d.Control, d.transition
	d.Control, d.transition = nil, nil
	for i, k := range control {
		source, target := d.stepOf(k.Source), d.byName[k.Target]
		if source == d.head && k.begins(transition[i]) && into[k.Target] == 1 && target.startNode == nil {
			continue
		}
		if source.Pos.Line == 0 { // it is source
			source.Pos = k.Pos
		}
		source.out, target.in = append(source.out, len(d.Control)), append(target.in, len(d.Control))
		d.Control, d.transition = append(d.Control, k), append(d.transition, transition[i])
	}
}

// begins says whether a connector has no condition.
func (k *Control) begins(condition *yaml.Node) bool { return condition == nil && !k.Otherwise }

// begins says whether an activity may start with the graph: source leads to it.
func (d *draft) begins(s *step) bool {
	return len(s.in) == 0 || slices.ContainsFunc(s.in, func(i int) bool { return d.Control[i].Source == sourceEnd })
}

// isEnd reports sink, which control reaches by itself, and source where something leads to it.
func (d *draft) isEnd(c connector) bool {
	switch {
	case c.source == sinkEnd || c.target == sinkEnd:
		d.fail(c.at, codeEnds, "sink cannot be in a control connector", fmt.Sprintf("remove it: an activity without successors ends %s", d.owner))
	case c.target == sourceEnd:
		d.fail(c.at, codeEnds, "a control connector cannot lead to source",
			fmt.Sprintf("remove it: source is where %s begins; to repeat an activity write `exit: CONDITION` at it", d.owner))
	default:
		return false
	}
	return true
}

// overLimit says whether the process has all the connectors that it may; it is reported
// once.
func (d *draft) overLimit(at Pos) bool {
	d.joined++
	full := d.joined > maxConnectors
	if full && !d.full {
		d.fail(at, codeLimit, fmt.Sprintf("the process has over %d connectors", maxConnectors), "split it into several processes")
	}
	d.full = d.full || full
	return full
}

func (d *draft) oneOtherwise(source *step, k *Control) {
	if source.otherwise == nil {
		source.otherwise = k
		return
	}
	d.fail(k.Pos, codeOtherwiseTwice, fmt.Sprintf("%s has a second `otherwise`; the first is in line %d", source.Name, source.otherwise.Pos.Line),
		"give one of the two a condition, or lead one `otherwise` to an empty activity that goes on to both")
}

// checkOtherwise looks at what stands beside an `otherwise`: something must, and none
// of it may be TRUE always. What source begins in any case is not beside it.
func (d *draft) checkOtherwise(s *step) {
	var other, always *Control
	beside := 0
	for _, i := range s.out {
		switch c := d.Control[i]; {
		case c.Otherwise && other == nil:
			other = c
		case c.Otherwise || d.transition[i] != nil:
			beside++
		case s != d.head:
			always = c
			beside++
		}
	}
	switch {
	case other == nil:
	case beside == 0 && !s.outUnknown:
		alone := fmt.Sprintf("`otherwise` is the only control connector out of %s", s.Name)
		if len(s.out) > 1 {
			alone = fmt.Sprintf("no control connector out of %s has a condition, beside this `otherwise`", s.Name)
		}
		d.fail(other.Pos, codeOtherwiseAlone, alone,
			fmt.Sprintf("write `- %s -> %s` without a condition, or add the connector that it is the alternative to", other.Source, other.Target))
	case always != nil:
		when := s.Name + " ran"
		if s.FirstMatch {
			when = "none before it is"
		}
		d.warn(other.Pos, codeOtherwiseNever,
			fmt.Sprintf("this `otherwise` is always FALSE: `%s -> %s` has no condition and is TRUE whenever %s", always.Source, always.Target, when),
			"give that connector a condition, or remove this one")
	}
}

// fanLimits reports activities with too many connectors.
func (d *draft) fanLimits() {
	for _, s := range d.steps {
		if n := len(s.in) + s.dataIn + s.cancelledBy; n > maxFan {
			d.fail(s.Pos, codeLimit, fmt.Sprintf("%d connectors lead into %s%s", n, s.Name, besides(s.cancelledBy, "those that cancel it")),
				fmt.Sprintf("use at most %d: join some in empty activities first", maxFan))
		}
		if n := len(s.out) + s.dataOut + len(s.Cancels); n > maxFan {
			d.fail(s.Pos, codeLimit, fmt.Sprintf("%d connectors lead out of %s%s", n, s.Name, besides(len(s.Cancels), "those that it cancels")),
				fmt.Sprintf("use at most %d: spread them over empty activities", maxFan))
		}
	}
}

func besides(n int, what string) string {
	if n == 0 {
		return ""
	}
	return ", with " + what
}
