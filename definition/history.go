package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// history reads of how many iterations of each loop the history is kept (N16).
func (p *processDraft) history(n *yaml.Node) {
	remedy := "write `history: {iterations: 100}`"
	if n == nil || !p.top.is(n, yaml.MappingNode, "the key iterations", remedy) {
		return
	}
	f := p.top.fields(n, "history", historyKeys)
	if !p.top.required(n, f, "iterations", "history", remedy) {
		return
	}
	v, ok := p.top.integer(f["iterations"], "iterations", 1, maxIterations)
	if !ok {
		return
	}
	p.result.History = v
	for _, d := range p.graphs {
		for _, s := range d.steps {
			if s.exitNode != nil {
				return
			}
		}
	}
	p.warn(p.top.pos(n), codeNoEffect, fmt.Sprintf("history has no effect: no activity of %s has iterations", p.result.Name), "leave it out, or write `exit: CONDITION` at what is repeated")
}
