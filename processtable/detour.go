package processtable

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fmqm/internal/cbor"
)

// writeDetours writes what tables have from format 2 on.
func writeDetours(m *cbor.Map, t *Table) error {
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
	place := func(b []byte, a ActivityID) []byte {
		n, ok := at[a]
		if !ok && failed == nil {
			failed = fmt.Errorf("detours and resolvers: the roster has no %q", a)
		}
		return cbor.AppendUint(b, uint64(n))
	}
	places := func(b []byte, all []ActivityID) []byte {
		b = cbor.AppendArray(b, len(all))
		for _, a := range all {
			b = place(b, a)
		}
		return b
	}
	list(m, keyDetours, t.Detours, func(b []byte, x Detour) []byte {
		return places(places(place(cbor.AppendArray(b, 3), x.Activity), x.OutControl), x.OutData)
	})
	list(m, keyResolvers, t.Resolvers, func(b []byte, r Resolver) []byte {
		return places(appendName(cbor.AppendArray(b, 2), r.Node), r.Activities)
	})
	return failed
}

// ReaderOf gives the newest format that a reader of an encoded table must know, by its
// first few hundred bytes: its own, or EnvelopeFormat if that is newer; 0 if it says none.
func ReaderOf(data []byte) int {
	if !inEnvelope(data) {
		return formatOf(data)
	}
	r, _ := readEnvelope(data)
	r.Length()
	return max(EnvelopeFormat, formatOf(data[len(data)-r.Left():]))
}

// FormatOf gives the format that an encoded table says it has, without reading the rest
// of it; 0 if it says none. One in an envelope has to be whole.
func FormatOf(data []byte) int {
	data, _ = openEnvelope(data)
	return formatOf(data)
}

func formatOf(data []byte) int {
	r := cbor.NewReader(data)
	if f := r.Map(); f.Next() && f.Key == keyFormat {
		return int(f.Uint(math.MaxInt32))
	}
	return 0
}

func (d *decoder) detour() (x Detour) {
	d.Tuple(3)
	return Detour{
		Activity:   d.activityAt(len(d.table.Roster) - 1),
		OutControl: d.activitiesAt(),
		OutData:    d.activitiesAt(),
	}
}

func (d *decoder) resolver() Resolver {
	d.Tuple(2)
	return Resolver{Node: NodeID(d.Text(MaxName)), Activities: d.activitiesAt()}
}

func (d *decoder) activitiesAt() []ActivityID {
	return items(d, maxConnectors, func() ActivityID { return d.activityAt(len(d.table.Roster)) })
}

// activityAt reads a place of at most limit.
func (d *decoder) activityAt(limit int) ActivityID {
	roster := d.table.Roster
	if len(roster) == 0 {
		d.Fail("there is no roster before it")
		return ""
	}
	n := d.number(limit)
	if n == len(roster) {
		return Sink
	}
	return roster[n].Activity
}

// detours checks what the roster and the activities call for of Detours and Resolvers.
func (v *validator) detours() error {
	into := v.controlInto()
	last := -1
	for _, x := range v.t.Detours {
		at := v.at(x.Activity)
		switch {
		case v.isLocal(v.row(x.Activity)):
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
			into[c.To]++ // the count of sinks means nothing
		}
	}
	for _, x := range v.t.Detours {
		for _, to := range x.OutControl {
			into[to]++
		}
	}
	return into
}

// row is that of an activity of the roster.
func (v *validator) row(name ActivityID) RowID {
	row, _ := v.t.Of(name)
	return row
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
	from := v.row(x.Activity)
	if slices.Contains(x.OutControl, Sink) && slices.ContainsFunc(x.OutControl, func(to ActivityID) bool { return to != Sink && !v.mayNotWait(from.Inside, to) }) {
		return errors.New("control connectors to sink and to activities: sink follows only what has no successors, or none that wait for it")
	}
	if err := v.sameEnds("control", from.Inside, v.remoteControl[from], x.OutControl); err != nil {
		return err
	}
	return v.sameEnds("data", from.Inside, v.remoteData[from], x.OutData)
}

// sameEnds holds what activities here say of their incoming connectors against what a
// detour says of its outgoing ones.
func (v *validator) sameEnds(kind string, inside ActivityID, in, out []ActivityID) error {
	for _, to := range in {
		if !slices.Contains(out, to) {
			return fmt.Errorf("%[1]s has a %[2]s connector from it, but the detour has none to %[1]s", to, kind)
		}
	}
	for _, to := range out {
		if _, known := v.t.NodeOf(RowID{Name: to, Inside: inside}); !known {
			return fmt.Errorf("a %s connector leads to %s, which is not inside of the same block", kind, to)
		}
		if v.isLocal(RowID{Name: to, Inside: inside}) && !slices.Contains(in, to) {
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
		if !v.t.validPlace(r.Node) || r.Node == v.t.Node || r.Node <= before || len(r.Activities) == 0 {
			return fmt.Errorf("resolver %q: want the names of other nodes, in order, each once and with activities", r.Node)
		}
		before = r.Node
		last := -1
		for _, a := range r.Activities {
			at := v.at(a)
			switch {
			case !v.leads[a]:
				return fmt.Errorf("resolver %s: no connector leads from %s to an activity here", r.Node, a)
			case v.index.places[a].Node == r.Node:
				return fmt.Errorf("resolver %s: it hosts %s itself", r.Node, a)
			case at <= last:
				return fmt.Errorf("resolver %s: %s is not in the order of the roster, or occurs twice", r.Node, a)
			}
			last = at
		}
	}
	return nil
}
