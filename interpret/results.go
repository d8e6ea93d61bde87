package interpret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
// last entry the last one repeats. A missing rc is 0, a missing output is the input's
// members of the same name and type, as echo gives them; {error: text} is a failed
// attempt. An activity without a list behaves as echo. Errors name line and column;
// all of them are reported. The result serves one run at a time, any number of them.
func ParseResults(p *definition.Process, file []byte) (Programs, error) {
	return ParseResultsOver(p, file, Programs(EchoAll))
}

// ParseResultsOver is ParseResults, where an activity without a list is run by others.
func ParseResultsOver(p *definition.Process, file []byte, others Programs) (Programs, error) {
	if len(file) > MaxResults {
		return nil, fmt.Errorf("results: %d bytes are above the limit of %d", len(file), MaxResults)
	}
	root, err := document(file)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	r := &resultsReader{activities: map[string]*definition.Activity{}}
	for _, a := range p.Activities {
		r.activities[a.Name] = a
		r.names = append(r.names, a.Name)
	}
	lists := map[string][]entry{}
	if root != nil {
		r.fields(root, "a mapping from activities to lists of results", func(key, value *yaml.Node) {
			lists[key.Value] = r.list(key, value)
		})
	}
	if len(r.problems) > 0 {
		return nil, fmt.Errorf("results: %w", errors.Join(r.problems...))
	}
	return &results{lists: lists, next: map[string]int{}, others: others}, nil
}

// results plays the entries of each activity.
type results struct {
	lists map[string][]entry
	next  map[string]int // by activity: the entry that its next attempt takes

	others Programs // of activities without entries
}

type entry struct {
	rc     int64
	output *container.Struct // nil: echo
	err    string
}

// Run gives the activity's next entry. The first attempt of a run starts its list anew.
func (r *results) Run(a *definition.Activity, call Call) Outcome {
	list := r.lists[a.Name]
	if len(list) == 0 {
		return r.others.Run(a, call)
	}
	if call.Iteration == 1 && call.Attempt == 1 {
		r.next[a.Name] = 0
	}
	e := list[min(r.next[a.Name], len(list)-1)]
	r.next[a.Name]++
	switch {
	case e.err != "":
		return Outcome{Err: e.err}
	case e.output == nil:
		return Outcome{RC: e.rc, Output: Echo(call.Input, a.Output).Output}
	}
	return Outcome{RC: e.rc, Output: e.output.Clone()}
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
	activities map[string]*definition.Activity
	names      []string
	problems   []error
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

func (r *resultsReader) list(key, value *yaml.Node) []entry {
	a := r.activities[key.Value]
	switch {
	case a == nil:
		remedy := "the process has " + strings.Join(r.names, ", ")
		if near, ok := container.Nearest(key.Value, r.names); ok {
			remedy = fmt.Sprintf("did you mean %s?", near)
		}
		r.fail(key, "unknown activity %s: %s", key.Value, remedy)
		return nil
	case a.Empty:
		r.fail(key, "activity %s is empty and runs no program: remove it here", a.Name)
		return nil
	case value.Kind != yaml.SequenceNode || len(value.Content) == 0:
		r.fail(value, "%s: expected a list of results, one for each attempt, such as [{rc: 0}]", a.Name)
		return nil
	}
	list := make([]entry, len(value.Content))
	for i, n := range value.Content {
		list[i] = r.entry(a, n)
	}
	return list
}

func (r *resultsReader) entry(a *definition.Activity, n *yaml.Node) entry {
	var e entry
	failed, gives := false, false
	r.fields(n, "a result, such as {rc: 0, output: {...}} or {error: text}", func(key, value *yaml.Node) {
		switch key.Value {
		case "rc":
			gives = true
			if err := value.Decode(&e.rc); err != nil || value.Tag != "!!int" {
				r.fail(value, "%s: rc: expected a whole number", a.Name)
			}
		case "output":
			gives = true
			e.output = r.output(a, value)
		case "error":
			failed = true
			e.err = value.Value
			if value.Kind != yaml.ScalarNode || e.err == "" {
				r.fail(value, "%s: error: expected a text that says why", a.Name)
			}
		default:
			r.fail(key, "%s: unknown key %s: a result has rc and output, or error", a.Name, key.Value)
		}
	})
	if failed && gives {
		r.fail(n, "%s: a failed attempt has neither rc nor output: remove error or the others", a.Name)
	}
	return e
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
