package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"fmqm/container"
)

// Difference is one thing that two definitions do not have alike in their meaning: layout, comments, descriptions and
// the order of activities make none.
type Difference struct {
	Kind   string // process, structure, activity, control or data
	Name   string // of the structure or activity, as documents/check inside a block; of connectors SOURCE -> TARGET
	Change string // added, removed or changed
	Key    string // of what is changed, as the language has it; empty: the whole is added or removed
	Before string // how it was, for people; empty: it was not there
	After  string
}

// The changes that a Difference tells of.
const (
	DiffAdded   = "added"
	DiffRemoved = "removed"
	DiffChanged = "changed"
)

// Diff says what is otherwise in a definition than in one before it, by kind and name; nothing: they mean the same, but
// for name and version.
func Diff(before, after *Process) ([]Difference, error) {
	b, err := canonicalOf(before)
	if err != nil {
		return nil, fmt.Errorf("compare %s@%d: %w", before.Name, before.Version, err)
	}
	a, err := canonicalOf(after)
	if err != nil {
		return nil, fmt.Errorf("compare %s@%d: %w", after.Name, after.Version, err)
	}
	d := &differ{}
	d.fields("process", "", *b, *a)
	d.shape("input", before, after)
	d.shape("output", before, after)
	named(d, "structure", "", b.Structures, a.Structures, func(s canonicalStructure) string { return s.Name }, func(name string, b, a canonicalStructure) {
		d.members(name, b, a)
	})
	d.graph("", side{&canonicalGraph{b.Activities, b.Control, b.Data}, &before.Graph}, side{&canonicalGraph{a.Activities, a.Control, a.Data}, &after.Graph})
	b.Name, b.Version = a.Name, a.Version
	if len(d.all) == 0 && !reflect.DeepEqual(b, a) { // of what has no key of its own here
		d.add("process", "", "definition", "one meaning", "another one")
	}
	return d.all, nil
}

// side is a graph of one of the two: in its canonical form, and with names where that has places.
type side struct {
	*canonicalGraph
	graph *Graph
}

// inside is the block of that name.
func (s side) inside(a canonicalActivity) side {
	i := slices.IndexFunc(s.graph.Activities, func(b *Activity) bool { return b.Name == a.Name })
	return side{a.Block, s.graph.Activities[i].Block}
}

// mappings are those of each data connector, in their order, as the language writes them.
func (s side) mappings() (all []dataText) {
	for _, c := range s.graph.Data {
		texts := make([]string, len(c.Mappings))
		for i, m := range c.Mappings {
			if texts[i] = m.Target + ": " + m.Source; m.Expr != nil {
				texts[i] = m.Target + ": (" + m.Expr.Checked.Text + ")"
			}
			if m.Append {
				texts[i] = "append " + texts[i]
			}
		}
		all = append(all, dataText{c.Source, c.Target, strings.Join(texts, ", ")})
	}
	return all
}

// dataText is a data connector, with its mappings.
type dataText struct{ source, target, mappings string }

type differ struct{ all []Difference }

// shape tells where an input or output of the same structure's name has another shape: who begins it as a subprocess,
// and what waits for its result, has to have that shape.
func (d *differ) shape(key string, before, after *Process) {
	b, a := before.Input, after.Input
	if key == "output" {
		b, a = before.Output, after.Output
	}
	if container.Shape(b) != container.Shape(a) {
		d.add("process", "", key+" (shape)", container.Shape(b), container.Shape(a))
	}
}

func (d *differ) add(kind, name, key, before, after string) {
	change := DiffChanged
	switch {
	case key != "":
	case before == "":
		change = DiffAdded
	case after == "":
		change = DiffRemoved
	}
	d.all = append(d.all, Difference{Kind: kind, Name: name, Change: change, Key: key, Before: before, After: after})
}

// named compares what has names: each that both have with the other's.
func named[T any](d *differ, kind, inside string, before, after []T, nameOf func(T) string, both func(name string, before, after T)) {
	index := func(all []T) map[string]T {
		of := map[string]T{}
		for _, one := range all {
			of[inside+nameOf(one)] = one
		}
		return of
	}
	b, a := index(before), index(after)
	names := slices.Collect(maps.Keys(b))
	for name := range a {
		if _, is := b[name]; !is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, wasThere := b[name]
		is, isThere := a[name]
		switch {
		case !wasThere:
			d.all = append(d.all, Difference{Kind: kind, Name: name, Change: DiffAdded, After: shown(reflect.ValueOf(is))})
		case !isThere:
			d.all = append(d.all, Difference{Kind: kind, Name: name, Change: DiffRemoved, Before: shown(reflect.ValueOf(was))})
		default:
			both(name, was, is)
		}
	}
}

func (d *differ) members(structure string, before, after canonicalStructure) {
	order := func(s canonicalStructure) (names []string) {
		for _, m := range s.Members {
			names = append(names, m.Name)
		}
		return names
	}
	was, is := order(before), order(after)
	if !slices.Equal(was, is) && slices.Equal(slices.Sorted(slices.Values(was)), slices.Sorted(slices.Values(is))) {
		d.add("structure", structure, "order", strings.Join(was, ", "), strings.Join(is, ", "))
	}
	text := func(m canonicalMember) string {
		if m.Default == nil {
			return m.Type
		}
		return m.Type + ", with a default" // it is kept encoded
	}
	named(d, "structure", structure+".", before.Members, after.Members, func(m canonicalMember) string { return m.Name }, func(name string, b, a canonicalMember) {
		if !reflect.DeepEqual(b, a) {
			was, is := text(b), text(a)
			if was == is {
				is += ", another one"
			}
			d.add("structure", name, "type", was, is)
		}
	})
}

// graph compares what a process or a block consists of; inside is the path of the block, with a / at its end.
func (d *differ) graph(inside string, before, after side) {
	named(d, "activity", inside, before.Activities, after.Activities, func(a canonicalActivity) string { return a.Name }, func(name string, b, a canonicalActivity) {
		d.fields("activity", name, b, a)
		if b.Block != nil && a.Block != nil {
			d.graph(name+"/", before.inside(b), after.inside(a))
		} else if (b.Block == nil) != (a.Block == nil) {
			d.add("activity", name, "activities", is(b.Block != nil), is(a.Block != nil))
		}
	})
	ends := func(source, target string) string { return source + " -> " + target }
	named(d, "control", inside, before.Control, after.Control, func(c canonicalControl) string { return ends(c.Source, c.Target) }, func(name string, b, a canonicalControl) {
		if was, is := conditionText(b), conditionText(a); was != is {
			d.add("control", name, "condition", was, is)
		}
	})
	b, a := before.mappings(), after.mappings()
	named(d, "data", inside, b, a, func(c dataText) string { return ends(c.source, c.target) }, func(name string, b, a dataText) {
		if b != a {
			d.add("data", name, "mappings", cmp.Or(b.mappings, "none"), cmp.Or(a.mappings, "none"))
		}
	})
	order := func(all []dataText) map[string][]string {
		of := map[string][]string{}
		for _, c := range all {
			of[c.target] = append(of[c.target], c.source)
		}
		return of
	}
	was, is := order(b), order(a)
	for _, target := range slices.Sorted(maps.Keys(was)) { // only the order: who has gone or come was told
		b, a := was[target], is[target]
		if !slices.Equal(b, a) && slices.Equal(slices.Sorted(slices.Values(b)), slices.Sorted(slices.Values(a))) {
			d.add("data", inside+"to "+target, "order", strings.Join(b, ", "), strings.Join(a, ", "))
		}
	}
}

func conditionText(c canonicalControl) string {
	switch {
	case c.Otherwise:
		return "otherwise"
	case c.Condition == "":
		return "always"
	}
	return c.Condition
}

func is(block bool) string {
	if block {
		return "a block"
	}
	return "none"
}

// wordOf has the fields of the canonical form as the language calls them; those that are not there are compared
// elsewhere, or are no meaning of their own.
var wordOf = map[string]string{
	"Input": "input", "Output": "output", "Starts": "starts", "Schedules": "schedule", "Deadline": "deadline", "Notify": "notify", "History": "history",
	"Node": "node", "Program": "program", "NoOutput": "output", "StartKind": "start", "StartN": "start", "StartText": "start", "Exit": "exit",
	"MaxIterations": "max_iterations", "AgainAfter": "again.after", "AgainMax": "again.max", "RetryAttempts": "retry.attempts", "RetryBackoff": "retry.backoff",
	"RetryMax": "retry.max", "RCIsData": "on_rc", "RCContinue": "on_rc", "Choice": "choice", "Wait": "wait", "Continues": "on_error", "Cancels": "cancels",
	"Child": "process", "Independent": "autonomy", "Bundle": "for_each", "Call": "at", "Receive": "receive", "Send": "send",
	"OfferedAt": "offered_at",
}

// elsewhere are the fields that Diff compares one by one, and those that say which definition it is.
var elsewhere = map[string]bool{
	"Form": true, "Name": true, "Version": true, "Structures": true, "Activities": true, "Control": true, "Data": true, "Block": true,
}

// fields compares two of one type, field by field.
func (d *differ) fields(kind, name string, before, after any) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		field := b.Type().Field(i).Name
		if elsewhere[field] || reflect.DeepEqual(b.Field(i).Interface(), a.Field(i).Interface()) {
			continue
		}
		d.add(kind, name, cmp.Or(wordOf[field], strings.ToLower(field)), shown(b.Field(i)), shown(a.Field(i)))
	}
}

// shown is a value for people.
func shown(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return cmp.Or(x, "none")
	case time.Duration:
		return x.String()
	case canonicalActivity:
		return cmp.Or(x.Program, x.Child, "no program") + " at " + x.Node
	case canonicalControl:
		return conditionText(x)
	case dataText:
		return cmp.Or(x.mappings, "none")
	case canonicalMember:
		return x.Type
	case canonicalStructure:
		return fmt.Sprintf("%d members", len(x.Members))
	}
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return "none"
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(text)
}
