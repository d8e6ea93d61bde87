package definition

import "fmqm/condition"

// justification looks for outcomes in which given vertices run by going back from
// each: what must be TRUE for it, and for that in turn. It follows one way only and
// overlooks contradictions, so what it finds is simulated; in most processes it
// leaves nothing for the solver, which needs a question for each depth.
type justification struct {
	*simulation
	bit    uint64 // of the vertex at hand
	wanted []int  // by vertex: the last pursuit in which it was wanted to run
	count  int    // pursuits so far
	work   []int
}

// justify simulates an outcome for each of the vertices, 64 at a time. Each pass makes
// other choices, and takes another value for the conditions that do not matter.
func (d *decision) justify(vertices []int) {
	j := &justification{simulation: d.sim, wanted: make([]int, len(d.vertices))}
	for len(vertices) > 0 {
		n := min(64, len(vertices))
		rest := -uint64(d.sim.round % 2)
		for e := range j.free {
			j.free[e] = rest
		}
		for lane, v := range vertices[:n] {
			j.pursue(v, 1<<lane)
		}
		j.run()
		d.note()
		vertices = vertices[n:]
	}
}

// pursue sets conditions, in one bit, so that v may run.
func (j *justification) pursue(v int, bit uint64) {
	j.bit = bit
	j.count++
	j.vertex(v)
	for len(j.work) > 0 {
		v, j.work = j.work[len(j.work)-1], j.work[:len(j.work)-1]
		if at := &j.vertices[v]; len(at.in) > 0 {
			j.want(&at.start, true, at.in)
		}
	}
}

func (j *justification) vertex(v int) {
	if j.wanted[v] != j.count {
		j.wanted[v] = j.count
		j.work = append(j.work, v)
	}
}

// want brings part of a start condition to a value.
func (j *justification) want(l *condition.Logic, value bool, in []int) {
	needed := len(l.Args)
	switch l.Op {
	case condition.LogicVar:
		j.connector(in[l.Var], value)
		return
	case condition.LogicNot:
		value = !value
	case condition.LogicAnd:
		if !value {
			needed = 1
		}
	case condition.LogicOr:
		if value {
			needed = 1
		}
	case condition.LogicAtLeast:
		if needed = l.N; !value {
			needed = len(l.Args) - l.N + 1
		}
	case condition.LogicRan, condition.LogicSkipped, condition.LogicFailed: // see asking
	}
	if len(l.Args) == 0 {
		return
	}
	first := int(j.next() % uint64(len(l.Args)))
	for i := range min(needed, len(l.Args)) {
		j.want(&l.Args[(first+i)%len(l.Args)], value, in)
	}
}

// connector brings an edge to a value.
func (j *justification) connector(e int, value bool) {
	at := j.edges[e]
	if value {
		j.vertex(at.source)
	}
	switch at.kind {
	case edgeAlways, edgeNever:
	case edgeFree, edgeAside:
		j.set(e, value)
	case edgeOtherwise:
		for _, other := range j.vertices[at.source].out {
			if j.edges[other].kind == edgeFree {
				j.set(other, !value)
			}
		}
	}
}

func (j *justification) set(e int, value bool) {
	j.free[e] &^= j.bit
	if !value {
		return
	}
	j.free[e] |= j.bit
	for _, other := range j.edges[e].excludes {
		j.free[other] &^= j.bit
	}
}
