package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
)

// reader walks over the file's YAML nodes and collects what is wrong.
type reader struct {
	file     string
	dir      string
	lines    []string
	problems Problems
	syntax   bool // the file is not YAML: nothing more can be said about it
	env      func(string) string
	peers    []peer
	broker   *broker
	open     []openService

	// What other keys are judged by, also where it is wrong itself.
	hasIdentity, hasBroker bool
	operatorsAt            *yaml.Node
	oldSignatures          *yaml.Node
	networkSaid            bool
	remotes                []*yaml.Node // sites of remote_operators
	workSocketAt           *yaml.Node   // of staff
	directory              *directory   // staff.ldap; nil: none, or wrong
}

func splitLines(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}

// add reports a problem at n, or with the whole file if n is nil.
func (r *reader) add(n *yaml.Node, what, remedy string) {
	p := Problem{Where: r.file, What: what, Remedy: remedy}
	if n != nil {
		r.place(&p, n.Line, n.Column)
	}
	r.problems = append(r.problems, p)
}

func (r *reader) place(p *Problem, line, column int) {
	if line < 1 || line > len(r.lines) {
		return
	}
	p.Line, p.Source = line, strings.TrimRight(r.lines[line-1], " \t")
	p.Column = min(max(column, 1), utf8.RuneCountInString(p.Source)+1)
}

func (r *reader) addSetting(s setting, what, remedy string) {
	if s.where == "" {
		r.add(s.node, what, remedy)
		return
	}
	r.problems = append(r.problems, Problem{Where: s.where, What: what, Remedy: remedy})
}

// document reads the whole file into c, and what can be overridden into s.
func (r *reader) document(text []byte, c *Config, s settings) {
	root, ok := r.parse(text)
	if !ok {
		return
	}
	keys := map[string]func(k, v *yaml.Node){
		"links":    func(_, v *yaml.Node) { r.links(v) },
		"programs": func(_, v *yaml.Node) { r.programs(v, c) },
		"limits":   func(_, v *yaml.Node) { r.limits(v, c) },
		"audit":    func(_, v *yaml.Node) { r.audit(v, c) },
		"logs":     func(_, v *yaml.Node) { r.logs(v, c) },
		"insecure": func(_, v *yaml.Node) { r.bool(v, &c.Insecure) },
		"identity": func(k, v *yaml.Node) { r.identity(k, v, c) },
		"definers": func(_, v *yaml.Node) { r.definers(v, c) },
		"network":  func(_, v *yaml.Node) { r.network(v, c) },
		"schedules": func(_, v *yaml.Node) {
			on := true
			r.bool(v, &on)
			c.NoSchedules = !on
		},
		"retired": func(_, v *yaml.Node) { r.retired(v, c) },
		"old_signatures": func(_, v *yaml.Node) {
			r.oldSignatures = v
			r.bool(v, &c.OldSignatures)
		},
		"operators": func(_, v *yaml.Node) { r.operators(v, c) },
		"rights":    func(_, v *yaml.Node) { r.rights(v, c) },
		"staff":     func(k, v *yaml.Node) { r.staff(k, v, c) },
		"events":    func(_, v *yaml.Node) { r.events(v, c) },
		"accept":    func(_, v *yaml.Node) { r.accept(v, c) },

		"remote_operators": func(_, v *yaml.Node) { r.remoteOperators(v, c) },
	}
	for _, key := range []string{"node", "data", "listen", "socket", "store"} {
		keys[key] = func(_, v *yaml.Node) {
			value, ok := r.text(v)
			s[key] = setting{value: value, node: v, wrong: !ok}
		}
	}
	r.mapping(root, "the file", keys)
	r.syntax = root.Kind != yaml.MappingNode
}

func (r *reader) parse(text []byte) (*yaml.Node, bool) {
	if len(bytes.TrimSpace(text)) == 0 {
		r.syntax = true
		r.add(nil, "the configuration is empty", "write at least `node: NAME`")
		return nil, false
	}
	var doc yaml.Node
	err := yaml.Load(text, &doc)
	var at *yaml.LoadError
	switch {
	case err == nil && len(doc.Content) == 1:
		return doc.Content[0], true
	case errors.As(err, &at):
		p := Problem{Where: r.file, What: "not YAML: " + strings.TrimPrefix(at.Message, "yaml: "), Remedy: "correct the line; a text with : # or quotes in it needs quotes around it"}
		if at.Mark.Line == 0 {
			p.Remedy = "write one YAML document, as UTF-8, with at least `node: NAME`"
		}
		r.place(&p, at.Mark.Line, at.Mark.Column)
		r.problems = append(r.problems, p)
	default:
		r.add(nil, fmt.Sprintf("not YAML: %v", err), "write one YAML document with at least `node: NAME`")
	}
	r.syntax = true
	return nil, false
}

// mapping calls the function of each key that n has; what names n in errors.
func (r *reader) mapping(n *yaml.Node, what string, keys map[string]func(k, v *yaml.Node)) {
	known := slices.Sorted(maps.Keys(keys))
	r.pairs(n, what, func(k, v *yaml.Node) {
		if f, ok := keys[k.Value]; ok {
			f(k, v)
			return
		}
		remedy := "remove it or correct it; " + what + " has " + strings.Join(known, ", ")
		if near, ok := container.Nearest(k.Value, known); ok {
			remedy = "did you mean " + near + "?"
		}
		r.add(k, fmt.Sprintf("unknown key %q", k.Value), remedy)
	})
}

// pairs calls each for every key of a mapping, each key once.
func (r *reader) pairs(n *yaml.Node, what string, each func(k, v *yaml.Node)) {
	if !r.plain(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.add(n, what+" is not a mapping", "write `key: value`, one per line, or {key: value}")
		return
	}
	first := map[string]int{}
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
		r.add(n, "anchors, aliases and merge keys are not part of the configuration", "write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		r.add(n, "tags are not part of the configuration", "remove the "+n.Tag)
	default:
		return true
	}
	return false
}

// scalar gives a value that is one word or number.
func (r *reader) scalar(n *yaml.Node, want string) (string, bool) {
	switch {
	case !r.plain(n):
		return "", false
	case n.Kind != yaml.ScalarNode:
		r.add(n, "this is not a single value", "write "+want)
		return "", false
	case n.Tag == "!!null" || n.Value == "":
		r.add(n, "there is no value", "write "+want+", or remove the key")
		return "", false
	}
	return n.Value, true
}

func (r *reader) text(n *yaml.Node) (string, bool) { return r.scalar(n, "a text") }

func (r *reader) bool(n *yaml.Node, into *bool) {
	s, ok := r.scalar(n, "true or false")
	if ok && n.Tag != "!!bool" {
		r.add(n, fmt.Sprintf("%q is neither true nor false", s), "write true or false")
	} else if ok {
		*into = s[0] == 't' || s[0] == 'T'
	}
}

func (r *reader) duration(n *yaml.Node, into *time.Duration) {
	const want = "a duration with a unit, such as 90s, 5m or 1h30m"
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		r.add(n, fmt.Sprintf("%q is not a duration", s), "write "+want)
	case d <= 0:
		r.add(n, fmt.Sprintf("%s is not a positive duration", s), "write more than 0, or remove the key")
	default:
		*into = d
	}
}

// oneOf reads a word out of a few.
func (r *reader) oneOf(n *yaml.Node, what string, into *string, words ...string) bool {
	want := "one of " + strings.Join(words, ", ")
	s, ok := r.scalar(n, want)
	if ok && !slices.Contains(words, s) {
		r.add(n, fmt.Sprintf("%q is not %s", s, what), "write "+want)
		return false
	}
	if ok {
		*into = s
	}
	return ok
}

// list calls each for every item of a list of words.
func (r *reader) list(n *yaml.Node, what, want string, each func(item *yaml.Node, s string)) {
	for _, item := range r.items(n, what, want) {
		if s, ok := r.scalar(item, want); ok {
			each(item, s)
		}
	}
}

// items gives what a list has; want is how one of them is written.
func (r *reader) items(n *yaml.Node, what, want string) []*yaml.Node {
	if !r.plain(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.add(n, what+" is not a list", "write ["+want+"]")
		return nil
	}
	return n.Content
}
