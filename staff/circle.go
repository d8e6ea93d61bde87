package staff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fmqm/internal/text"
)

// substitutes finds who the substitutes are, and refuses circles: each is told once, at the
// first of its people that the draft has.
func (c *checker) substitutes() {
	words := map[*member]Word{}
	for _, n := range c.subs {
		words[n.of] = n.word
		if n.of.substitute = c.s.people[Name(n.word.Text)]; n.of.substitute == nil {
			c.add(n.word, fmt.Sprintf("%s, substitute of %s, is not among people", text.Cut(n.word.Text, MaxName), n.of.name), c.near(n.word.Text, namesOf(c.s.people), "add this person, or name somebody else"))
		}
	}
	seen := map[*member]int{} // in which walk
	for walk, n := range c.subs {
		at, path := n.of, []string(nil)
		for ; at != nil && seen[at] == 0; at = at.substitute {
			seen[at] = walk + 1
			path = append(path, string(at.name))
		}
		if at == nil || seen[at] != walk+1 {
			continue
		}
		path = append(path[slices.Index(path, string(at.name)):], string(at.name))
		if len(path) == 2 {
			c.add(words[at], path[0]+" cannot stand in for "+path[0], "name somebody else, or remove substitute")
			continue
		}
		c.add(words[at], shorten(path)+" stand in for each other", "end the chain with somebody else")
	}
}

// depth refuses an organisation that is part of itself, or nested too deep.
func (c *checker) depth(d DraftOrganisation) {
	o := c.s.organisations[Organisation(d.Name.Text)]
	if o == nil {
		return
	}
	path := []string{string(o.name)}
	for at := o.partOf; at != nil; at = at.partOf {
		known := slices.Contains(path, string(at.name))
		path = append(path, string(at.name))
		switch {
		case at == o && len(path) == 2:
			c.add(d.PartOf, path[0]+" cannot be part of itself", "name the organisation above it, or remove part_of")
			return
		case at == o:
			// Told at the first of the circle by name: each of them comes here.
			if slices.Min(path) == path[0] {
				c.add(d.PartOf, shorten(path)+" are part of each other", "remove part_of of the topmost one")
			}
			return
		case known:
			return // below a circle, which is told where it is
		case len(path) > MaxDepth:
			c.add(d.PartOf, fmt.Sprintf("%s is inside more than %d others", o.name, MaxDepth-1), "use fewer levels")
			return
		}
	}
}

// shorten gives a chain of names as a text; of a long one the middle is left out.
func shorten(path []string) string {
	if len(path) > 10 {
		path = append(append(slices.Clone(path[:5]), "… ("+strconv.Itoa(len(path)-9)+" more)"), path[len(path)-4:]...)
	}
	return strings.Join(path, ", ")
}
