package processtable

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// writeDetours writes what tables have from format 2 on.
func writeDetours(o object, t *Table) error {
	if len(t.Detours)+len(t.Resolvers) == 0 {
		return nil
	}
	if t.Format < 2 {
		return fmt.Errorf("format %d has no detours and no resolvers", t.Format)
	}
	at := make(map[ActivityID]int, len(t.Roster)+1)
	for i, p := range t.Roster {
		at[p.Activity] = i
	}
	at[Sink] = len(t.Roster)
	var failed error
	place := func(a ActivityID) {
		n, ok := at[a]
		if !ok && failed == nil {
			failed = fmt.Errorf("detours and resolvers: the roster has no %q", a)
		}
		o.w.int(int64(n))
	}
	places := func(all []ActivityID) {
		o.w.array(len(all))
		for _, a := range all {
			place(a)
		}
	}
	o.list(keyDetours, len(t.Detours), func(i int) {
		o.w.array(3)
		place(t.Detours[i].Activity)
		places(t.Detours[i].OutControl)
		places(t.Detours[i].OutData)
	})
	o.list(keyResolvers, len(t.Resolvers), func(i int) {
		o.w.array(2)
		o.w.text(string(t.Resolvers[i].Node))
		places(t.Resolvers[i].Activities)
	})
	return failed
}

// ReaderOf gives the newest format that a reader of an encoded table must know, by its
// beginning: its own, or EnvelopeFormat; 0 if it says none.
func ReaderOf(data []byte) int {
	if inEnvelope(data) {
		return EnvelopeFormat
	}
	return FormatOf(data)
}

// FormatOf gives the format that an encoded table says it has, without reading the rest
// of it; 0 if it says none. One in an envelope has to be whole.
func FormatOf(data []byte) int {
	data, _ = openEnvelope(data)
	r := &reader{data: data}
	if _, err := r.expect(majorMap); err != nil {
		return 0
	}
	if key, err := r.uint(keyFormat); err != nil || key != keyFormat {
		return 0
	}
	n, err := r.uint(math.MaxInt32)
	if err != nil {
		return 0
	}
	return n
}

// parts reads a list of so many different things.
func (d *decoder) parts(what string, get ...func() error) error {
	n := 0
	err := d.array(len(get), func(i int) error {
		n++
		return get[i]()
	})
	if err == nil && n != len(get) {
		err = fmt.Errorf("want %d parts of %s, not %d", len(get), what, n)
	}
	return err
}

func (d *decoder) detour(t *Table) (x Detour, err error) {
	return x, d.parts("a detour",
		func() error {
			return read(&x.Activity, "activity", func() (ActivityID, error) { return d.activityAt(t, len(t.Roster)-1) })
		},
		func() error { return d.activitiesAt(t, &x.OutControl, "outgoing control connector") },
		func() error { return d.activitiesAt(t, &x.OutData, "outgoing data connector") },
	)
}

func (d *decoder) resolver(t *Table) (x Resolver, err error) {
	return x, d.parts("a resolver",
		func() error { return read((*string)(&x.Node), "node", d.name) },
		func() error { return d.activitiesAt(t, &x.Activities, "activity") },
	)
}

func (d *decoder) activitiesAt(t *Table, to *[]ActivityID, what string) error {
	return list(d.reader, to, what, maxConnectors, func() (ActivityID, error) { return d.activityAt(t, len(t.Roster)) })
}

// activityAt reads a place of at most limit.
func (d *decoder) activityAt(t *Table, limit int) (ActivityID, error) {
	if len(t.Roster) == 0 {
		return "", errors.New("there is no roster before it")
	}
	n, err := d.uint(limit)
	if err != nil {
		return "", err
	}
	if n == len(t.Roster) {
		return Sink, nil
	}
	return t.Roster[n].Activity, nil
}

// detours checks what the roster and the activities call for of Detours and Resolvers.
func (v *validator) detours() error {
	into := v.controlInto()
	last := -1
	for _, x := range v.t.Detours {
		at := v.at(x.Activity)
		switch {
		case v.isLocal(x.Activity):
			return fmt.Errorf("detour of %s: it is hosted here", x.Activity)
		case at <= last:
			return fmt.Errorf("detour of %s: it is not in the order of the roster, or occurs twice", x.Activity)
		case into[x.Activity] != 1:
			return fmt.Errorf("detour of %s: want one control connector into it, of an activity here or with a detour, not %d", x.Activity, into[x.Activity])
		case len(x.OutControl) == 0:
			return fmt.Errorf("detour of %s: no control connector leads out of it", x.Activity)
		}
		last = at
		if err := v.detourTargets(x); err != nil {
			return fmt.Errorf("detour of %s: %w", x.Activity, err)
		}
	}
	return v.resolvers()
}

// controlInto counts the control connectors that lead from activities hosted here, and
// from those with a detour, to each activity.
func (v *validator) controlInto() map[ActivityID]int {
	into := map[ActivityID]int{}
	if len(v.t.Detours) == 0 {
		return into
	}
	for _, a := range v.t.Activities {
		for _, c := range a.OutControl {
			into[c.To]++
		}
	}
	for _, x := range v.t.Detours {
		for _, to := range x.OutControl {
			into[to]++
		}
	}
	return into
}

// at is an activity's index in the roster; that of sink is behind the last.
func (v *validator) at(a ActivityID) int {
	if v.places == nil {
		v.places = make(map[ActivityID]int, len(v.t.Roster)+1)
		for i, p := range v.t.Roster {
			v.places[p.Activity] = i
		}
		v.places[Sink] = len(v.t.Roster)
	}
	return v.places[a]
}

func (v *validator) detourTargets(x Detour) error {
	for _, targets := range [][]ActivityID{x.OutControl, x.OutData} {
		seen := map[ActivityID]bool{}
		for _, to := range targets {
			switch {
			case to == x.Activity:
				return errors.New("a connector leads from it to itself")
			case seen[to]:
				return fmt.Errorf("two connectors of one kind lead to %s", to)
			}
			seen[to] = true
		}
	}
	if slices.Contains(x.OutControl, Sink) && len(x.OutControl) > 1 {
		return errors.New("control connectors to sink and to activities: sink follows only what has no successors")
	}
	if err := v.sameEnds("control", v.remoteControl[x.Activity], x.OutControl); err != nil {
		return err
	}
	return v.sameEnds("data", v.remoteData[x.Activity], x.OutData)
}

// sameEnds holds what activities here say of their incoming connectors against what a
// detour says of its outgoing ones.
func (v *validator) sameEnds(kind string, in, out []ActivityID) error {
	for _, to := range in {
		if !slices.Contains(out, to) {
			return fmt.Errorf("%[1]s has a %[2]s connector from it, but the detour has none to %[1]s", to, kind)
		}
	}
	for _, to := range out {
		if v.isLocal(to) && !slices.Contains(in, to) {
			return fmt.Errorf("a %[1]s connector leads to %[2]s, but %[2]s has none from it", kind, to)
		}
	}
	return nil
}

// resolvers checks that only what leads here can be resolved, and not by its own host.
func (v *validator) resolvers() error {
	if len(v.t.Resolvers) == 0 {
		return nil
	}
	var before NodeID
	for _, r := range v.t.Resolvers {
		if !ValidNode(string(r.Node)) || r.Node == v.t.Node || r.Node <= before || len(r.Activities) == 0 {
			return fmt.Errorf("resolver %q: want the names of other nodes, in order, each once and with activities", r.Node)
		}
		before = r.Node
		last := -1
		for _, a := range r.Activities {
			at := v.at(a)
			switch {
			case !v.leads[a]:
				return fmt.Errorf("resolver %s: no connector leads from %s to an activity here", r.Node, a)
			case v.index.places[a] == r.Node:
				return fmt.Errorf("resolver %s: it hosts %s itself", r.Node, a)
			case at <= last:
				return fmt.Errorf("resolver %s: %s is not in the order of the roster, or occurs twice", r.Node, a)
			}
			last = at
		}
	}
	return nil
}
