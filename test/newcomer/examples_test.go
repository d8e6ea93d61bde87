package newcomer

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

// What the README of an example has people type works as one paste, in a clone of their own; and
// what it prints has what the README promises.
func TestTheExamplesAsOnePaste(t *testing.T) {
	for name, wants := range map[string][]string{
		"insurance-claim": {"event paper C-2", `we miss: "policy"`, "will be paid: it was the storm"},
		"ship-repair":     {`"outcome":"part_arrived","serial":"S-1"`, "S-1 fitted", `"outcome":"called_off"`, "dry dock 2, Rotterdam", "slip 1"},
		"warehouse-order": {`"tracking":"W-O-1"`, "no lamp here, and the depot did not answer in time", "glass breaks", "terminated by", "the depot did not answer"},
		"damage-claim":    {"is offered to 1 person", "ann@branch may not have it", "ames@office may not have it", "bob@office", "800 will be paid (as the policy says)"},
		"ward-sample":     {"ruiz@ward has claimed it", "withdrawn", `"confirmed_by":"ruiz@ward"`},
		"stock-night":     {"30 22 * * 1-6 Europe/Berlin", "s04: deadline", `"failed":1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone := t.TempDir()
			dir := filepath.Join(clone, "examples", name)
			if err := os.CopyFS(dir, os.DirFS("../../examples/"+name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(fleet.Bin, filepath.Join(clone, "bin")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(clone, "Makefile"), []byte("all:\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			ownPorts(t, dir, name)
			out, err := pasted(t, dir, typed(t, dir))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(out, "fmqm-define: ") { // of fmqm one command ends with 5, as the README says
				t.Errorf("a definition is refused, or does not finish:\n%s", out)
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
		})
	}
}

// Examples run beside each other: no two of their sites listen at the same address.
func TestNoTwoSitesOfExamplesListenAtTheSameAddress(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	whose := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := regexp.MustCompile(`(?m)^listen: (\S+)`).FindSubmatch(text)
		if at == nil {
			continue
		}
		if other := whose[string(at[1])]; other != "" {
			t.Errorf("%s and %s listen at %s", other, file, at[1])
		}
		whose[string(at[1])] = file
	}
}

// typed is all that a README has people type: its indented lines, and what stands in it as commands.
func typed(t *testing.T, dir string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^    (.*\n)`).FindAllStringSubmatch(string(page), -1) {
		all.WriteString(line[1])
	}
	if all.Len() == 0 {
		t.Fatal("the README has nothing to paste")
	}
	for _, command := range regexp.MustCompile("(?s)`((?:fmqm-define run|kill %).*?)`").FindAllStringSubmatch(string(page), -1) {
		all.WriteString(strings.ReplaceAll(command[1], "\n", " ") + "\n")
	}
	return all.String()
}

// pasted has a shell of somebody who types into it, as in a terminal, take a text.
func pasted(t *testing.T, dir, text string) (string, error) {
	t.Helper()
	paste := exec.CommandContext(t.Context(), "bash")
	// A shell that somebody types into has job control; and what fails in the middle is not
	// to leave daemons.
	paste.Stdin = strings.NewReader("set -m\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n" + text)
	paste.Dir = dir
	out, err := paste.CombinedOutput()
	return string(out), err
}
