// Command mutants holds the simulation to what it is for: each mutant is the product with one
// mistake put in, by text, without a file being changed; worlds are run until one breaks an
// invariant. A mutant that survives, or that another invariant catches than is said in the list, or
// that does not apply to the code any more, is a failure.
//
//	mutants               all of them, for at most 5 minutes each
//	mutants -minutes 1 -base 100001 NAME ...
//
// What finding it took is told in worlds and their events as well: they are the same on every
// machine but for the few worlds that its other cores were running.
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
	caught  string // by which invariants: the names, apart by a blank
	kind    string // worlds with a process of that kind, or in which that is done, are run; empty: all
	changes []change
}

// change is a text that stands in a file once, and what is put in its place.
type change struct{ file, old, new string }

func main() {
	minutes := flag.Float64("minutes", 5, "how long each mutant may live")
	base := flag.Uint64("base", 1, "the first seed")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *minutes, *base); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, names []string, minutes float64, base uint64) error {
	for _, name := range names {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name }) {
			return fmt.Errorf("there is no mutant %s: see sim/mutants/list.go", name)
		}
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var survived, otherwise []string
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		binary, err := m.build(dir)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		began := time.Now()
		caught, took, err := hunt(binary, minutes, base, m.kind)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		switch by := invariant.FindStringSubmatch(caught); {
		case by == nil:
			survived = append(survived, m.name)
			caught = "SURVIVES"
		case !slices.Contains(strings.Fields(m.caught), by[1]):
			otherwise = append(otherwise, m.name)
			caught += ", EXPECTED " + m.caught
		}
		fmt.Fprintf(out, "%-18s %-60s %s, after %.1f s: %s\n", m.name, m.what, caught, time.Since(began).Seconds(), took)
	}
	if len(survived) > 0 {
		return fmt.Errorf("not caught in %g minutes: %s", minutes, strings.Join(survived, ", "))
	}
	if len(otherwise) > 0 {
		return fmt.Errorf("caught by another invariant than by the one that is there for it: %s", strings.Join(otherwise, ", "))
	}
	return nil
}

// texts gives the files below root that the mistake is in, as they are with it.
func (m mutant) texts(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, c := range m.changes {
		if _, changed := texts[c.file]; !changed {
			text, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, err
			}
			texts[c.file] = string(text)
		}
		if n := strings.Count(texts[c.file], c.old); n != 1 {
			return nil, fmt.Errorf("%s has the text %q %d times, and it must stand there once: write the mutant for the code as it is now", c.file, c.old, n)
		}
		texts[c.file] = strings.Replace(texts[c.file], c.old, c.new, 1)
	}
	return texts, nil
}

// build makes the simulation of the product with the mistake in it.
func (m mutant) build(dir string) (binary string, err error) {
	texts, err := m.texts(".")
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range texts {
		at, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, fmt.Sprintf("%s-%d.go", m.name, len(overlay.Replace)))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
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

// invariant takes the name out of what hunt says.
var invariant = regexp.MustCompile(`breaks invariant ([^ :,]+)`)

var broken = regexp.MustCompile(`(?m)^seed \d+ breaks invariant .*`)

// figures are what is said of the worlds that ran.
var figures = regexp.MustCompile(`(?m)^\d+ worlds .* events`)

// hunt runs worlds until one breaks an invariant, and says which, and how many it took; no
// invariant: none was broken.
func hunt(binary string, minutes float64, base uint64, kind string) (caught, took string, err error) {
	out, err := exec.Command(binary, "-brief", "-minutes", fmt.Sprint(minutes), "-base", fmt.Sprint(base), "-of", kind).CombinedOutput()
	took = string(figures.Find(out))
	var exit *exec.ExitError
	switch found := broken.Find(out); {
	case found != nil:
		return string(found), took, nil
	case errors.As(err, &exit):
		return "", "", fmt.Errorf("the worlds end with %w, and no invariant is named: %s", err, out)
	}
	return "", took, err
}
