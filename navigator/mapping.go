package navigator

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// mappings are those of a data connector or of a feedback, ready for their source's end.
type mappings struct {
	all   []processtable.Mapping
	exprs []*condition.Expr // of each; nil: it copies
}

// prepareMappings loads what mappings work out over the output of row (R26).
func (a *Activity) prepareMappings(all []processtable.Mapping) (mappings, error) {
	m := mappings{all, make([]*condition.Expr, len(all))}
	for i, to := range all {
		if to.Expr == nil {
			continue
		}
		e, err := condition.LoadExpr(*to.Expr, a.scope(), to.Type)
		if err != nil {
			return m, fmt.Errorf("mapping onto %s: %w", to.Target, err)
		}
		if e.OfWords() != to.OfWords {
			return m, fmt.Errorf("mapping onto %s: its note of whether %q reads words only is wrong: compile and upload the process again", to.Target, to.Expr.Text)
		}
		a.asks += len(to.Expr.Text)
		a.long = a.long || e.Long()
		m.exprs[i] = e
	}
	return m, nil
}

// scope is what conditions and mappings of the activity see.
func (a *Activity) scope() condition.Scope {
	return condition.Scope{Members: a.Output, RC: a.Kind != processtable.KindSource, Words: a.Words()}
}

// carried says whether a data connector carries a mapping's value: all, or those of the engine's words (R22).
func carried(m *processtable.Mapping, data message.Data) bool {
	return data != message.DataWords || m.RC || m.Did || m.Word != 0 || m.OfWords
}

// sent are the mappings of which a data connector carries the values.
func sent(all []processtable.Mapping, data message.Data) []processtable.Mapping {
	if data != message.DataWords {
		return all
	}
	var some []processtable.Mapping
	for _, m := range all {
		if carried(&m, data) {
			some = append(some, m)
		}
	}
	return some
}

// values are the sources' values of what is carried, in order. To is where they go, for people.
func (ms *mappings) values(r *behaviour.Result, data message.Data, spent *condition.Spent, to processtable.ActivityID) ([]container.Value, error) {
	all := make([]container.Value, 0, len(ms.all))
	for i, m := range ms.all {
		switch {
		case !carried(&m, data):
		case ms.exprs[i] != nil:
			v, err := ms.exprs[i].Eval(spent, r.Output, values(r))
			if err != nil { // R12
				return nil, fmt.Errorf("mapping of %s onto %s of %s: %w", m.Source, m.Target, to, err)
			}
			all = append(all, v)
		case m.Did:
			all = append(all, r.By.String())
		case m.RC:
			all = append(all, r.RC)
		case m.Word != 0:
			all = append(all, values(r).Of(m.Word))
		default:
			all = append(all, r.Output.Get(m.From))
		}
	}
	return all, nil
}

// dataOf says what the data connectors out of an activity carry that has ended so.
func dataOf(r *behaviour.Result) message.Data {
	if byItself(r) {
		return message.DataPresent
	}
	return message.DataWords
}

// setter sets a member: with a copy, or with what has come itself, of what nobody changes.
type setter = func(in *container.Struct, at container.Path, v container.Value)

// assign sets what mappings bring, in their order (R5, R27).
func assign(in *container.Struct, all []processtable.Mapping, values []container.Value, set setter) error {
	for i, m := range all {
		if m.Did { // it is no member (R42)
			continue
		}
		if !m.Append {
			set(in, m.To, values[i])
		} else if err := in.Append(m.To, values[i]); err != nil {
			return fmt.Errorf("%s: %w", m.Target, err)
		}
	}
	return nil
}
