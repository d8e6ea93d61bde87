// Command mutants holds the simulation to what it is for: each mutant is the product with one
// mistake put in, by text, without a file being changed; worlds are run until one breaks an
// invariant. A mutant that survives, or does not apply to the code any more, is a failure.
//
//	mutants               all of them, for at most 5 minutes each
//	mutants -minutes 1 NAME ...
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is one mistake.
type mutant struct {
	name    string
	what    string
	changes []change
}

// change is a text that stands in a file once, and what is put in its place.
type change struct{ file, old, new string }

func main() {
	minutes := flag.Float64("minutes", 5, "how long each mutant may live")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *minutes); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, names []string, minutes float64) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var survived []string
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		binary, err := m.build(dir)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		began := time.Now()
		caught, err := hunt(binary, minutes)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		if caught == "" {
			survived = append(survived, m.name)
			caught = "SURVIVES"
		}
		fmt.Fprintf(out, "%-18s %-60s %s, after %.1f s\n", m.name, m.what, caught, time.Since(began).Seconds())
	}
	if len(survived) > 0 {
		return fmt.Errorf("not caught in %g minutes: %s", minutes, strings.Join(survived, ", "))
	}
	return nil
}

// build makes the simulation of the product with the mistake in it.
func (m mutant) build(dir string) (binary string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, c := range m.changes {
		at, err := filepath.Abs(c.file)
		if err != nil {
			return "", err
		}
		from := overlay.Replace[at]
		if from == "" {
			from = at
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(text), c.old); n != 1 {
			return "", fmt.Errorf("%s has the text %q %d times, and it must stand there once: write the mutant for the code as it is now", c.file, c.old, n)
		}
		to := filepath.Join(dir, fmt.Sprintf("%s-%d.go", m.name, i))
		if err := os.WriteFile(to, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[at] = to
	}
	spec, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, m.name+".json")
	if err := os.WriteFile(file, spec, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, m.name)
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", binary, "./sim/run").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return binary, nil
}

var broken = regexp.MustCompile(`(?m)^seed \d+ breaks invariant .*`)

// hunt runs worlds until one breaks an invariant, and says which; nothing: none did.
func hunt(binary string, minutes float64) (string, error) {
	out, err := exec.Command(binary, "-brief", "-minutes", fmt.Sprint(minutes)).CombinedOutput()
	var exit *exec.ExitError
	switch found := broken.Find(out); {
	case found != nil:
		return string(found), nil
	case errors.As(err, &exit):
		return "", fmt.Errorf("the worlds end with %w, and no invariant is named: %s", err, out)
	}
	return "", err
}
