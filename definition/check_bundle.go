package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Outside of a bundle there are its words, and nothing of one execution (N21).

var (
	aName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	anyName = regexp.MustCompile(`\b[A-Za-z_][A-Za-z0-9_]*\b`)
)

// readOutside notes which of the words are read outside.
func (s *step) readOutside(names ...string) {
	for _, name := range names {
		word, _ := condition.WordNamed(name)
		s.reads |= word
		s.outputRead = s.outputRead || word == condition.WordResults
		s.readsRC = s.readsRC || word == condition.WordRCs
	}
}

// wordsOutside names those that there are, for messages.
func (s *step) wordsOutside() string {
	return strings.Join(s.outside.output.members.MemberNames(), ", ")
}

// failOutside reports the problems of a condition or expression outside of a bundle, and gives those that are not
// because it reads what is of one execution.
func (d *draft) failOutside(n *yaml.Node, text string, s *step, problems []condition.Problem) (others []condition.Problem) {
	var inside []condition.Problem
	for _, p := range problems {
		name := aName.FindString(text[min(p.Offset, len(text)):])
		if what, remedy, ok := s.onlyInside(name, text); ok {
			p.Message, p.Remedy = what, remedy
			inside = append(inside, p)
			continue
		}
		others = append(others, p)
	}
	d.failCondition(n, codeUnknownName, inside)
	return others
}

// onlyInside says of a name that outside of the bundle it means nothing, if it means something of one
// execution. Text is the condition that it stands in; empty: it is in a mapping.
func (s *step) onlyInside(name, text string) (what, remedy string, ok bool) {
	word, isWord := condition.WordNamed(name)
	_, isMember := s.output.members.MemberIndex(name)
	what = fmt.Sprintf("%s is of one execution of %s; outside are %s", name, s.Name, s.wordsOutside())
	switch {
	case name == condition.RC:
		remedy = "map _RCS, the list of them"
		if text != "" {
			remedy = "write `_RCS.exists(rc, rc != 0)`"
		}
	case isMember:
		remedy = "map _RESULTS, the list of them, onto a list"
		if text != "" {
			remedy = fmt.Sprintf("write `_RESULTS.exists(r, %s)`", overElement(text, s.output.members))
		}
	case isWord && word == condition.WordResults && s.output.at.Line == 0:
		what, remedy = fmt.Sprintf("%s declares no output container, so there is no _RESULTS", s.Name), fmt.Sprintf("write `output: STRUCTURE` at %s", s.Name)
	case isWord && word == condition.WordTimeout:
		remedy = "read _FAILED, or _ERRORS, in which a deadline is `deadline`"
	case isWord && word == condition.WordError:
		remedy = "read _FAILED, or _ERRORS, the list of them"
	case isWord && word == condition.WordEvent:
		remedy = "put the receive into a block with for_each, and map _EVENT to its sink"
	default:
		return "", "", false
	}
	return what, remedy, true
}

// overElement writes a condition over one output as one over an element r.
func overElement(text string, t *container.Type) string {
	return anyName.ReplaceAllStringFunc(condition.Canonical(text), func(name string) string {
		if _, ok := t.MemberIndex(name); ok {
			return "r." + name
		}
		return name
	})
}

// notOutside reports a source of a mapping that is of one execution.
func (d *draft) notOutside(n *yaml.Node, s *step) bool {
	first, _, _ := strings.Cut(n.Value, ".")
	what, remedy, is := s.onlyInside(first, "")
	if is {
		d.fail(d.pos(n), codeUnknownName, what, remedy)
	}
	return is
}

// oneElement reports one value where a bundle takes a list of them.
func (d *draft) oneElement(at Pos, to dataEnd, m Mapping, found *container.Type) bool {
	if !to.outside || m.Append || !to.step.Bundle.isList(m) || !container.SameType(m.Type.Elem, found) {
		return false
	}
	d.fail(at, codeMismatch, fmt.Sprintf("%s names the elements of %s, so from outside it is %s, and %s is %s", m.Target, to.owner, m.Type, m.Source, found),
		"map a list, or remove for_each")
	return true
}

// mapsWords reports a connector out of a bundle without a mapping: the names of its words are no
// members of anything.
func (d *draft) mapsWords(c connector, from, to dataEnd) bool {
	if len(to.members.Members) == 0 {
		return false
	}
	for _, name := range from.members.MemberNames() {
		if _, ok := to.members.MemberIndex(name); ok {
			return false
		}
	}
	member := to.members.Members[0].Name
	for _, m := range to.members.Members {
		if m.Type.Kind == container.List && container.SameType(m.Type.Elem, from.step.output.members) {
			member = m.Name
		}
	}
	d.fail(c.at, codeMapsNothing, fmt.Sprintf("the connector maps nothing: outside of %s are %s", from.owner, from.step.wordsOutside()),
		fmt.Sprintf("write `- %s -> %s: {%s: _RESULTS}`", c.source, c.target, member))
	return true
}

// failuresRead says whether anything takes the path of what failed in a bundle.
func (s *step) failuresRead() bool {
	return s.reads&(condition.WordFailed|condition.WordErrors) != 0
}

// reads says whether a condition over t reads one of its members.
func (c *Condition) reads(member string, t *container.Type) bool {
	return slices.Contains(condition.ReadsOf(c.Written, condition.Scope{Members: t}), member)
}

// checkBundle warns of what has no effect, and of a list that nothing gives.
func (d *draft) checkBundle(s *step) {
	if s.Bundle == nil {
		return
	}
	member := s.Bundle.Member
	if member == "" {
		member = wholeContainer
	}
	if !s.outside.given {
		d.warn(s.Bundle.Pos, codeUnset, fmt.Sprintf("nothing gives the list %s of %s, so it has no elements", member, s.Name),
			fmt.Sprintf("add `- source -> %s: {%s: LIST}`, or from an activity before it", s.Name, member))
	}
	if s.Bundle.Failed != nil && !s.failuresRead() && (s.Bundle.Until == nil || !s.Bundle.Until.reads(processtable.MemberFailed, processtable.Counts)) && !d.hasOtherwise(s) {
		d.warn(s.Bundle.Failed.Pos, codeNoEffect, fmt.Sprintf("failed of %s has no effect: nothing reads _FAILED", s.Name),
			fmt.Sprintf("add `- %s -> ACTIVITY: _FAILED > 0`, or `until: _FAILED > 0`, or leave it out", s.Name))
	}
}
