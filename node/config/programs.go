package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/processtable"
	"fmqm/program"
)

// The most invocations of one program at once, and the most processes and threads of
// one invocation.
const (
	maxConcurrency = 10_000
	maxTasks       = 1_000_000
)

func (r *reader) programs(n *yaml.Node, c *Config) {
	r.pairs(n, "programs", func(k, v *yaml.Node) {
		if !processtable.ValidProgram(k.Value) {
			r.add(k, fmt.Sprintf("%q cannot name a program", k.Value), "use letters, digits, _ and -, not a digit or - first, at most 64")
			return
		}
		if s, ok := r.program(k, v); ok {
			c.Programs[processtable.ProgramID(k.Value)] = s
		}
	})
}

// program reads one registration. It says ok if nothing was wrong with it.
func (r *reader) program(k, n *yaml.Node) (program.Spec, bool) {
	var s program.Spec
	var kinds []*yaml.Node // the keys that say the kind
	own := map[*yaml.Node]program.Kind{}
	only := func(kind program.Kind, read func(v *yaml.Node)) func(k, v *yaml.Node) {
		return func(k, v *yaml.Node) {
			own[k] = kind
			read(v)
		}
	}
	var secrets, redact *yaml.Node
	before := len(r.problems)
	r.mapping(n, "a program", map[string]func(k, v *yaml.Node){
		"exec": func(k, v *yaml.Node) {
			s.Kind, kinds = program.KindExec, append(kinds, k)
			s.Exec = r.argv(v)
		},
		"http": func(k, v *yaml.Node) {
			s.Kind, kinds = program.KindHTTP, append(kinds, k)
			r.url(v, &s.URL)
		},
		"builtin": func(k, v *yaml.Node) {
			s.Kind, kinds = program.KindBuiltin, append(kinds, k)
			r.builtin(v, &s.Builtin)
		},
		"timeout": func(_, v *yaml.Node) { r.duration(v, &s.Timeout) },
		"concurrency": func(_, v *yaml.Node) {
			r.count(v, "concurrency", "how many invocations may run at once", maxConcurrency, &s.Concurrency)
		},
		"secrets": func(_, v *yaml.Node) { secrets = v },
		"redact":  func(_, v *yaml.Node) { redact = v },
		"env":     only(program.KindExec, func(v *yaml.Node) { s.Env = r.environment(v) }),
		"dir": only(program.KindExec, func(v *yaml.Node) {
			if dir, ok := r.text(v); ok {
				s.Dir = r.abs(dir)
			}
		}),
		"user":    only(program.KindExec, func(v *yaml.Node) { r.user(v, &s.User) }),
		"confine": only(program.KindExec, func(v *yaml.Node) { r.confine(v, &s.Unconfined) }),
		"tasks": only(program.KindExec, func(v *yaml.Node) {
			r.count(v, "tasks", "how many processes and threads it may have at once", maxTasks, &s.Tasks)
		}),
		"headers":     only(program.KindHTTP, func(v *yaml.Node) { s.Headers = r.headers(v) }),
		"certificate": only(program.KindHTTP, func(v *yaml.Node) { r.fileName(v, &s.Certificate) }),
		"key":         only(program.KindHTTP, func(v *yaml.Node) { r.secretName(v, &s.Key) }),
		"ca":          only(program.KindHTTP, func(v *yaml.Node) { r.fileName(v, &s.CA) }),
	})
	r.kind(k, s.Kind, kinds, own, before)
	if secrets != nil {
		r.secrets(secrets, &s)
	}
	if redact != nil {
		r.redact(redact, &s)
	}
	if s.Kind == program.KindHTTP && len(r.problems) == before {
		r.service(k, &s)
	}
	if s.Concurrency == 0 {
		s.Concurrency = program.DefaultConcurrency(s.Kind)
	}
	if s.Kind == program.KindExec && s.Dir == "" && s.User == "" {
		s.Dir = r.dir
	}
	return s, len(r.problems) == before
}

// kind checks that a program says once what it is, and nothing that does not fit; own
// has the keys that fit one kind only.
func (r *reader) kind(name *yaml.Node, kind program.Kind, kinds []*yaml.Node, own map[*yaml.Node]program.Kind, before int) {
	const remedy = "write one of exec: [PROGRAM, ARGUMENT...], http: URL, builtin: NAME"
	switch {
	case len(kinds) == 0 && len(r.problems) == before:
		r.add(name, fmt.Sprintf("program %s does not say what runs", name.Value), remedy)
	case len(kinds) > 1:
		r.add(kinds[1], fmt.Sprintf("program %s says twice what runs", name.Value), remedy)
	}
	words := map[program.Kind]string{program.KindExec: "exec", program.KindHTTP: "http"}
	for k, fits := range own {
		if len(kinds) == 1 && kind != fits {
			r.add(k, k.Value+" is for "+words[fits]+" programs", "remove it")
		}
	}
}

// argv reads the argument vector of an exec program.
func (r *reader) argv(n *yaml.Node) []string {
	const want = "a list of the program and its arguments, such as [/usr/local/bin/check, --json]"
	if !r.plain(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.add(n, "exec is not a list", "write "+want+"; there is no shell")
		return nil
	}
	argv := make([]string, 0, len(n.Content))
	for _, a := range n.Content {
		if !r.plain(a) {
			return nil
		}
		if a.Kind != yaml.ScalarNode || a.Tag == "!!null" || strings.ContainsRune(a.Value, 0) {
			r.add(a, "an argument is not a text", "write "+want)
			return nil
		}
		argv = append(argv, a.Value)
	}
	if argv[0] == "" {
		r.add(n.Content[0], "the program has no name", "write "+want)
		return nil
	}
	if strings.Contains(argv[0], "/") {
		argv[0] = r.abs(argv[0])
	}
	return argv
}

// abs makes a path of the file absolute.
func (r *reader) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

func (r *reader) url(n *yaml.Node, into *string) {
	s, ok := r.scalar(n, "http://HOST/PATH or https://HOST/PATH")
	if !ok {
		return
	}
	if err := program.CheckURL(s); err != nil {
		r.addHiding(n, err.Error(), "")
		return
	}
	*into = s
}

func (r *reader) builtin(n *yaml.Node, into *string) {
	names := program.Builtins()
	s, ok := r.scalar(n, "one of "+strings.Join(names, ", "))
	if !ok {
		return
	}
	for _, name := range names {
		if s == name {
			*into = s
			return
		}
	}
	remedy := "use one of " + strings.Join(names, ", ")
	if near, ok := container.Nearest(s, names); ok {
		remedy = "did you mean " + near + "?"
	}
	r.add(n, fmt.Sprintf("there is no builtin program %q", s), remedy)
}

func (r *reader) count(n *yaml.Node, what, means string, most int, into *int) {
	want := fmt.Sprintf("a whole number from 1 to %d: %s", most, means)
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > most {
		r.add(n, fmt.Sprintf("%s cannot be %q", what, s), "write "+want)
		return
	}
	*into = v
}

// user reads as whom a program runs. Whether there is such a user is for who runs it.
func (r *reader) user(n *yaml.Node, into *string) {
	s, ok := r.scalar(n, "the name of a user of this machine")
	switch {
	case !ok:
	case s == "root" || s == "0":
		r.add(n, "no program runs as root", "let a service of its own do what needs root, or leave `user` out")
	case !userName.MatchString(s):
		r.add(n, fmt.Sprintf("%q cannot name a user", s), "write the name or the number of a user of this machine")
	default:
		*into = s
	}
}

var userName = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.@-]{0,63}$`)

func (r *reader) confine(n *yaml.Node, unconfined *bool) {
	confine := true
	r.bool(n, &confine)
	*unconfined = !confine
}

// environment reads what an exec program gets beside the clean environment.
func (r *reader) environment(n *yaml.Node) map[string]string {
	env := map[string]string{}
	r.pairs(n, "env", func(k, v *yaml.Node) {
		switch {
		case !r.variable(k) || !r.plain(v):
		case v.Kind != yaml.ScalarNode || v.Tag == "!!null" || strings.ContainsRune(v.Value, 0):
			r.add(v, "the value is not a text", `write the variable's value; "" for an empty one`)
		default:
			env[k.Value] = v.Value
		}
	})
	return env
}

func validVariable(s string) bool {
	return processtable.ValidActivity(s) // the same letters and the same limit
}
