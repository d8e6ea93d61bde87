package interpret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/definition"
)

// MaxResults is the largest file of results, in bytes.
const MaxResults = 8 << 20

// ParseResults reads program results for trying a process out, as YAML or JSON:
//
//	{credit: [{rc: 1}, {rc: 0, output: {approved: true}}], ship: [{error: no van}]}
//
// Each activity has a list of entries; every attempt takes the next one, so an
// activity that neither fails nor is repeated takes one for each iteration. After the
// last entry the last one repeats. In another iteration of a block around it the list
// starts anew; documents#2/check names the list of check from the second iteration of
// the block documents on, until a later one has another. Of a bundle count[3] names the list of one
// element, and count that of all others. A missing rc is 0, a missing
// output is the input's members of the same name and type, as echo gives them;
// {error: text} is a failed attempt. An activity without a list behaves as echo.
//
// {timeout: true} and {cancelled: true} say that the deadline, or what cancels the activity,
// has come first (N14): in the place of an attempt, of an iteration of a block, or, behind the
// last failed attempt, while the activity is in error. What is inside of a block has by then
// come as far as its own entries say. In the first entry {first: [credit, stock]} says with which connectors an
// activity began that does not wait for all; without it, with those whose sources come first in this run. {} is an iteration that ends by itself.
//
// {by: dora, output: {...}} is what a person has done of a manual activity: its output is the draft, which has the input's members of
// the same name and type, with the members that are given. Who did it cannot be whom its staff expression bars by what
// was done before. One without a list is done by nobody, as echo.
//
// {event: paid, output: {...}} is what a receive gets from outside, in an iteration; a missing output has the
// defaults. One without a list, or whose entry is {}, takes what an activity of the run sends to it.
//
// Processes that are given are those of [Options]: of a subprocess that is run pack/look names the list of
// look in the instance that pack begins, and pack#2/look from its second iteration on; look alone does
// too, where the process has no activity of that name. Every instance starts lists anew.
//
// Errors name line and column; all of them are reported. What is only known from the run says [Unused]. The result serves one run at a time,
// any number of them.
func ParseResults(p *definition.Process, file []byte, given ...*definition.Process) (Programs, error) {
	return ParseResultsOver(p, file, EchoAll, given...)
}

// ParseResultsOver is ParseResults, where an activity without a list is run by others.
func ParseResultsOver(p *definition.Process, file []byte, others Programs, given ...*definition.Process) (Programs, error) {
	if len(file) > MaxResults {
		return nil, fmt.Errorf("results: %d bytes are above the limit of %d", len(file), MaxResults)
	}
	root, err := document(file)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	r := &resultsReader{places: placesIn(p, given), lists: map[string]*lists{}, begun: map[string]*yaml.Node{}}
	if root != nil {
		r.fields(root, "a mapping from activities to lists of results", r.list)
	}
	if len(r.problems) > 0 {
		return nil, fmt.Errorf("results: %w", errors.Join(r.problems...))
	}
	for _, l := range r.lists {
		l.sort()
	}
	return &results{lists: r.lists, playing: map[string]*list{}, others: others, named: r.named, counts: map[string]int{}}, nil
}

// results plays the entries of each activity.
type results struct {
	lists   map[string]*lists // by activity
	playing map[string]*list  // by activity: of its execution under way; nil: it has none

	others Programs // of activities without entries
	staff  Staff    // nil: of persons only is known what they did

	named  []namedElement
	counts map[string]int // by bundle: how many elements it had at most in the run

	chain string  // the subprocesses around the instance: "pack/", and in lists before the activity
	at    []level // where that is
}

// Child gives the results of what is in an instance that a subprocess begins.
func (r *results) Child(a *definition.Activity, call Call, p *definition.Process) Programs {
	inner := *r
	inner.chain, inner.at = r.chain+a.Name+"/", slices.Concat(r.at, call.Scope.iteration(a.Name, call.Iteration).levels())
	if f, ok := r.others.(Families); ok {
		inner.others = f.Child(a, call, p)
	}
	return &inner
}

// list is what an activity gives in one execution.
type list struct {
	from    []level // where it begins: in which iteration of each block around it, and for which elements
	entries []entry
	next    int // the entry that the next attempt takes

	attempts bool // each of them takes one; else each iteration does
}

type entry struct {
	first   First
	got     *Got     // of a receive
	counted []string // with which connectors it began; nil: as the run has it
	rc      int64
	output  *container.Struct // nil: echo
	err     string

	by           string   // of a manual activity: who did it; empty: nobody
	named        []string // the members of output that are given
	line, column int      // of by
}

// Run gives the activity's next entry. The first attempt in a scope starts its list anew.
func (r *results) Run(a *definition.Activity, call Call) Outcome {
	e, listed := r.entryOf(a, call)
	switch {
	case !listed:
		return r.others.Run(a, call)
	case e.err != "":
		return Outcome{Err: e.err}
	case e.output == nil:
		return Outcome{RC: e.rc, Output: Echo(call.Input, a.Output).Output}
	}
	return Outcome{RC: e.rc, Output: e.output.Clone()}
}

// entryOf gives the activity's next entry, if it has any.
func (r *results) entryOf(a *definition.Activity, call Call) (entry, bool) {
	if call.Iteration == 1 && call.Attempt == 1 {
		r.playing[r.chain+a.Name] = r.begin(a.Name, call.Scope)
	}
	l := r.playing[r.chain+a.Name]
	if l == nil {
		return entry{}, false
	}
	e := l.entries[min(l.next, len(l.entries)-1)]
	l.next++
	return e, true
}

// Race gives what the activity's next entry says. Before it is decided its list starts anew,
// and the first entry may say with what it begins.
func (r *results) Race(a *definition.Activity, at At) Race {
	if at.Iteration == 0 {
		l := r.begin(a.Name, at.Scope)
		if r.playing[r.chain+a.Name] = l; l == nil {
			return Race{}
		}
		return Race{Counted: l.entries[0].counted}
	}
	if at.Back { // entries are of attempts
		return Race{}
	}
	l := r.playing[r.chain+a.Name]
	if a.Bundle != nil { // as a whole it is cancelled if its elements are
		l = r.begin(a.Name, Scope(at.Scope.Path(a.Name)))
	}
	if l == nil {
		return Race{}
	}
	if a.Bundle != nil {
		return Race{First: l.entries[0].whole()}
	}
	if !l.attempts {
		l.next = at.Iteration + at.Attempt - 2
	}
	e := l.entries[min(l.next, len(l.entries)-1)]
	return Race{First: e.first, Got: e.got}
}

// whole is what an entry of the elements of a bundle says of the bundle.
func (e entry) whole() First {
	if e.first == Canceller {
		return Canceller
	}
	return Itself
}

// begin gives the activity's list in a scope.
func (r *results) begin(activity string, scope Scope) *list {
	l := r.lists[r.chain+activity].of(slices.Concat(r.at, scope.levels()))
	if l != nil {
		l.next = 0
	}
	return l
}

// document gives the root of the only YAML document, or nil if there is nothing in it.
func document(file []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document: remove the second")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// resultsReader gathers what is wrong.
type resultsReader struct {
	places   *places
	lists    map[string]*lists     // by activity
	begun    map[string]*yaml.Node // by path: the key of the list that begins there
	named    []namedElement
	problems []error
}

func (r *resultsReader) fail(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%d:%d: %s", n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// fields calls field for each key of a mapping, reporting keys that are there twice.
func (r *resultsReader) fields(n *yaml.Node, what string, field func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "expected %s", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "expected a name")
		case seen[key.Value]:
			r.fail(key, "%s is there twice: remove one", key.Value)
		default:
			seen[key.Value] = true
			field(key, n.Content[i+1])
		}
	}
}

func (r *resultsReader) list(key, value *yaml.Node) {
	path := partsOf(key.Value)
	found, home, err := r.places.lookUp(path)
	if err != nil {
		r.fail(key, "%v", err)
		return
	}
	for _, at := range found {
		if !r.listAt(key, value, path, at, home) {
			return
		}
	}
}

// listAt reads the list of an activity at one of its places, and says whether it could.
func (r *resultsReader) listAt(key, value *yaml.Node, path []part, found place, home *places) bool {
	a, attempts := found.activity, home.takesResults(found.activity)
	from, err := found.from(path)
	begins := found.written(from)
	switch before := r.begun[begins]; {
	case !attempts && a.Deadline == nil && !found.cancelled && a.Receive == nil && a.Start.Kind != definition.StartFirst:
		r.fail(key, "%s", runsNone(a))
		return false
	case err != nil:
		r.fail(key, "%v", err)
		return false
	case before != nil:
		r.fail(key, "%s and %s (line %d) begin in the same iteration: remove one", key.Value, before.Value, before.Line)
		return false
	case value.Kind != yaml.SequenceNode || len(value.Content) == 0:
		r.fail(value, "%s: expected a list of results, one for each attempt, such as [{rc: 0}]", a.Name)
		return false
	}
	r.begun[begins] = key
	r.named = append(r.named, found.elements(from, key)...)
	l := &list{from: from, entries: make([]entry, len(value.Content)), attempts: attempts}
	before := len(r.problems)
	for i, n := range value.Content {
		l.entries[i] = r.entry(found, home, attempts, n)
		if i > 0 && l.entries[i].counted != nil {
			r.fail(n, "%s: it begins once, as its first entry says: move `first` there", a.Name)
		}
	}
	if r.lists[found.chain+a.Name] == nil {
		r.lists[found.chain+a.Name] = &lists{}
	}
	r.lists[found.chain+a.Name].add(l)
	return len(r.problems) == before
}

// takesResults says whether an activity's attempts are made by programs, or by results in their place.
func (p *places) takesResults(a *definition.Activity) bool {
	return a.Program != "" || a.Staff != nil || a.Child != nil && !p.runs(a)
}

// runsNone says of an activity without program why it has no results.
func runsNone(a *definition.Activity) string {
	switch {
	case a.Block != nil:
		return fmt.Sprintf("%s is a block and runs no program: give the results of what is inside it", a.Name)
	case a.Child != nil:
		return fmt.Sprintf("%s is a subprocess, and %s is given and run: give the results of what is in it, such as %s/ACTIVITY", a.Name, a.Child, a.Name)
	case a.Receive != nil:
		return fmt.Sprintf("%s receives events and runs no program: write {event: %s, output: {...}}", a.Name, a.Receive.Events[0].Name)
	case a.Send != nil:
		return fmt.Sprintf("activity %s sends an event and runs no program: remove it here", a.Name)
	case a.Wait != nil:
		return fmt.Sprintf("activity %s waits and runs no program: remove it here", a.Name)
	}
	return fmt.Sprintf("activity %s is empty and runs no program: remove it here", a.Name)
}

func (r *resultsReader) entry(p place, home *places, attempts bool, n *yaml.Node) entry {
	a := p.activity
	var e entry
	var keys []string
	r.fields(n, "a result, such as {rc: 0, output: {...}} or {error: text}", func(key, value *yaml.Node) {
		keys = append(keys, key.Value)
		switch key.Value {
		case "rc", "output", "error":
			if !attempts && !(key.Value == "output" && a.Receive != nil) {
				r.fail(key, "%s", runsNone(a))
				return
			}
		}
		switch key.Value {
		case "rc":
			if a.Staff != nil {
				r.fail(key, "%s: the _RC of a manual activity is 0: write by and output", a.Name)
				return
			}
			if a.Child != nil {
				r.fail(key, "%s: the _RC of a subprocess is 0: write output or error", a.Name)
				return
			}
			if err := value.Decode(&e.rc); err != nil || value.Tag != "!!int" {
				r.fail(value, "%s: rc: expected a whole number", a.Name)
			}
		case "output":
			e.output = r.output(a, value)
			for i := 0; i+1 < len(value.Content); i += 2 {
				e.named = append(e.named, value.Content[i].Value)
			}
		case "by":
			r.by(a, key, value, &e)
		case "event":
			r.event(a, key, value, &e)
		case "error":
			if e.err = value.Value; a.Staff != nil {
				r.fail(key, "%s: a person does it, and gives no error: write by and output, or timeout", a.Name)
				return
			}
			if value.Kind != yaml.ScalarNode || e.err == "" {
				r.fail(value, "%s: error: expected a text that says why", a.Name)
			}
		case "first":
			if err := value.Decode(&e.counted); err != nil || len(e.counted) == 0 {
				r.fail(value, "%s: first: expected the activities with which it begins, such as [credit]", a.Name)
			} else if why := falseFirst(home.process, a, e.counted); why != "" {
				r.fail(key, "%s", why)
			}
		case "timeout":
			e.first = Deadline
			r.race(key, value, a.Deadline != nil, fmt.Sprintf("%s has no deadline: write `deadline: {after: 5d}` at it, or remove this", a.Name))
		case "cancelled":
			e.first = Canceller
			r.race(key, value, p.cancelled, fmt.Sprintf("nothing cancels %s: name it under `cancels` of another activity, or remove this", a.Name))
		default:
			r.fail(key, "%s: unknown key %s: a result has rc and output, or error, timeout or cancelled, and may have first; of a receive, event and output; of a manual activity, by and output", a.Name, key.Value)
		}
	})
	if a.Receive != nil && slices.Contains(keys, "output") && !slices.Contains(keys, "event") {
		r.fail(n, "%s: output without event: write which event has it, {event: %s, output: {...}}", a.Name, a.Receive.Events[0].Name)
	}
	if e.got != nil {
		e.got.Output, e.output = e.output, nil
	}
	r.apart(a, n, keys)
	return e
}

// by reads who did a manual activity.
func (r *resultsReader) by(a *definition.Activity, key, value *yaml.Node, e *entry) {
	switch {
	case a.Staff == nil:
		r.fail(key, "%s is no manual activity: remove by here", a.Name)
	case value.Kind != yaml.ScalarNode || !person.MatchString(value.Value):
		r.fail(value, "%s: by: expected the name of a person, such as ann, or ann@ward for somebody of another site", a.Name)
	default:
		e.by, e.line, e.column = value.Value, value.Line, value.Column
	}
}

// event reads which event a receive gets.
func (r *resultsReader) event(a *definition.Activity, key, value *yaml.Node, e *entry) {
	switch {
	case a.Receive == nil:
		r.fail(key, "%s receives no events: remove event here", a.Name)
	case value.Kind != yaml.ScalarNode || !slices.Contains(a.Receive.Names(), value.Value):
		r.fail(value, "%s receives %s", a.Name, strings.Join(a.Receive.Names(), ", "))
	default:
		e.got = &Got{Event: value.Value}
	}
}

// race checks that a race can come out so.
func (r *resultsReader) race(key, value *yaml.Node, can bool, why string) {
	switch {
	case value.Tag != "!!bool" || strings.ToLower(value.Value) != "true":
		r.fail(value, "%s: expected true", key.Value)
	case !can:
		r.fail(key, "%s", why)
	}
}

// apart checks that what a result says goes together.
func (r *resultsReader) apart(a *definition.Activity, n *yaml.Node, keys []string) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "first" })
	for _, alone := range []struct{ key, what string }{
		{"error", "a failed attempt has neither rc nor output"},
		{"timeout", "what the deadline has ended has no result"},
		{"cancelled", "what is cancelled has no result"},
	} {
		if len(keys) > 1 && slices.Contains(keys, alone.key) {
			r.fail(n, "%s: %s: remove %s or the others", a.Name, alone.what, alone.key)
			return
		}
	}
}

func (r *resultsReader) output(a *definition.Activity, n *yaml.Node) *container.Struct {
	text, err := toJSON(n)
	if err != nil {
		r.problems = append(r.problems, err)
		return nil
	}
	s, err := container.DecodeJSON(a.Output, text)
	if err == nil {
		_, err = container.EncodeCBOR(s)
	}
	if err != nil {
		r.fail(n, "%s: output: %v", a.Name, err)
	}
	return s
}
