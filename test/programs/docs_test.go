package programs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"fmqm/api"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The example of docs/programs.md does as it says: what a repeat finds done, it answers
// in the same way.
func TestTheExampleOfTheDocumentation(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile("(?s)  ```sh\n(.*?)  ```").FindStringSubmatch(page(t))
	if found == nil {
		t.Fatal("no example")
	}
	script := strings.ReplaceAll(found[1], "\n  ", "\n")
	s := newSite(t, "hand-over: {exec: [./hand-over], dir: tray}")
	if err := os.Mkdir(s.File("tray"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("hand-over", 0o700, strings.TrimPrefix(script, "  "))
	s.start()
	s.Upload(strings.NewReplacer("{n: int, text: string}", "{file: string}", "{n: int, text: string, rc: int}", "{file: string}").Replace(process("one", "program: hand-over")))
	status, work := s.await(s.begin("one", `{"file": "order"}`))
	files, err := os.ReadDir(s.File("tray"))
	if status.State != api.InstanceFinished || err != nil || len(files) != 1 || string(status.Output) != `{"file":"`+files[0].Name()+`"}` {
		t.Fatalf("%s: %s; output %s, tray %v", status.State, work.Reason, status.Output, files)
	}
	again := exec.Command(s.File("hand-over"))
	again.Dir, again.Stdin = s.File("tray"), strings.NewReader(`{"file": "order"}`)
	again.Env = append(os.Environ(), "FMQM_IDEMPOTENCY_KEY="+strings.TrimSuffix(files[0].Name(), ".json"))
	out, err := again.Output()
	if after, _ := os.ReadDir(again.Dir); err != nil || strings.ReplaceAll(string(out), " ", "") != string(status.Output)+"\n" || len(after) != 1 {
		t.Errorf("a repeat: %v, %s, tray %v", err, out, after)
	}
}

// The table of variables in docs/programs.md is what a program gets.
func TestTheVariablesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	s := newSite(t, "work: {exec: [/bin/sh, -c, 'tr \"\\0\" \"\\n\" </proc/self/environ >vars']}")
	s.start()
	s.Upload(process("one", "program: work"))
	if status, work := s.await(s.begin("one", `{}`)); status.State != api.InstanceFinished {
		t.Fatalf("%s: %s", status.State, work.Reason)
	}
	text, err := os.ReadFile(s.File("vars"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, _, _ := strings.Cut(line, "=")
		got[name] = true
	}
	delete(got, "PWD") // of the shell
	documented := regexp.MustCompile("(?m)^  \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(page(t), -1)
	for _, d := range documented {
		if !got[d[1]] {
			t.Errorf("%s is documented, and a program does not get it", d[1])
		}
		delete(got, d[1])
	}
	if len(got) > 0 || len(documented) < 10 {
		t.Errorf("not documented: %v (documented: %d)", got, len(documented))
	}
}
