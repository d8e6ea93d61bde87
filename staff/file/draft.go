package file

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/staff"
)

// draft reads the file into a draft; false: it is no YAML.
func (r *reader) draft() (staff.Draft, bool) {
	var d staff.Draft
	root, ok := r.parse()
	if !ok {
		return d, false
	}
	r.mapping(root, "a staff file", map[string]key{
		"roles": func(_, v *yaml.Node) { r.words(v, "roles", "NAME of a role", &d.Roles) },
		"organisations": func(_, v *yaml.Node) {
			r.pairs(v, "organisations", func(k, v *yaml.Node) { d.Organisations = append(d.Organisations, r.organisation(k, v)) })
		},
		"people": func(_, v *yaml.Node) {
			if v.Kind == yaml.MappingNode {
				d.People = make([]staff.DraftPerson, 0, len(v.Content)/2)
			}
			r.pairs(v, "people", func(k, v *yaml.Node) { d.People = append(d.People, r.person(k, v)) })
		},
	})
	if len(d.People) == 0 && len(r.problems) == 0 {
		r.add(nil, "the staff file has no people", beginning+", or remove `staff` from the configuration")
	}
	return d, true
}

// at gives a key as a word.
func at(k *yaml.Node) staff.Word { return staff.Word{Text: k.Value, Line: k.Line, Column: k.Column} }

// nothing says that a name stands alone: `ward-3:`, as `ward-3: {}`.
func nothing(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Tag == "!!null" && v.Value == ""
}

func (r *reader) organisation(k, v *yaml.Node) staff.DraftOrganisation {
	o := staff.DraftOrganisation{Name: at(k)}
	if nothing(v) {
		return o
	}
	r.mapping(v, "an organisation", map[string]key{
		"manager": func(_, v *yaml.Node) { r.word(v, "the NAME of a person", &o.Manager) },
		"part_of": func(_, v *yaml.Node) { r.word(v, "the NAME of an organisation", &o.PartOf) },
	})
	return o
}

func (r *reader) person(k, v *yaml.Node) staff.DraftPerson {
	p := staff.DraftPerson{Name: at(k)}
	if nothing(v) {
		return p
	}
	r.mapping(v, "a person", map[string]key{
		"name":         func(_, v *yaml.Node) { r.word(v, "the name in full", &p.Full) },
		"roles":        func(_, v *yaml.Node) { r.words(v, "roles", "NAME of a role", &p.Roles) },
		"organisation": func(_, v *yaml.Node) { r.word(v, "the NAME of an organisation", &p.Organisation) },
		"substitute":   func(_, v *yaml.Node) { r.word(v, "the NAME of a person", &p.Substitute) },
		"same":         func(_, v *yaml.Node) { r.words(v, "same", "NAME@NODE", &p.Same) },
		"not":          func(_, v *yaml.Node) { r.words(v, "not", "NAME@NODE", &p.Not) },
		"logins": func(_, v *yaml.Node) {
			p.HasLogins = true
			r.words(v, "logins", "NAME of a Unix user", &p.Logins)
		},
		"absent": func(_, v *yaml.Node) { r.absent(v, &p) },
	})
	return p
}

const wantAbsent = "true, or [{from: 2026-07-01, until: 2026-07-14}]"

// absent reads whether, or when, a person is absent.
func (r *reader) absent(n *yaml.Node, p *staff.DraftPerson) {
	if !r.plain(n) {
		return
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			r.absence(item, p)
		}
	case n.Kind == yaml.MappingNode:
		r.absence(n, p)
	case n.Tag == "!!bool":
		p.Always = strings.EqualFold(n.Value, "true")
	default:
		r.add(n, "this does not say when "+p.Name.Text+" is absent", "write "+wantAbsent)
	}
}

func (r *reader) absence(n *yaml.Node, p *staff.DraftPerson) {
	const want = "a day such as 2026-07-01, or a time such as 2026-07-01T12:00:00Z"
	var a staff.DraftAbsence
	before := len(r.problems)
	r.mapping(n, "an absence", map[string]key{
		"from":  func(_, v *yaml.Node) { r.word(v, want, &a.From) },
		"until": func(_, v *yaml.Node) { r.word(v, want, &a.Until) },
	})
	if a.From.Text == "" && a.Until.Text == "" {
		if len(r.problems) == before {
			r.add(n, "this absence has neither from nor until", "write "+wantAbsent)
		}
		return
	}
	p.Absent = append(p.Absent, a)
}
