package definition

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/processtable"
)

// search reads by which members of the input instances are found.
func (p *processDraft) search(n *yaml.Node) {
	if n == nil || p.top.input.unknown() {
		return
	}
	remedy := "write it as [member, member]"
	if n.Kind == yaml.ScalarNode && memberPath.MatchString(n.Value) {
		remedy = fmt.Sprintf("write it as [%s]", n.Value)
	}
	if !p.is(n, yaml.SequenceNode, "a list of members", remedy) {
		return
	}
	switch count := len(n.Content); {
	case count == 0:
		p.fail(p.pos(n), codeValue, "search names no member", "name the members of the input that instances are to be found by, or leave it out")
	case count > processtable.MaxSearch:
		p.fail(p.pos(n), codeLimit, fmt.Sprintf("search names %d members", count),
			fmt.Sprintf("name at most %d: by others `fmqm list --where` finds instances, which reads each", processtable.MaxSearch))
		return
	}
	named := map[string]bool{}
	p.top.inputRead = true
	for _, c := range n.Content {
		member, ok := p.scalar(c, "a member of the input")
		if ok && named[member] {
			p.fail(p.pos(c), codeDuplicateName, fmt.Sprintf("member %s is named twice", member), "remove one of the two")
			continue
		}
		if named[member] = true; ok && p.searchable(c, member) {
			p.result.Search = append(p.result.Search, member)
		}
	}
}

// searchable says whether instances can be found by a member of the input, and reports why not.
func (p *processDraft) searchable(n *yaml.Node, member string) bool {
	_, of, known := p.top.resolve(n, p.top.input)
	switch {
	case !known:
		return false
	case len(member) > container.MaxMemberPath:
		p.fail(p.pos(n), codeLimit, fmt.Sprintf("a member that instances are found by has a path of %d bytes, and at most %d are allowed", len(member), container.MaxMemberPath),
			"use shorter names, or a member further out")
		return false
	case of.Kind == container.Structure:
		p.fail(p.pos(n), codeMismatch, fmt.Sprintf("%s is a structure, %s, and instances are found by single values", member, of),
			fmt.Sprintf("name a member of it: %s.%s", member, of.Members[0].Name))
		return false
	case !processtable.Searchable(of.Kind):
		p.fail(p.pos(n), codeMismatch, fmt.Sprintf("%s is %s, and instances are found by strings, ints, bools and timestamps", member, article(of)),
			"leave it out: `fmqm list --where` finds instances by it, and reads each")
		return false
	}
	return true
}

// needsSearchFormat names what a process has that only the newest format says; empty: nothing.
func needsSearchFormat(p *Process) string {
	switch {
	case len(p.Search) > 0:
		return "search"
	case slices.ContainsFunc(p.Notify, func(n Notice) bool { return n.On != 0 }):
		return "notify with on"
	}
	for _, a := range p.All() {
		if a.isOfferedElsewhere() && slices.ContainsFunc(a.Notify, func(n Notice) bool { return n.forPeople() }) {
			return "notify for people of what is offered at other nodes"
		}
	}
	return ""
}
