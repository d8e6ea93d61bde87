package definition

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
)

// wholeContainer is the source of a mapping that takes a whole container (FlowMark's word).
// A member of that name hides it.
const wholeContainer = "_STRUCT"

// isWhole says whether one side of a mapping is the whole container of type t.
func isWhole(n *yaml.Node, t *container.Type) bool {
	_, hidden := t.MemberIndex(wholeContainer)
	return n.Value == wholeContainer && !hidden
}

// whole writes out {target: _STRUCT}: each member of the source's container goes to the
// member of that name in the structure that target is. So tables know nothing of it.
func (d *draft) whole(e entry, from, to dataEnd) []Mapping {
	at, ok := d.target(e.key, to)
	if !ok {
		return nil
	}
	if from.outside {
		d.fail(d.pos(e.value), codeUnknownName, fmt.Sprintf("%s is one container, and %s has one for each element", wholeContainer, from.owner), "map _RESULTS, the list of them, onto a list")
		return nil
	}
	if len(from.members.Members) == 0 {
		d.fail(d.pos(e.value), codeUnknownName, fmt.Sprintf("%s declares no %s container", from.owner, from.key),
			fmt.Sprintf("write `%s: STRUCTURE` at %s", from.key, from.owner))
		return nil
	}
	if at.Type.Kind != container.Structure {
		d.fail(d.pos(e.value), codeMismatch, fmt.Sprintf("%s is %s, but %s is a whole container, %s", at.Target, article(at.Type), wholeContainer, article(from.members)),
			fmt.Sprintf("name a member of %s as the source, or one of type %s as the target", from.owner, from.members))
		return nil
	}
	var all []Mapping
	for i, m := range from.members.Members {
		j, ok := at.Type.MemberIndex(m.Name)
		if !ok {
			d.fail(d.pos(e.key), codeMismatch, fmt.Sprintf("%s (%s) has no member %s, but %s of %s has one", at.Target, article(at.Type), m.Name, from.key, from.owner),
				d.remedyWhole(at, from))
			continue
		}
		name := at.Target + "." + m.Name
		if t := at.Type.Members[j].Type; !container.SameType(t, m.Type) {
			d.fail(d.pos(e.key), codeMismatch, fmt.Sprintf("%s is %s, but %s of %s is %s", name, article(t), m.Name, from.owner, article(m.Type)),
				d.remedyWhole(at, from))
			continue
		}
		all = append(all, Mapping{
			Pos: at.Pos, Source: m.Name, Target: name, From: container.Path{i}, To: append(slices.Clone(at.To), j), Type: m.Type,
		})
	}
	return all
}

func (d *draft) remedyWhole(at Mapping, from dataEnd) string {
	m := from.members.Members[0].Name
	return fmt.Sprintf("declare %s as %s, or list the members to map, as {%s.%s: %s}", at.Target, article(from.members), at.Target, m, m)
}

// failWholeTarget reports {_STRUCT: member}, and shows what does it.
func (d *draft) failWholeTarget(e entry, from, to dataEnd) {
	remedy := "name the members to map, as {target: source}"
	if isWhole(e.value, from.members) {
		remedy = "leave the mapping out: members of the same name and type are mapped"
	} else if _, t, err := from.members.Resolve(e.value.Value); err == nil && t.Kind == container.Structure {
		var members []string
		for _, m := range t.Members {
			if _, ok := to.members.MemberIndex(m.Name); ok {
				members = append(members, fmt.Sprintf("%s: %s.%s", m.Name, e.value.Value, m.Name))
			}
		}
		if len(members) > 0 {
			remedy = "list them: {" + strings.Join(members, ", ") + "}"
		}
	}
	d.fail(d.pos(e.key), codeReservedName, fmt.Sprintf("%s is a source, and cannot be set", wholeContainer), remedy)
}
