package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
)

// A call is an activity with `at`: it is done at a node that its input names, and its connectors meet at its
// own (N20).

// nodeInText is the name of a node, where an expression begins with one.
var nodeInText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*`)

const remedyAt = "write `at: {node: EXPRESSION, of: [B, C]}`"

// call reads where an activity is done.
func (d *draft) call(s *step, n *yaml.Node) {
	if n == nil {
		return
	}
	s.Call = &Call{Pos: d.pos(n)}
	remedy := remedyAt
	if n.Kind == yaml.ScalarNode && d.isNode(n.Value) {
		remedy = fmt.Sprintf("a site that is always the same is `node: %s`; for one from the data %s", n.Value, remedyAt)
	} else if n.Kind == yaml.ScalarNode && !isNull(n) {
		remedy = fmt.Sprintf("write `at: {node: %s, of: [B, C]}`, with the nodes that may come up", n.Value)
	}
	if !d.is(n, yaml.MappingNode, "the keys of at", remedy) {
		return
	}
	f := d.fields(n, "at", callKeys)
	if of := f["of"]; of != nil {
		s.Call.Of = d.nodesMeant(of, nodeList{
			maxSet, fmt.Sprintf("there is no node at which %s may be done", s.Name), "name one, or leave `at` out",
			"at of " + s.Name + " has %d nodes", "use at most %d",
		})
	} else {
		d.fail(d.pos(n), codeMissingKey, "at without of", "write the nodes that may come up, `of: [B, C]`: each gets a table")
	}
	if node := f["node"]; node != nil {
		d.calledNode(s, node)
	} else {
		d.fail(d.pos(n), codeMissingKey, "at needs the key node", "write `node: EXPRESSION`, over the input: the name of the node, a string")
	}
}

// isNode says whether a text is the name of a node of the process, as far as it is read.
func (d *draft) isNode(name string) bool {
	if name == OriginNode || slices.Contains(d.result.Starts, name) {
		return true
	}
	for _, set := range d.sets {
		if slices.Contains(set.nodes, name) {
			return true
		}
	}
	for _, s := range d.steps {
		if s.Node == name || s.Call != nil && slices.Contains(s.Call.Of, name) {
			return true
		}
	}
	return false
}

// calledNode reads the expression that gives the node.
func (d *draft) calledNode(s *step, n *yaml.Node) {
	text, ok := d.scalar(n, "an expression over the input")
	if !ok {
		return
	}
	if strings.TrimSpace(text) == "" {
		d.fail(d.pos(n), codeForm, "at has no node", "write `node: EXPRESSION`, over the input: the name of the node, a string")
		return
	}
	s.Call.Node = d.expressionMeant(s, n, text, container.Scalar(container.String), func(problems []condition.Problem) (others []condition.Problem) {
		var nodes []condition.Problem
		for _, p := range problems {
			name := nodeInText.FindString(text[min(p.Offset, len(text)):])
			if name == "" || p.Want != nil || !d.isNode(name) {
				others = append(others, p)
				continue
			}
			p.Message, p.Remedy = fmt.Sprintf("%s is no member of %s", name, s.input.members), fmt.Sprintf("a text stands in quotes: %q", name)
			if text == name {
				p.Remedy = fmt.Sprintf("a site that is always the same is `node: %s`", name)
			}
			nodes = append(nodes, p)
		}
		d.failCondition(n, codeUnknownName, nodes)
		return others
	})
	if constant, err := strconv.Unquote(text); err == nil && len(s.Call.Of) > 0 && !slices.Contains(s.Call.Of, constant) {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("the node is always %s, which is not in `of`", text), "name one of "+strings.Join(s.Call.Of[:min(len(s.Call.Of), 20)], ", ")+", or add it there")
	}
}
