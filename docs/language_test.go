package docs

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

// block is a fenced block of a page.
type block struct {
	kind string
	line int // of its first line of text
	text string
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			all, inside = append(all, block{kind: kind, line: i + 2}), true
		case fence:
			inside = false
		case inside:
			b := &all[len(all)-1]
			b.text += line + "\n"
		}
	}
	return all
}

// Every definition on the page is what the text says: without a diagnostic, or with
// those of the `check` block behind it; and it runs as the `run` blocks behind it say.
func TestLanguage(t *testing.T) {
	var process []*definition.Process
	runs := 0
	all := blocks(t, "language.md")
	for i, b := range all {
		switch b.kind {
		case "yaml":
			processes, diagnostics := definition.Load("language.md", []byte(b.text))
			var got []string
			for _, d := range diagnostics {
				got = append(got, fmt.Sprintf("%s %d:%d", d.Code, d.Line, d.Column))
			}
			var want []string
			if i+1 < len(all) && all[i+1].kind == "check" {
				want = strings.Split(strings.TrimSpace(all[i+1].text), "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("language.md:%d: diagnostics (-want +got):\n%s", b.line, diff)
			}
			process = processes
		case "run":
			runs++
			t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) { run(t, process, b) })
		case "check":
		default:
			t.Errorf("language.md:%d: a block of kind %q, which no test reads", b.line, b.kind)
		}
	}
	if runs < 10 {
		t.Errorf("only %d runs on the page", runs)
	}
}

// run tries a process as a `run` block says: `input` and `results` as for fmqm-define
// run; then the instance's `state` and `output`, and the state of every activity, with
// the iterations where there was more than one.
// Of several processes the first is run, which may begin the others.
func run(t *testing.T, given []*definition.Process, b block) {
	if len(given) == 0 {
		t.Fatal("no process before it")
	}
	p := given[0]
	var want map[string]any
	if err := yaml.Load([]byte(b.text), &want); err != nil {
		t.Fatal(err)
	}
	input := container.New(p.Input)
	if given := part(b, "input"); given != "" {
		// The input is YAML, of which JSON is a part: read as the output of a program is.
		input = asContainer(t, p, given)
	}
	programs := interpret.Programs(interpret.EchoAll)
	if written := part(b, "results"); written != "" {
		var err error
		if programs, err = interpret.ParseResults(p, []byte(written), given...); err != nil {
			t.Fatal(err)
		}
	}
	result, err := interpret.Run(p, input, programs, interpret.Options{Processes: given})
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "input")
	delete(want, "results")
	got := map[string]any{"state": string(result.State)}
	for _, a := range result.Activities {
		got[a.Activity] = string(a.State)
		if a.Iterations > 1 {
			got[a.Activity] = fmt.Sprintf("%s %d", a.State, a.Iterations)
		}
	}
	if want["output"] != nil {
		text, err := result.Output.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var output any
		if err := yaml.Load(text, &output); err != nil {
			t.Fatal(err)
		}
		got["output"] = output
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// part gives what stands behind a key of a run block, which is one line.
func part(b block, key string) string {
	for line := range strings.Lines(b.text) {
		if rest, ok := strings.CutPrefix(line, key+": "); ok {
			return rest
		}
	}
	return ""
}

// asContainer reads YAML as the process's input, through the reader of results.
func asContainer(t *testing.T, p *definition.Process, given string) *container.Struct {
	t.Helper()
	a := &definition.Activity{Name: "input", Program: "p", Input: p.Input, Output: p.Input}
	r, err := interpret.ParseResults(&definition.Process{Graph: definition.Graph{Activities: []*definition.Activity{a}}}, []byte("input: [{output: "+strings.TrimSpace(given)+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(a, interpret.Call{Iteration: 1, Attempt: 1, Input: container.New(p.Input)}).Output
}

var codeRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (error|warning) \\|")

// Every code of a diagnostic is on the page, with its severity, and no other is.
func TestEveryDiagnosticIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../definition/diagnostic_codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		severity := "error"
		if strings.Contains(spec.Comment.Text(), "warning") {
			severity = "warning"
		}
		want = append(want, code+" "+severity)
		return true
	})
	text, err := os.ReadFile("language.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range codeRow.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 30 {
		t.Errorf("codes (-in the code +on the page):\n%s", diff)
	}
}

// anchor is how pages link to a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

// The list at the top of the page has each of its sections, and what the page leads to is there.
func TestTheListOfTheLanguageIsWhole(t *testing.T) {
	text, err := os.ReadFile("language.md")
	if err != nil {
		t.Fatal(err)
	}
	top, _, _ := strings.Cut(string(text), "\n## ")
	all := heading.FindAllStringSubmatch(string(text), -1)[1:] // without the title
	if len(all) < 25 {
		t.Fatalf("%d headings", len(all))
	}
	places := map[string]bool{}
	for _, h := range all {
		if places[anchor(h[1])] = true; !strings.Contains(top, "](#"+anchor(h[1])+")") {
			t.Errorf("the list does not lead to %q", h[1])
		}
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if !places[link[1]] {
			t.Errorf("the page has no heading for #%s", link[1])
		}
	}
}

// What editors are told of, the page has: each key of a process and of an activity stands in a table, and in
// an example.
func TestThePageHasEveryKey(t *testing.T) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(definition.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("language.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for _, b := range blocks(t, "language.md") {
		if b.kind == "yaml" {
			examples.WriteString(b.text)
		}
	}
	keys := slices.Concat(slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(schema.Defs["activity"].Properties)))
	if len(schema.Properties) < 10 || len(keys) < 30 {
		t.Fatalf("%d keys of a process and %d in all: %v", len(schema.Properties), len(keys), keys)
	}
	for _, key := range keys {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + key + "`").Match(text) {
			t.Errorf("no table has %s", key)
		}
		if !regexp.MustCompile(`\b` + key + `:`).MatchString(examples.String()) {
			t.Errorf("no example has %s", key)
		}
	}
}
