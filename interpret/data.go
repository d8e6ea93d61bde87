package interpret

import (
	"fmt"
	"slices"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// works evaluates the expressions of the mappings out of s, or of its feedback: as soon as it has ended,
// whatever becomes of them, because one that fails is an error of s.
func (s *step) works(mappings []definition.Mapping, target string) (map[int]container.Value, error) {
	var values map[int]container.Value
	for i, m := range mappings {
		if m.Expr == nil || s.early && !m.OfWords {
			continue
		}
		e, err := s.expr(m)
		if err == nil {
			if values == nil {
				values = map[int]container.Value{}
			}
			values[i], err = e.Eval(&s.spent, s.output, &s.values)
		}
		if err != nil {
			return nil, fmt.Errorf("mapping of %s onto %s of %s: %w", m.Source, m.Target, target, err)
		}
	}
	return values, nil
}

func (s *step) expr(m definition.Mapping) (*condition.Expr, error) {
	if e := s.worked[m.Expr]; e != nil {
		return e, nil
	}
	scope := s.conditions()
	if s.activity == nil {
		scope.Words = condition.WordInstance | condition.WordBy
	}
	e, err := condition.LoadExpr(m.Expr.Checked, scope, m.Type)
	if s.worked == nil {
		s.worked = map[*definition.Condition]*condition.Expr{}
	}
	s.worked[m.Expr] = e
	return e, err
}

// worksAll evaluates the expressions of all data connectors out of s.
func (s *step) worksAll() error {
	for _, d := range s.outData {
		var err error
		if d.values, err = s.works(d.def.Mappings, d.def.Target); err != nil {
			return err
		}
	}
	return nil
}

// input gives the defaults of t with the mappings of what ran (N8).
func (s *step) input(t *container.Type) (*container.Struct, error) {
	input := container.New(t)
	for _, d := range s.inData {
		if !d.from.ran || s.beginsFirst() && !slices.Contains(s.race.counted, d.from) {
			continue
		}
		if err := d.from.apply(d.def.Mappings, d.values, input); err != nil {
			return nil, err
		}
	}
	return input, nil
}

// apply sets what s has ended with; where it did not end by itself, only the engine's words, and what is
// worked out of them.
func (s *step) apply(mappings []definition.Mapping, worked map[int]container.Value, to *container.Struct) error {
	for i, m := range mappings {
		var v container.Value
		switch {
		case m.RC:
			v = s.values.RC
		case m.Word == condition.WordBy && s.early: // nobody did it
			continue
		case m.Word != 0:
			v = s.values.Of(m.Word)
		case s.early && !m.OfWords:
			continue
		case m.Expr != nil:
			v = worked[i]
		default:
			v = s.output.Get(m.From)
		}
		if m.Append {
			before := to.Get(m.To).([]container.Value)
			if len(before) == container.MaxList {
				return fmt.Errorf("%s: the list has more than %d elements", m.Target, container.MaxList)
			}
			v = slices.Concat(before, []container.Value{v})
		}
		to.Assign(m.To, v)
	}
	return nil
}
