package definition

import (
	"fmt"
	"slices"

	"fmqm/condition"
)

// What start conditions ask beside whether connectors are TRUE: ran(X), skipped(X) and failed(X), of
// which exactly one holds.

// endsAsked calls each for what part of a start condition asks of which of its connectors.
func endsAsked(l *condition.Logic, each func(op condition.LogicOp, connector int)) {
	if l.Op >= condition.LogicRan && l.Op <= condition.LogicFailed {
		each(l.Op, l.Var)
	}
	for i := range l.Args {
		endsAsked(&l.Args[i], each)
	}
}

// canFail says whether something else than its own end can end an activity with a path of its own.
func (a *Activity) canFail() bool { return a.Bundle == nil && (a.Deadline != nil || a.Continues) }

// asks notes what a start condition asks: whoever asks whether an activity has failed takes the path
// of its deadline and its errors.
func (d *draft) asks(s *step) {
	endsAsked(&s.expression, func(op condition.LogicOp, connector int) {
		s.Start.Asks = true
		if of := d.stepOf(d.Control[s.in[connector]].Source); op != condition.LogicSkipped {
			of.reads |= of.Outside()
		}
	})
}

// checkAsked warns of what never holds of an activity, whatever becomes of it.
func (d *draft) checkAsked() {
	for _, s := range d.steps {
		var warned []string
		endsAsked(&s.expression, func(op condition.LogicOp, connector int) {
			of := d.stepOf(d.Control[s.in[connector]].Source)
			text := fmt.Sprintf("failed(%s)", of.Name)
			why, remedy := fmt.Sprintf("%s has neither `deadline` nor `on_error: continue`, so it waits for an operator when it is in error", of.Name), "add one of the two to it, or leave this out"
			switch {
			case op == condition.LogicRan, op == condition.LogicSkipped && of != d.head, op == condition.LogicFailed && of.canFail():
				return
			case of == d.head:
				text = map[condition.LogicOp]string{condition.LogicSkipped: "skipped", condition.LogicFailed: "failed"}[op] + "(source)"
				why, remedy = "source always runs", "leave it out"
			case of.Bundle != nil:
				why, remedy = fmt.Sprintf("%s has for_each, and ends by itself whatever becomes of its elements", of.Name), fmt.Sprintf("read _FAILED in a condition out of %s, or leave this out", of.Name)
			}
			if !slices.Contains(warned, text) {
				warned = append(warned, text)
				d.warn(s.Start.Pos, codeNeverTrue, fmt.Sprintf("%s can never be TRUE: %s", text, why), remedy)
			}
		})
	}
}

// endEdges are of an activity: one that is TRUE where it ran, and one where it then failed.
type endEdges struct{ began, failed int }

// endsOf gives those of an activity, which are in the graph once.
func (d *draft) endsOf(g *runGraph, vertex int, of *step) endEdges {
	if e, known := d.ends[of]; known {
		return e
	}
	e := endEdges{began: len(g.edges), failed: len(g.edges) + 1}
	g.edges = append(g.edges, runEdge{source: vertex, kind: edgeAside, sure: true}, runEdge{source: vertex, kind: edgeAside})
	g.vertices[vertex].out = append(slices.Clip(g.vertices[vertex].out), e.began, e.failed)
	d.ends[of] = e
	return e
}

// asking makes the vertex of an activity whose start condition asks how others ended one over edges
// alone.
func (d *draft) asking(g *runGraph, at map[string]int, s *step, v runVertex) runVertex {
	v.in = slices.Clip(v.in)
	edge := func(e int) condition.Logic {
		v.in = append(v.in, e)
		return condition.Logic{Op: condition.LogicVar, Var: len(v.in) - 1}
	}
	ends := map[int][2]condition.Logic{} // by connector: whether its activity began, and failed
	endsAsked(&s.logic, func(_ condition.LogicOp, connector int) {
		began, failed := condition.Logic{Op: condition.LogicAnd}, condition.Logic{Op: condition.LogicOr}
		of := d.stepOf(d.Control[s.in[connector]].Source)
		if of != d.head {
			e := d.endsOf(g, at[of.Name], of)
			if began = edge(e.began); of.canFail() {
				failed = edge(e.failed)
			}
		}
		ends[connector] = [2]condition.Logic{began, failed}
	})
	v.start = overEnds(s.logic, ends)
	return v
}

// overEnds is a start condition over such edges.
func overEnds(l condition.Logic, ends map[int][2]condition.Logic) condition.Logic {
	not := func(l condition.Logic) condition.Logic {
		return condition.Logic{Op: condition.LogicNot, Args: []condition.Logic{l}}
	}
	began, failed := ends[l.Var][0], ends[l.Var][1]
	switch l.Op {
	case condition.LogicRan:
		return condition.Logic{Op: condition.LogicAnd, Args: []condition.Logic{began, not(failed)}}
	case condition.LogicSkipped:
		return not(began)
	case condition.LogicFailed:
		return failed
	default:
	}
	args := make([]condition.Logic, len(l.Args))
	for i, arg := range l.Args {
		args[i] = overEnds(arg, ends)
	}
	l.Args = args
	return l
}
