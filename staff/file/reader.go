package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/staff"
)

// reader walks over the file's YAML nodes and collects what is wrong.
type reader struct {
	file     string
	text     []byte
	begins   []int // of each line; made when first needed
	problems Problems
	more     int // problems beyond staff.MaxProblems
}

// problem reports what is wrong at a place, or with the whole file if line is 0.
func (r *reader) problem(line, column int, what, remedy string) {
	if len(r.problems) > staff.MaxProblems {
		r.more++
		return
	}
	p := Problem{Where: r.file, What: what, Remedy: remedy}
	if source, ok := r.line(line); ok && line > 0 {
		p.Line, p.Source = line, strings.TrimRight(source, " \t\r\n")
		p.Column = min(max(column, 1), utf8.RuneCountInString(p.Source)+1)
	}
	r.problems = append(r.problems, p)
}

func (r *reader) line(n int) (string, bool) {
	if r.begins == nil {
		r.begins = []int{0}
		for i, c := range r.text {
			if c == '\n' {
				r.begins = append(r.begins, i+1)
			}
		}
		r.begins = append(r.begins, len(r.text)+1)
	}
	if n < 1 || n >= len(r.begins) {
		return "", false
	}
	return string(r.text[r.begins[n-1] : r.begins[n]-1]), true
}

func (r *reader) add(n *yaml.Node, what, remedy string) {
	if n == nil {
		r.problem(0, 0, what, remedy)
		return
	}
	r.problem(n.Line, n.Column, what, remedy)
}

func (r *reader) sorted() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.more > 0 {
		r.problems = append(r.problems, Problem{Where: r.file, What: fmt.Sprintf("%d more problems are not shown", r.more), Remedy: "correct these first"})
	}
	return r.problems
}

const beginning = "write at least `people: {NAME: {}}`"

// parse gives the root of the file; false: it is no YAML, or too much.
func (r *reader) parse() (*yaml.Node, bool) {
	if len(bytes.TrimSpace(r.text)) == 0 {
		r.add(nil, "the staff file is empty", beginning)
		return nil, false
	}
	if n := parts(r.text); n > maxParts {
		r.add(nil, fmt.Sprintf("the file may be of over %d words", maxParts), "this is no list of people of one node")
		return nil, false
	}
	var doc yaml.Node
	err := yaml.Load(r.text, &doc)
	var at *yaml.LoadError
	switch {
	case err == nil && len(doc.Content) == 1:
		return doc.Content[0], true
	case errors.As(err, &at) && at.Mark.Line > 0:
		r.problem(at.Mark.Line, at.Mark.Column, "not YAML: "+strings.TrimPrefix(at.Message, "yaml: "), "correct the line; a text with : # or quotes in it needs quotes around it")
	case errors.As(err, &at):
		r.add(nil, "not YAML: "+strings.TrimPrefix(at.Message, "yaml: "), "write one YAML document, as UTF-8")
	default:
		r.add(nil, fmt.Sprintf("not YAML: %v", err), "write one YAML document")
	}
	return nil, false
}

// key is what is done with a key of a mapping.
type key = func(k, v *yaml.Node)

// mapping calls the function of each key that n has; what names n in problems.
func (r *reader) mapping(n *yaml.Node, what string, keys map[string]key) {
	r.pairs(n, what, func(k, v *yaml.Node) {
		if f, ok := keys[k.Value]; ok {
			f(k, v)
			return
		}
		var known []string
		for name := range keys {
			known = append(known, name)
		}
		slices.Sort(known)
		remedy := "remove it or correct it; " + what + " has " + strings.Join(known, ", ")
		if near, ok := container.Nearest(k.Value, known); ok {
			remedy = "did you mean " + near + "?"
		}
		r.add(k, fmt.Sprintf("unknown key %q", k.Value), remedy)
	})
}

// pairs calls each for every key of a mapping, each key once.
func (r *reader) pairs(n *yaml.Node, what string, each key) {
	if !r.plain(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.add(n, what+" is not a mapping", "write `key: value`, one per line, or {key: value}")
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch line, seen := first[k.Value]; {
		case !r.plain(k):
		case k.Kind != yaml.ScalarNode:
			r.add(k, "this key is not a word", "write `key: value`")
		case seen:
			r.add(k, fmt.Sprintf("%s occurs twice; the first is in line %d", k.Value, line), "remove one of the two")
		default:
			first[k.Value] = k.Line
			each(k, v)
		}
	}
}

// plain refuses the parts of YAML that make a file mean what it does not show.
func (r *reader) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "", n.Tag == "!!merge":
		r.add(n, "anchors, aliases and merge keys are not part of a staff file", "write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		r.add(n, "tags are not part of a staff file", "remove the "+n.Tag)
	default:
		return true
	}
	return false
}

// word reads a value that is one word; want is what it could be.
func (r *reader) word(n *yaml.Node, want string, into *staff.Word) {
	if !r.plain(n) {
		return
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		r.add(n, "this is not a single value", "write "+want)
	case n.Tag == "!!null" || n.Value == "":
		r.add(n, "there is no value", "write "+want+", or remove the key")
	default:
		*into = staff.Word{Text: n.Value, Line: n.Line, Column: n.Column}
	}
}

// words reads a list of words; want is what one could be.
func (r *reader) words(n *yaml.Node, what, want string, into *[]staff.Word) {
	if !r.plain(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.add(n, what+" is not a list", "write ["+want+"]")
		return
	}
	all := make([]staff.Word, 0, len(n.Content))
	for _, item := range n.Content {
		var w staff.Word
		if r.word(item, want, &w); w.Text != "" {
			all = append(all, w)
		}
	}
	*into = all
}
