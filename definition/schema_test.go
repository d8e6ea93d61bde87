package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

type object = map[string]any

func parsedSchema(t *testing.T) object {
	t.Helper()
	var s object
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// at walks into a schema.
func at(t *testing.T, s object, path ...string) object {
	t.Helper()
	for _, step := range path {
		next, ok := s[step].(object)
		if !ok {
			t.Fatalf("the schema has no %v", path)
		}
		s = next
	}
	return s
}

// Each key that the parser knows is in the schema, and the other way round.
func TestSchemaHasTheKeys(t *testing.T) {
	s := parsedSchema(t)
	activity := at(t, s, "$defs", "activity")
	start, ok := at(t, activity, "properties", "start")["oneOf"].([]any)
	if !ok {
		t.Fatal("start has no alternatives")
	}
	atLeast, ok := start[1].(object)
	if !ok {
		t.Fatal("start has no mapping")
	}
	for _, test := range []struct {
		what   string
		schema object
		keys   []string
	}{
		{"process", s, processKeys},
		{"deadline of a process", at(t, s, "properties", "deadline"), deadlineForm.keys()},
		{"member", at(t, s, "$defs", "member"), memberKeys},
		{"schedule", at(t, s, "$defs", "schedule"), scheduleKeys},
		{"activity", activity, activityKeys},
		{"start", atLeast, startKeys},
		{"again", at(t, activity, "properties", "again"), againKeys},
		{"retry", at(t, activity, "properties", "retry"), retryKeys},
		{"wait", at(t, activity, "properties", "wait"), waitForm.keys()},
		{"notice", at(t, s, "$defs", "notice"), noticeKeys},
		{"history", at(t, s, "properties", "history"), historyKeys},
		{"deadline", at(t, activity, "properties", "deadline"), deadlineForm.keys()},
		{"at", at(t, activity, "properties", "at"), callKeys},
		{"receive", at(t, activity, "properties", "receive"), receiveKeys},
		{"send", at(t, activity, "properties", "send"), sendKeys},
	} {
		want := slices.Sorted(slices.Values(test.keys))
		got := slices.Sorted(maps.Keys(at(t, test.schema, "properties")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: parser and schema differ:\n%s", test.what, diff)
		}
		if test.schema["additionalProperties"] != false {
			t.Errorf("%s: the schema takes unknown keys", test.what)
		}
	}
}

// A definition that Load takes is taken by the schema; one with a mistake that a
// schema can see is refused by both.
func TestSchemaAgreesWithLoad(t *testing.T) {
	v := validator{root: parsedSchema(t), t: t}
	good := []string{testdata(t, "purchase-order.yaml"), testdata(t, "approval.yaml"), strings.Replace(everything, "part_of", "name", 1)}
	files, err := filepath.Glob("testdata/diagnostics/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		for _, input := range strings.Split(testdata(t, strings.TrimPrefix(file, "testdata/")), "\nload\n") {
			text, _, _ := strings.Cut(input, "\n----")
			if _, diagnostics := Load(file, []byte(text)); !HasErrors(diagnostics) {
				good = append(good, text)
			}
		}
	}
	if len(good) < 8 {
		t.Fatalf("only %d definitions without errors", len(good))
	}
	for _, text := range good {
		for _, doc := range documentsOf(t, text) {
			if err := v.check(v.root, doc); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		}
	}
	for _, bad := range []string{
		"process: p\nversion: 0\nactivities: {a: {node: A, program: p}}",
		"process: p\nversion: 1\nactivities: {}",
		"process: 1p\nversion: 1\nactivities: {a: {node: A, program: p}}",
		"process: p\nversion: 1\nactivities: {a: {program: p}}",
		"process: p\nversion: 1\nactivities: {a: {node: A}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, empty: true}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, nod: A}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, on_rc: ignore}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, again: {after: soon}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, retry: {backoff: 1s}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}, b: {node: A, program: p, start: {first: 0}}}\ncontrol: [a -> b]",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}, b: {node: A, program: p, start: {first: 1, at_least: 1}}}\ncontrol: [a -> b]",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}, b: {node: A, program: p}}\ncontrol: [a - b]",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\nstructures: {S: {}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\nstructures: {S: {a: [int, int]}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\nstarts: []",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\ndata: [{a -> sink: {}}]",
		"process: p\nversion: 1\nactivities: {a: {node: A, activities: {}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, activities: {b: {node: A}}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, control: []}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, empty: true, data: []}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, activities: {b: {node: A, program: p}}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, activities: {b: {node: A, program: p}}, control: []}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, retry: {attempts: 2}, activities: {b: {node: A, program: p}}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, on_rc: error, activities: {b: {node: A, program: p}}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, again: {after: 1s}, exit: _RC == 0, activities: {b: {node: A, program: p}}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: p, program: p}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: p@latest}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: p@0}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: [p]}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: p, autonomy: free}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, process: p, control: []}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: 2h}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: {for: 2h, until: x}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: {after: 2h}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: {for: 2h}, program: p}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: {for: 2h}, exit: _RC == 0}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, wait: {for: 2h}, deadline: {after: 1h}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, empty: true, on_error: continue}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, deadline: 5d}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, deadline: {}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, on_error: ignore}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, cancels: b}, b: {node: A, program: p}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, cancels: [b, b]}, b: {node: A, program: p}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, retry: {attempts: 2, backoff: 1h2d}}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, parallel: 2}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, until: _DONE > 1}}",
		"process: p\nversion: 1\nactivities: {a: {node: A, program: p, for_each: [x]}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, for_each: x, parallel: 0}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, for_each: x, parallel: 1001}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, at: {node: x}}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, at: {of: [A]}}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, at: x}}",
		"process: p\nversion: 1\nstructures: {S: {x: string}}\nactivities: {a: {node: A, program: p, input: S, at: {node: x, of: []}}}",
		"process: p\nversion: 1\nnodes: {}\nactivities: {a: {node: A, program: p}}",
		"process: p\nversion: 1\nnodes: {s: A}\nactivities: {a: {node: A, program: p}}",
		"process: p\nversion: 1\nnodes: {s: [A, A]}\nactivities: {a: {node: A, program: p}}",
		"process: p\nversion: 1\nevents: {e: int}\nactivities: {a: {node: A, receive: e}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, receive: {event: e, one_of: [e]}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, receive: {one_of: [e, e]}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, receive: {}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, send: {event: e, to: [B]}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, send: {event: e, to: {node: n}}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, send: {}}}",
		"process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, send: {event: e}, program: p}}",
		"process: p\nversion: 1\nevents: [e]\nactivities: {a: {node: A, send: {event: e}}}",
		"process: p\nversion: 1\nevents: {e: {n: int}}\nactivities: {a: {node: A, send: {event: e}}}",
	} {
		if _, diagnostics := Load("bad.yaml", []byte(bad)); !HasErrors(diagnostics) {
			t.Errorf("Load takes\n%s", bad)
		}
		if v.check(v.root, documentsOf(t, bad)[0]) == nil {
			t.Errorf("the schema takes\n%s", bad)
		}
	}
}

// A key that a kind of activity does not have is refused there by the parser and by the schema.
func TestSchemaHasTheKeysOfEachKind(t *testing.T) {
	v := validator{root: parsedSchema(t), t: t}
	kinds := map[kinds]string{
		kindProgram: "program: p", kindProcess: "process: p", kindEmpty: "empty: true", kindWait: "wait: {for: 2h}", kindBlock: "activities: {b: {node: A, program: p}}",
		kindReceive: "receive: {event: e}", kindSend: "send: {event: e}", kindManual: "staff: role(\"clerk\")",
	}
	values := map[string]string{
		"retry": "{attempts: 2}", "on_rc": "error", "again": "{after: 1s}", "exit": "_RC == 0", "max_iterations": "3", "on_error": "continue", "deadline": "{after: 1h}", "autonomy": "independent", "at": "{node: x, of: [A]}", "title": "Approve", "offered_at": "[A]",
	}
	for _, not := range notHere {
		for kind, what := range kinds {
			if kind&not.of == 0 {
				continue
			}
			text := fmt.Sprintf("process: p\nversion: 1\nactivities: {a: {node: A, %s, %s: %s}}", what, not.key, values[not.key])
			_, diagnostics := Load("test.yaml", []byte(text))
			if !slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Code == codeKeyNotHere && d.Message == not.whose }) {
				t.Errorf("Load says %v of\n%s", diagnostics, text)
			}
			if v.check(v.root, documentsOf(t, text)[0]) == nil {
				t.Errorf("the schema takes\n%s", text)
			}
		}
	}
}

// documentsOf gives the YAML documents of a text as JSON values.
func documentsOf(t *testing.T, text string) []any {
	t.Helper()
	var docs []any
	l := &loader{}
	if err := yaml.Load(l.hideBangs([]byte(text)), &docs, yaml.WithAllDocuments()); err != nil {
		t.Fatal(err)
	}
	for i, doc := range docs {
		encoded, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewDecoder(bytes.NewReader(encoded)).Decode(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

// validator is as much of JSON Schema as schema.json uses. A word that it does not
// know fails the test.
type validator struct {
	root object
	t    *testing.T
}

func (v validator) check(s object, value any) error {
	for word, arg := range s {
		if err := v.word(s, word, arg, value); err != nil {
			return err
		}
	}
	return nil
}

func (v validator) word(s object, word string, arg, value any) error {
	no := fmt.Errorf("%s %v: found %v", word, arg, value)
	holds := true
	switch word {
	case "$schema", "title", "description", "default", "$defs":
	case "$ref":
		name := strings.TrimPrefix(arg.(string), "#/$defs/")
		return v.check(at(v.t, v.root, "$defs", name), value)
	case "not":
		holds = v.check(arg.(object), value) != nil
	case "anyOf":
		holds = slices.ContainsFunc(arg.([]any), func(option any) bool { return v.check(option.(object), value) == nil })
	case "oneOf":
		n := 0
		for _, option := range arg.([]any) {
			if v.check(option.(object), value) == nil {
				n++
			}
		}
		holds = n == 1
	case "const":
		holds = cmp.Equal(arg, value)
	case "enum":
		holds = slices.ContainsFunc(arg.([]any), func(a any) bool { return cmp.Equal(a, value) })
	case "type":
		names, ok := arg.([]any)
		if !ok {
			names = []any{arg}
		}
		holds = slices.ContainsFunc(names, func(a any) bool { return isType(a.(string), value) })
	default:
		return v.wordOf(s, word, arg, value)
	}
	if !holds {
		return no
	}
	return nil
}

// wordOf checks the words that are about one type of value, and hold for all others.
func (v validator) wordOf(s object, word string, arg, value any) error {
	limit, _ := arg.(float64)
	holds := true
	switch value := value.(type) {
	case string:
		switch word {
		case "pattern":
			holds = regexp.MustCompile(strings.ReplaceAll(arg.(string), `\u0000`, `\x00`)).MatchString(value)
		case "minLength":
			holds = utf8.RuneCountInString(value) >= int(limit)
		case "maxLength":
			holds = utf8.RuneCountInString(value) <= int(limit)
		}
	case float64:
		switch word {
		case "minimum":
			holds = value >= limit
		case "maximum":
			holds = value <= limit
		}
	case []any:
		switch word {
		case "minItems":
			holds = len(value) >= int(limit)
		case "maxItems":
			holds = len(value) <= int(limit)
		case "uniqueItems":
			for i, a := range value {
				holds = holds && !slices.ContainsFunc(value[i+1:], func(b any) bool { return cmp.Equal(a, b) })
			}
		case "items":
			for _, item := range value {
				if err := v.check(arg.(object), item); err != nil {
					return err
				}
			}
		}
	case object:
		return v.wordOfObject(s, word, arg, value)
	}
	if !holds {
		return fmt.Errorf("%s %v: found %v", word, arg, value)
	}
	return nil
}

func (v validator) wordOfObject(s object, word string, arg any, value object) error {
	limit, _ := arg.(float64)
	holds := true
	switch word {
	case "minProperties":
		holds = len(value) >= int(limit)
	case "maxProperties":
		holds = len(value) <= int(limit)
	case "required":
		for _, key := range arg.([]any) {
			_, ok := value[key.(string)]
			holds = holds && ok
		}
	case "dependentRequired":
		for key, needed := range arg.(object) {
			for _, other := range needed.([]any) {
				_, ok := value[key]
				_, has := value[other.(string)]
				holds = holds && (!ok || has)
			}
		}
	case "propertyNames":
		for key := range value {
			if err := v.check(arg.(object), key); err != nil {
				return err
			}
		}
	case "properties":
		for key, s := range arg.(object) {
			if inner, ok := value[key]; ok {
				if err := v.check(s.(object), inner); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
			}
		}
	case "additionalProperties":
		known, _ := s["properties"].(object)
		for key, inner := range value {
			if _, ok := known[key]; ok {
				continue
			}
			other, ok := arg.(object)
			if !ok {
				return fmt.Errorf("unknown key %s", key)
			}
			if err := v.check(other, inner); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	default:
		if !slices.Contains([]string{"pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems", "items"}, word) {
			v.t.Errorf("the schema uses %q, which this test does not check", word)
		}
	}
	if !holds {
		return fmt.Errorf("%s %v: found %v", word, arg, value)
	}
	return nil
}

func isType(name string, value any) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && value == math.Trunc(value)
	case []any:
		return name == "array"
	case object:
		return name == "object"
	}
	return false
}
