package who

import (
	"fmt"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Expression is a staff expression, ready to be asked. Any number of goroutines may ask it at once.
type Expression struct {
	root  *loaded
	input *container.Type
}

type loaded struct {
	*processtable.Who
	parts []*loaded
	expr  *condition.Expr // nil: the term has none
}

// Load makes a staff expression ready that is over an input of this type; nil: it reads no data. It takes
// some 10 µs a term. It fails where w is damaged, or not of that input.
func Load(w *processtable.Who, input *container.Type) (*Expression, error) {
	if input == nil {
		input = container.NewStructure("", nil)
	}
	root, err := load(w, condition.Scope{Members: input, Words: condition.WordInstance}, 0)
	if err != nil {
		return nil, fmt.Errorf("who may do it: %w", err)
	}
	return &Expression{root: root, input: input}, nil
}

func load(w *processtable.Who, scope condition.Scope, depth int) (*loaded, error) {
	if w == nil || depth > processtable.MaxWhoDepth {
		return nil, fmt.Errorf("the expression is damaged: compile and upload the process again")
	}
	l := &loaded{Who: w}
	if w.Of != nil {
		var err error
		if l.expr, err = condition.LoadExpr(*w.Of, scope, w.Wants()); err != nil {
			return nil, err
		}
	}
	for _, p := range w.Parts {
		part, err := load(p, scope, depth+1)
		if err != nil {
			return nil, err
		}
		l.parts = append(l.parts, part)
	}
	return l, nil
}
