package definition

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
)

// dataEnd is one end of a data connector: a container of an activity, or that of what the
// graph is of.
type dataEnd struct {
	step    *step // nil: source or sink
	owner   string
	key     string // where the container is named: input or output
	members *container.Type
	at      Pos  // where its structure is named; no line: nowhere
	outside bool // it is of a bundle, and not of one execution
	started bool // it is what the process was started with: source says who has
}

// unknown says whether the structure is named but could not be resolved, which was reported.
func (e dataEnd) unknown() bool { return e.at.Line > 0 && e.members == container.Empty }

// data reads and checks the data connectors.
func (d *draft) data(n *yaml.Node) {
	seen := map[pair]Pos{}
	for _, c := range d.connectors(n, "data", "a -> b: {target: source}") {
		from, okFrom := d.dataSource(c)
		to, okTo := d.dataTarget(c)
		if from.step != nil && from.step == to.step { // what is fed back is of one execution
			from, to = from.step.output, to.step.input
		}
		if !okFrom || !okTo ||
			!d.unique(seen, c, "data", "write all its members in one mapping") || d.overLimit(c.at) {
			continue
		}
		d.follows(c, from, to)
		if from.step != nil {
			from.step.dataOut++
		}
		if to.step != nil {
			to.step.dataIn++
		}
		before := d.errors
		d.Data = append(d.Data, &Data{Pos: c.at, Source: c.source, Target: c.target, Mappings: d.mappings(c, from, to)})
		if from.step != nil {
			from.step.outUnsure = from.step.outUnsure || d.errors > before
		}
	}
}

func (d *draft) dataSource(c connector) (dataEnd, bool) {
	switch c.source {
	case sourceEnd:
		return d.input, true
	case sinkEnd:
		d.fail(c.sourceAt, codeEnds, "sink gives no data", fmt.Sprintf("sink is the output of %s: map onto it, or from the activity that fills it", d.owner))
		return dataEnd{}, false
	}
	s := d.endMeant(c.source, c.sourceAt, sourceEnd)
	if s == nil {
		return dataEnd{}, false
	}
	return s.gives(), true
}

func (d *draft) dataTarget(c connector) (dataEnd, bool) {
	switch c.target {
	case sinkEnd:
		return d.output, true
	case sourceEnd:
		d.fail(c.targetAt, codeEnds, "source takes no data", fmt.Sprintf("source is the input of %s: map from it, or onto sink", d.owner))
		return dataEnd{}, false
	}
	s := d.endMeant(c.target, c.targetAt, sinkEnd)
	if s == nil {
		return dataEnd{}, false
	}
	return s.takes(), true
}

// follows checks that data goes where control goes: a control path leads from the
// source to the target, or it is the feedback of a loop.
func (d *draft) follows(c connector, from, to dataEnd) {
	s, t := from.step, to.step
	switch {
	case s == nil || t == nil:
	case s == t:
		if s.exitNode == nil {
			d.fail(c.at, codeFeedback, fmt.Sprintf("%s feeds data back to itself, but it has no exit condition", s.Name),
				fmt.Sprintf("write `exit: CONDITION` at %s: it runs again until that holds", s.Name))
		}
	case d.topology != nil && !d.above(t).has(s.index) && !d.controlUnknown:
		remedy := fmt.Sprintf("add a control connector, such as `- %s -> %s`, or take the data from an activity before %s", s.Name, t.Name, t.Name)
		if d.above(s).has(t.index) {
			remedy = fmt.Sprintf("%s runs before %s: reverse the connector, or take the data from an activity before %s", t.Name, s.Name, t.Name)
		}
		d.fail(c.at, codeDataFlow, fmt.Sprintf("no control path leads from %s to %s", s.Name, t.Name), remedy)
	}
}

// above gives the activities from which a control path leads to s.
func (d *draft) above(s *step) bitset {
	if s.above == nil {
		for _, t := range d.topology {
			t.above = newBitset(len(d.steps))
			for source := range d.before(t) {
				t.above.add(source.index)
				t.above.union(source.above)
			}
		}
	}
	return s.above
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) meets(other bitset) bool {
	for i, w := range other {
		if b[i]&w != 0 {
			return true
		}
	}
	return false
}

func (b bitset) union(other bitset) {
	for i, w := range other {
		b[i] |= w
	}
}

// mappings reads {target: source}, or writes out the default mapping.
func (d *draft) mappings(c connector, from, to dataEnd) []Mapping {
	if from.unknown() || to.unknown() || c.value != nil && c.value.Kind == 0 {
		return nil
	}
	if c.value == nil {
		return d.sameNames(c, from, to)
	}
	if !d.is(c.value, yaml.MappingNode, "members as {target: source}", mappingRemedy(c.value, from, to)) {
		return nil
	}
	var all []Mapping
	for _, e := range d.entries(c.value, codeDuplicateName, "target member") {
		for _, m := range d.mapping(e, from, to) {
			all = append(all, m)
			d.used(from, to, m)
		}
	}
	if len(c.value.Content) == 0 {
		d.fail(d.pos(c.value), codeMapsNothing, "the data connector maps nothing", "write {target: source}, or leave the mapping out: then members of the same name and type are mapped")
	}
	return all
}

// used notes what a mapping reads and sets.
func (d *draft) used(from, to dataEnd, m Mapping) {
	switch s := from.step; {
	case m.Expr != nil:
		d.usedBy(m.Expr, from, to)
	case from.outside:
		s.readOutside(m.Source)
	case m.Word != 0 && s != nil && s != to.step:
		s.reads |= m.Word
	case m.Word != 0:
	case s == nil:
		d.inputRead = true
	case m.RC:
		s.readsRC = true
	default:
		s.outputRead = true
	}
	if to.step == nil {
		d.outputSet = true
	} else if to.outside {
		to.step.outside.given = to.step.outside.given || to.step.Bundle.isList(m)
	}
}

// mapping reads one line of a mapping, which is one or, for a whole container, many.
func (d *draft) mapping(e entry, from, to dataEnd) []Mapping {
	source, ok := d.scalar(e.value, "a member of the source")
	whole, worked := isWhole(e.value, from.members), isWorked(source)
	key, appends := appended(e.key)
	if e.key = key; appends && (whole || isWhole(key, to.members)) {
		d.fail(d.pos(key), codeForm, fmt.Sprintf("append adds one element, and %s is a whole container", wholeContainer),
			"append a member, such as a structure that the program gives")
		return nil
	}
	switch {
	case !ok:
		_, _ = d.target(e.key, to)
		return nil
	case isWhole(e.key, to.members):
		d.failWholeTarget(e, from, to)
		return nil
	case !d.namesTarget(e.key, to.members) || !worked && !d.namesMember(e.value, from.members):
		return nil
	case whole:
		return d.whole(e, from, to)
	}
	m, ok := d.target(e.key, to)
	if !ok || appends && !d.toList(&m) {
		return nil
	}
	m.Source = source
	if worked {
		return d.worked(e.value, from, m)
	}
	fromType, ok := d.source(e.value, from, &m)
	if !ok {
		return nil
	}
	if !container.SameType(fromType, m.Type) && m.Append {
		d.failElement(m, fromType)
		return nil
	}
	if !container.SameType(fromType, m.Type) && d.oneElement(m.Pos, to, m, fromType) {
		return nil
	}
	if !container.SameType(fromType, m.Type) {
		d.fail(m.Pos, codeMismatch, fmt.Sprintf("%s is %s, but %s is %s", m.Target, article(m.Type), m.Source, article(fromType)),
			"map a member of the same type, or declare both with the same type")
		return nil
	}
	return []Mapping{m}
}

var memberPath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// namesMember says whether one side of a mapping has the form of a member, of a container
// of type t, and reports what it probably is if not: a mapping copies, it does not work out.
func (d *draft) namesMember(n *yaml.Node, t *container.Type) bool {
	written := strings.TrimSpace(n.Value)
	first, _, _ := strings.Cut(n.Value, ".")
	_, known := t.MemberIndex(first)
	isText := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	switch {
	case memberPath.MatchString(n.Value) && n.Tag != "!!bool" && n.Tag != "!!null" && (known || !isText):
		return true
	case strings.Contains(written, "["):
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%s is an element of a list", written), remedyElement(written))
	case n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool" || isText || strings.ContainsAny(written, "\"'"):
		if isText {
			written = quoteYAML(n.Value)
		}
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%s is a value, and a mapping copies members", written), remedyConstant(written))
	case appendMeant.MatchString(written):
		d.fail(d.pos(n), codeForm, "append is of the target, not of the source", fmt.Sprintf("write {append(LIST): %s}", appendMeant.FindStringSubmatch(written)[1]))
	default:
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%q is not a member", n.Value), "name a member of the source; "+remedyWorked(written))
	}
	return false
}

func remedyConstant(written string) string {
	return "make the constant the default of the member that it is for, as in n: {type: int, default: 5}, and leave it out here; or write (" + written + ")"
}

// target gives a mapping that has its target.
func (d *draft) target(n *yaml.Node, to dataEnd) (Mapping, bool) {
	m := Mapping{Pos: d.pos(n), Target: n.Value}
	if n.Value == condition.RC {
		d.fail(m.Pos, codeReservedName, "_RC cannot be set", "_RC is the return code of a program: map it onto a member of type int")
		return m, false
	}
	if _, hidden := to.members.MemberIndex(n.Value); !hidden {
		if _, is := condition.WordNamed(n.Value); is {
			d.fail(m.Pos, codeReservedName, fmt.Sprintf("%s is a word of the engine, and cannot be set", n.Value), "map it onto a member of its type")
			return m, false
		}
	}
	var ok bool
	m.To, m.Type, ok = d.resolve(n, to)
	return m, ok
}

// source finds the source member of a mapping, or _RC.
func (d *draft) source(n *yaml.Node, from dataEnd, m *Mapping) (*container.Type, bool) {
	if outer, ok := strings.CutSuffix(n.Value, "."+wholeContainer); ok {
		if _, t, err := from.members.Resolve(outer); err == nil && isWhole(&yaml.Node{Value: wholeContainer}, t) {
			d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s is the word for a whole container, and %s is a member", wholeContainer, outer), "write "+outer)
			return nil, false
		}
	}
	if word, is := d.word(n, from); is {
		if m.Word = word; word == 0 {
			return nil, false
		}
		return from.scope().TypeOf(word), true
	}
	if from.outside && d.notOutside(n, from.step) {
		return nil, false
	}
	if n.Value != condition.RC {
		path, t, ok := d.resolve(n, from)
		m.From = path
		return t, ok
	}
	if from.step == nil {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("the input of %s has no _RC", d.owner), "take _RC from the activity whose return code you want")
		return nil, false
	}
	m.RC = true
	return container.Scalar(container.Int), true
}

func (d *draft) resolve(n *yaml.Node, end dataEnd) (container.Path, *container.Type, bool) {
	if len(end.members.Members) == 0 {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s declares no %s container, so it has no member %s", end.owner, end.key, n.Value),
			fmt.Sprintf("write `%s: STRUCTURE` at %s", end.key, end.owner))
		return nil, nil, false
	}
	path, t, err := end.members.Resolve(n.Value)
	if err == nil {
		return path, t, true
	}
	message, remedy := err.Error(), "name a member of "+end.members.String()
	var e *container.Error
	if errors.As(err, &e) {
		message = e.What
		if e.Path != "" {
			message = e.Path + ": " + message
		}
		if e.Remedy != "" {
			remedy = e.Remedy
		}
	}
	d.fail(d.pos(n), codeUnknownName, message, remedy)
	return nil, nil, false
}

// sameNames maps the members that have the same name and type. A member of the same
// name and another type is an error: left at its default it would surprise.
func (d *draft) sameNames(c connector, from, to dataEnd) []Mapping {
	if from.outside && d.mapsWords(c, from, to) {
		return nil
	}
	for _, end := range []dataEnd{from, to} {
		if len(end.members.Members) == 0 {
			d.fail(c.at, codeMapsNothing, fmt.Sprintf("the connector maps nothing: %s declares no %s container", end.owner, end.key),
				fmt.Sprintf("write `%s: STRUCTURE` at %s, or remove the connector", end.key, end.owner))
			return nil
		}
	}
	var all []Mapping
	shared := false
	for i, m := range to.members.Members {
		j, ok := from.members.MemberIndex(m.Name)
		if !ok {
			continue
		}
		shared = true
		t := from.members.Members[j].Type
		if !container.SameType(t, m.Type) && d.oneElement(c.at, to, Mapping{Target: m.Name, Source: m.Name, To: container.Path{i}, Type: m.Type}, t) {
			continue
		}
		if !container.SameType(t, m.Type) {
			d.fail(c.at, codeMismatch, fmt.Sprintf("%s of %s is %s, but %s of %s is %s", m.Name, to.members, article(m.Type), m.Name, from.members, article(t)),
				"list the members to map, as {target: source}, or declare both with the same type")
			continue
		}
		all = append(all, Mapping{
			Pos: c.at, Source: m.Name, Target: m.Name, From: container.Path{j}, To: container.Path{i}, Type: m.Type,
		})
		d.used(from, to, all[len(all)-1])
	}
	if !shared {
		d.fail(c.at, codeMapsNothing, fmt.Sprintf("the connector maps nothing: %s and %s have no member of the same name", from.members, to.members),
			"list the members to map, as {target: source}")
	}
	return all
}

func article(t *container.Type) string {
	name := t.String()
	switch {
	case t.Kind == container.List:
		return "a list " + name
	case strings.ContainsRune("aeiouAEIOU", rune(name[0])):
		return "an " + name
	}
	return "a " + name
}
