package definition

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// A bundle is an activity with `for_each`: one execution for each element of a list (N21). All its keys are of
// one execution, but those that its connectors to others are about.

// bundleKeys are keys that only a bundle has.
var bundleKeys = []string{"parallel", "until", "failed"}

// bundleWords are what the elements of a bundle have come to, in the order of its output.
var bundleWords = []condition.Words{
	condition.WordResults, condition.WordErrors, condition.WordRCs, condition.WordCount, condition.WordDone, condition.WordFailed,
}

// bundleEnds are the containers of a bundle as others see them.
type bundleEnds struct {
	input, output dataEnd
	given         bool // a connector gives the list
}

// takes is what connectors from others lead to, gives what those to others come from.
func (s *step) takes() dataEnd {
	if s.outside != nil {
		return s.outside.input
	}
	return s.input
}

func (s *step) gives() dataEnd {
	if s.outside != nil {
		return s.outside.output
	}
	return s.output
}

// bundle reads what makes an activity a bundle.
func (d *draft) bundle(s *step, f map[string]*yaml.Node) {
	n := f["for_each"]
	if n == nil {
		d.noBundle(s, f)
		return
	}
	s.Bundle = &Bundle{Pos: d.pos(n), Parallel: DefaultParallel, Input: container.Empty}
	if p := f["parallel"]; p != nil {
		if v, ok := d.integer(p, "parallel", 1, processtable.MaxParallel); ok {
			s.Bundle.Parallel = v
		}
	}
	input := s.input
	input.outside, input.at, input.members = true, s.Bundle.Pos, container.Empty // unknown
	if n.Kind == yaml.MappingNode {
		d.is(n, yaml.ScalarNode, "a member of the input", "name the member that takes one element; the list is given by the data connector")
	} else if name, ok := d.scalar(n, "a member of the input"); ok && !s.input.unknown() {
		input.members = d.outerInput(s, n, name)
	}
	output := s.output
	output.outside = true
	if !s.output.unknown() {
		output.members = s.results()
	}
	s.outside = &bundleEnds{input: input, output: output}
	s.Bundle.Input, s.Bundle.Output = input.members, output.members
	s.Bundle.Until = d.until(s, f["until"])
	s.Bundle.Failed = d.failed(s, f["failed"])
	for _, end := range []dataEnd{input, output} {
		if container.Depth(end.members) > container.MaxNesting {
			d.fail(s.Bundle.Pos, codeLimit, fmt.Sprintf("the %s of %s is nested %d deep in the list of its elements", end.key, s.Name, container.Depth(end.members)),
				fmt.Sprintf("use at most %d structures and lists inside one another, with that list", container.MaxNesting))
		}
	}
}

// noBundle reports keys of bundles.
func (d *draft) noBundle(s *step, f map[string]*yaml.Node) {
	for _, key := range bundleKeys {
		n := f[key]
		if n == nil {
			continue
		}
		remedy := "write `for_each: MEMBER` for one execution for each element of a list, or leave it out"
		if key == "until" {
			remedy = "write `for_each: MEMBER` for one execution for each element of a list; to repeat an activity write `exit: CONDITION`"
		}
		d.fail(d.pos(n), codeKeyNotHere, fmt.Sprintf("%s is of activities with for_each, and %s has none", key, s.Name), remedy)
	}
}

// outerInput is what the bundle takes: the input of one execution, with a list of what is one element's.
func (d *draft) outerInput(s *step, n *yaml.Node, name string) *container.Type {
	t := s.input.members
	if s.input.at.Line == 0 {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s declares no input container, so it has no member %s that takes an element", s.Name, name),
			fmt.Sprintf("write `input: STRUCTURE` at %s: what one execution takes", s.Name))
		return container.Empty
	}
	if isWhole(n, t) {
		return container.NewStructure(t.Name, []container.Member{{Name: wholeContainer, Type: container.NewList(t)}})
	}
	i, ok := t.MemberIndex(name)
	if !ok {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s has no member %s", t, name), remedyForEach(d, name, t))
		return container.Empty
	}
	s.Bundle.Member = name
	members := make([]container.Member, len(t.Members))
	copy(members, t.Members)
	members[i] = container.Member{Name: name, Type: container.NewList(members[i].Type)}
	return container.NewStructure(t.Name, members)
}

func remedyForEach(d *draft, name string, t *container.Type) string {
	remedy := "name the member that takes one element"
	if member, _, dotted := strings.Cut(name, "."); dotted {
		if _, ok := t.MemberIndex(member); ok {
			return remedy + ", not a part of it; the list is given by the data connector"
		}
	}
	if member, _, loop := strings.Cut(name, " in "); loop {
		if _, ok := t.MemberIndex(member); ok {
			return remedy + ": " + member + "; the list is given by the data connector"
		}
	}
	if near, ok := d.nearest(name, t.MemberNames()); ok {
		return remedy + ": " + near + "? The list is given by the data connector"
	}
	return remedy + ", one of " + strings.Join(t.MemberNames(), ", ") + "; the list is given by the data connector"
}

// results is the structure of all that others can read of a bundle.
func (s *step) results() *container.Type {
	scope := condition.Scope{Results: s.output.members}
	var members []container.Member
	for _, word := range bundleWords {
		if word != condition.WordResults || s.output.at.Line > 0 {
			members = append(members, container.Member{Name: word.String(), Type: scope.TypeOf(word)})
		}
	}
	return container.NewStructure("", members)
}

// until reads the condition that ends a bundle before all its elements have returned.
func (d *draft) until(s *step, n *yaml.Node) *Condition {
	if n == nil {
		return nil
	}
	text, ok := d.conditionText(n, "until", "a condition")
	if !ok {
		return nil
	}
	c := d.check(text, condition.Scope{Members: processtable.Counts})
	problems := slices.Clone(c.problems)
	for i, p := range problems {
		name := firstName.FindString(text[min(p.Offset, len(text)):])
		if _, word := condition.WordNamed(name); name == "" || word || name != condition.RC && !strings.HasPrefix(p.Message, "there is no member") {
			continue
		}
		problems[i].Message = fmt.Sprintf("%s is of one execution of %s, and until is over _COUNT, _DONE and _FAILED", name, s.Name)
		problems[i].Remedy = "write what counts as failed under `failed`, over one execution's output, and `until: _FAILED > 0`"
	}
	d.failCondition(n, codeCondition, problems)
	return &Condition{Checked: c.Checked, Written: text, Pos: d.pos(n)}
}

// failed reads the condition that counts an execution as failed.
func (d *draft) failed(s *step, n *yaml.Node) *Condition {
	if n == nil {
		return nil
	}
	text, ok := d.conditionText(n, "failed", "a condition")
	if !ok || s.output.unknown() {
		return nil
	}
	c := d.check(text, condition.Scope{Members: s.output.members, RC: true})
	d.failCondition(n, codeCondition, d.withoutOwner(text, s, c.problems))
	return s.condition(d, n, text, c)
}

// isList says whether a mapping gives the bundle's list, or elements of it.
func (b *Bundle) isList(m Mapping) bool {
	name := b.Member
	if name == "" {
		name = wholeContainer
	}
	i, ok := b.Input.MemberIndex(name)
	return ok && len(m.To) == 1 && m.To[0] == i
}

// countWords are those that cost nothing to collect: a status tells them.
const countWords = condition.WordCount | condition.WordDone | condition.WordFailed

// collect leaves of what a bundle gives the counts, and of its lists those that are read (N21).
func (d *draft) collect() {
	for _, s := range d.steps {
		if s.outside == nil {
			continue
		}
		var members []container.Member
		at := map[int]int{}
		for i, m := range s.outside.output.members.Members {
			if word, _ := condition.WordNamed(m.Name); (s.reads|countWords)&word != 0 {
				at[i] = len(members)
				members = append(members, m)
			}
		}
		s.Bundle.Output = container.NewStructure("", members)
		s.outside.output.members = s.Bundle.Output
		for _, c := range d.Data {
			if c.Source != s.Name || c.Target == s.Name {
				continue
			}
			for i, m := range c.Mappings {
				if m.Expr == nil {
					c.Mappings[i].From = container.Path{at[m.From[0]]}
				}
			}
		}
	}
}
