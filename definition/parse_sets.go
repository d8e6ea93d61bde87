package definition

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// A set of `nodes` is a list of nodes that is named once. Where nodes are listed its name stands for them,
// alone or in the list.

// maxSet is how many nodes a set may have.
const maxSet = 10_000

// dashes makes a name of a node one that conditions could have.
var dashes = strings.NewReplacer("-", "_")

// nodeSet is a set as it is written.
type nodeSet struct {
	at    Pos
	name  string
	nodes []string
	used  bool
}

// nodeList is what is said of a list of nodes.
type nodeList struct {
	most             int
	none, noneRemedy string // there are none
	over, overRemedy string // there are so many
}

// nodeSets reads the sets of the process.
func (p *processDraft) nodeSets(n *yaml.Node) {
	remedy := "write NAME: [A, B]"
	if n == nil || !p.is(n, yaml.MappingNode, "sets of nodes by name", remedy) {
		return
	}
	entries := p.entries(n, codeDuplicateName, "set")
	if len(entries) == 0 {
		p.fail(p.pos(n), codeValue, "there is no set", "write NAME: [A, B], or leave `nodes` out")
	}
	for _, e := range entries {
		name, ok := p.name(e.key, setName)
		ok = ok && p.isNodeName(e.key, name)
		p.sets = append(p.sets, &nodeSet{at: p.pos(e.key), name: name, used: !ok})
	}
	for i, e := range entries {
		s := p.sets[i]
		list := nodeList{maxSet, fmt.Sprintf("the set %s has no nodes", s.name), "name one, or leave it out", "the set " + s.name + " has %d nodes", "use at most %d"}
		s.nodes = p.listOfNodes(e.value, list, func(c *yaml.Node, name string) []string {
			if p.set(name) == nil {
				return []string{name}
			}
			what := fmt.Sprintf("%s is a set, and a set lists nodes", name)
			if name == s.name {
				what = fmt.Sprintf("the node %s is called like the set that it is in", name)
			}
			p.fail(p.pos(c), codeValue, what, "write its nodes out, or give the set another name")
			return nil
		})
	}
}

// set gives the set of that name; nil: there is none.
func (p *processDraft) set(name string) *nodeSet {
	i := slices.IndexFunc(p.sets, func(s *nodeSet) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return p.sets[i]
}

// nodesMeant reads nodes as a list of them and of sets, or a set alone, and writes sets out.
func (p *processDraft) nodesMeant(n *yaml.Node, list nodeList) []string {
	if n.Kind == yaml.ScalarNode {
		if s := p.set(n.Value); s != nil {
			s.used = true
			return slices.Clone(s.nodes)
		}
	}
	return p.listOfNodes(n, list, func(c *yaml.Node, name string) []string {
		s := p.set(name)
		if s == nil {
			return []string{name}
		}
		s.used = true
		return s.nodes
	})
}

// listOfNodes reads a list; each gives the nodes that one of its names stands for.
func (p *processDraft) listOfNodes(n *yaml.Node, list nodeList, each func(n *yaml.Node, name string) []string) []string {
	form := "write it as [A, B]"
	if len(p.sets) > 0 {
		form += ", or name a set of `nodes`"
	}
	if n.Kind == yaml.ScalarNode && validNode(n.Value) {
		form = fmt.Sprintf("write it as [%s]", n.Value)
		if near, ok := p.nearest(n.Value, p.setNames()); ok {
			form = fmt.Sprintf("did you mean the set %s? A node is written as [%s]", near, n.Value)
		}
	}
	if !p.is(n, yaml.SequenceNode, "a list of nodes", form) {
		return nil
	}
	if len(n.Content) == 0 {
		p.fail(p.pos(n), codeValue, list.none, list.noneRemedy)
	}
	var all []string
	var over Pos // of the first that is one too many
	named := map[string]bool{}
	for _, c := range n.Content {
		name, ok := p.name(c, nodeName)
		if !ok || !p.isNodeName(c, name) {
			continue
		}
		for _, node := range each(c, name) {
			switch {
			case named[node]:
				p.fail(p.pos(c), codeDuplicateName, fmt.Sprintf("node %s is named twice", node), "remove one of the two")
			default:
				if len(all) == list.most {
					over = p.pos(c)
				}
				named[node] = true
				all = append(all, node)
			}
		}
	}
	if len(all) > list.most {
		p.fail(over, codeLimit, fmt.Sprintf(list.over, len(all)), fmt.Sprintf(list.overRemedy, list.most))
		return all[:list.most]
	}
	return all
}

func validNode(name string) bool {
	return condition.ValidName(dashes.Replace(name))
}

func (p *processDraft) setNames() []string {
	names := make([]string, len(p.sets))
	for i, s := range p.sets {
		names[i] = s.name
	}
	return names
}

// oneNode reports the name of a set where one node is meant.
func (d *draft) oneNode(s *step, n *yaml.Node) {
	set := d.set(s.Node)
	if set == nil || set.name == "" {
		return
	}
	set.used = true
	d.fail(d.pos(n), codeValue, fmt.Sprintf("%s is a set of nodes, and %s has one node", s.Node, s.Name),
		fmt.Sprintf("name one of them; for a site from the data write `at: {node: EXPRESSION, of: %s}` besides", s.Node))
}

// checkSets warns of sets that nothing names.
func (p *processDraft) checkSets() {
	for _, s := range p.sets {
		if !s.used {
			p.warn(s.at, codeNoEffect, fmt.Sprintf("nothing names the set %s", s.name), "name it under `starts` or `of`, or leave it out")
		}
	}
}
