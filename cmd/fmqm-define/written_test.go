package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
)

// A definition that a node was given by a version before texts were canonical is there
// unchanged, however its conditions are spaced; what means something else is refused.
func TestUploadOfWhatIsThereAsItWasWritten(t *testing.T) {
	const text = "process: p\nversion: 1\nstructures: {S: {n: int}}\nactivities:\n  one: {node: A, program: x, output: S}\n  two: {node: A, program: x}\ncontrol:\n  - one -> two: n>1\n"
	processes, problems := definition.Load("p.yaml", []byte(text))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	before, err := definition.CompileWith(processes[0], definition.CompileOptions{AsWritten: true})
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{texts: map[string]string{}, tables: map[string]api.Table{"p@1.A": {Node: "A", Process: "p@1", Definition: before.Manifest.Definition, Table: before.Encoded[0]}}}
	to := apitest.Serve(t, &apitest.Backend{OnUpload: n.upload})
	upload := func(text string) (string, int) {
		file := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, talk bytes.Buffer
		code := shared.Main(newApp(), []string{"fmqm-define", "upload", file, "--to", to, "--unsigned", "-o", "jsonl"}, shared.Streams{
			In: strings.NewReader(""), Out: &out, Err: &talk, Env: func(string) string { return "" },
		})
		return out.String() + talk.String(), code
	}
	if out, code := upload(text); code != 0 || !strings.Contains(out, `"result":"unchanged"`) {
		t.Errorf("as it was written: exit %d: %s", code, out)
	}
	if out, code := upload(strings.Replace(text, "n>1", "n>2", 1)); code != shared.ExitRefused || !strings.Contains(out, "raise the version") {
		t.Errorf("another condition: exit %d: %s", code, out)
	}
}
