package definition

import (
	"encoding/json"
	"fmt"
	"strings"

	"fmqm/container"
	"fmqm/internal/text"
	"fmqm/processtable"
)

// ShownStructure is the type of a data template (paper §3.2): what input and output of an
// activity are.
type ShownStructure struct {
	Structure string        `json:"structure"`
	Members   []ShownMember `json:"members"`
}

// ShownMember is one of its members, with the default where that is not its type's zero.
type ShownMember struct {
	Member  string          `json:"member"`
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default,omitempty"`
}

// showStructures gives the structures that the containers and events of a table are made of, in the
// order of their first use.
func showStructures(t *processtable.Table) []ShownStructure {
	var all []ShownStructure
	seen := map[string]bool{"": true}
	for _, a := range t.Activities {
		if a.Kind == processtable.KindBundle { // what one execution has is shown
			continue
		}
		for _, c := range []*container.Type{a.Input, a.Output} {
			all = addStructure(all, seen, c)
		}
		if a.Receive != nil {
			for _, e := range a.Receive.Events {
				all = addStructure(all, seen, e.Type)
			}
		}
		if a.Send != nil {
			all = addStructure(all, seen, a.Send.Type)
		}
	}
	return all
}

func addStructure(all []ShownStructure, seen map[string]bool, t *container.Type) []ShownStructure {
	for t.Kind == container.List {
		t = t.Elem
	}
	if t.Kind != container.Structure || seen[t.Name] {
		return all
	}
	seen[t.Name] = true
	s := ShownStructure{Structure: t.Name}
	for _, m := range t.Members {
		shown := ShownMember{Member: m.Name, Type: m.Type.String()}
		if m.Default != nil && !container.Equal(m.Default, container.Zero(m.Type)) {
			shown.Default, _ = container.EncodeJSON(m.Default) // what a table holds can be written
		}
		s.Members = append(s.Members, shown)
	}
	all = append(all, s)
	for _, m := range t.Members {
		all = addStructure(all, seen, m.Type)
	}
	return all
}

// writeStructures says, below a table, what the names in its columns Input and Output
// stand for.
func writeStructures(b *strings.Builder, all []ShownStructure) {
	for _, s := range all {
		members := make([]string, len(s.Members))
		for i, m := range s.Members {
			members[i] = m.Member + ": " + m.Type
			if m.Default != nil {
				members[i] += " = " + text.Line(clip(string(m.Default)))
			}
		}
		fmt.Fprintf(b, "%s is {%s}\n", s.Structure, strings.Join(members, ", "))
	}
}
