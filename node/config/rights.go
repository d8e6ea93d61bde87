package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Right grants roles to callers of this node (N28).
type Right struct {
	// Who are names, in which * stands for any characters: of an operator's certificate, or user:NAME and group:NAME of
	// this machine, person:NAME and role:NAME of this node's staff.
	Who       []string
	Roles     []string // of Roles
	Processes []string // names, in which * stands for any characters; nil: all, and what is of the node itself
}

// Roles are the words of `roles` in `rights`.
var Roles = []string{"viewer", "clerk", "operator", "definer", "admin"}

const wantRight = "{who: NAME, roles: [ROLE, ...]}"

// whoPattern is the name of somebody who is granted rights.
var whoPattern = regexp.MustCompile(`^((user|group|person|role):)?[A-Za-z0-9._@$+*-]{1,64}$`)

// rights reads who may do what.
func (r *reader) rights(n *yaml.Node, c *Config) {
	c.Rights = []Right{} // said, if only that nobody may do anything
	for _, item := range r.items(n, "rights", wantRight) {
		var one Right
		said := map[string]bool{}
		before := len(r.problems)
		r.mapping(item, "an entry of rights", map[string]func(k, v *yaml.Node){
			"who":       func(_, v *yaml.Node) { said["who"] = true; r.rightWho(v, &one) },
			"roles":     func(_, v *yaml.Node) { said["roles"] = true; r.rightRoles(v, &one) },
			"processes": func(k, v *yaml.Node) { r.patterns(k, v, &one.Processes) },
		})
		for _, key := range []string{"who", "roles"} {
			if len(r.problems) == before && !said[key] {
				r.add(item, "this entry of rights has no "+key, "write "+wantRight)
			}
		}
		if len(r.problems) == before {
			c.Rights = append(c.Rights, one)
		}
	}
}

func (r *reader) rightWho(n *yaml.Node, one *Right) {
	add := func(item *yaml.Node, s string) {
		if !whoPattern.MatchString(s) {
			r.add(item, fmt.Sprintf("%q cannot be somebody who has rights", s), "write the NAME of an operator's certificate, user:NAME or group:NAME of this machine, person:NAME or role:NAME of the staff; * stands for any characters")
			return
		}
		one.Who = append(one.Who, s)
	}
	if n.Kind == yaml.ScalarNode {
		if s, ok := r.scalar(n, "a name"); ok {
			add(n, s)
		}
		return
	}
	r.list(n, "who", "NAME", add)
}

func (r *reader) rightRoles(n *yaml.Node, one *Right) {
	r.list(n, "roles", "ROLE", func(item *yaml.Node, s string) {
		if !slices.Contains(Roles, s) {
			r.add(item, fmt.Sprintf("there is no role %q", s), "write one of: "+strings.Join(Roles, ", "))
			return
		}
		one.Roles = append(one.Roles, s)
	})
}

// RightsSaid says in a few words who may do what, for people.
func (c *Config) RightsSaid() string {
	if c.Rights == nil {
		return "no rights: whoever may ask may do all"
	}
	return fmt.Sprintf("rights in %d entries", len(c.Rights))
}

// rightsWarnings says what is probably not meant.
func (c *Config) rightsWarnings() (all []string) {
	if c.Rights == nil {
		return nil
	}
	if !slices.ContainsFunc(c.Rights, func(r Right) bool { return r.Processes == nil && len(r.Who) > 0 && slices.Contains(r.Roles, "admin") }) {
		all = append(all, "rights: nobody has the role admin over all processes, so nobody can back up this node, go on with a stopped link or rebuild a peer: add {who: NAME, roles: [admin]}")
	}
	if c.Staff == nil && slices.ContainsFunc(c.Rights, func(r Right) bool {
		return slices.ContainsFunc(r.Who, func(s string) bool { return strings.HasPrefix(s, "person:") || strings.HasPrefix(s, "role:") })
	}) {
		all = append(all, "rights: they name people or roles of the staff, and this node has none: write `staff: {file: FILE}`")
	}
	return all
}
