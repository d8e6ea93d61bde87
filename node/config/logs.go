package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/program"
)

// Logs says how much is kept of what programs write, for `fmqm logs`.
type Logs struct {
	Bytes   int64         // of all attempts together; 0: nothing is kept
	Age     time.Duration // since it was written
	Attempt int64         // bytes of one attempt, the last
}

// Defaults of what is kept of what programs write.
const (
	DefaultLogs       = 64 << 20
	DefaultLogAge     = 30 * day
	DefaultLogAttempt = 64 << 10
)

const (
	// minLogs is room for some attempts of the largest size.
	minLogs = 1 << 20
	// logShare is how many attempts of the largest size find room at least.
	logShare = 8
	// minAttempt is more than what is kept with a failed attempt in any case.
	minAttempt = 4 << 10
	// maxAttempt, with each byte escaped, goes into one answer between nodes.
	maxAttempt = 256 << 10
)

// logs reads the logs section.
func (r *reader) logs(n *yaml.Node, c *Config) {
	l := &c.Logs
	r.mapping(n, "logs", map[string]func(k, v *yaml.Node){
		"age": func(_, v *yaml.Node) { r.age(v, &l.Age) },
		"bytes": func(_, v *yaml.Node) {
			if v.Value == "0" {
				l.Bytes = 0
				return
			}
			setLimit(r, v, &l.Bytes, minLogs, maxDisk)
		},
		"attempt": func(_, v *yaml.Node) { setLimit(r, v, &l.Attempt, minAttempt, maxAttempt) },
	})
	if l.Bytes > 0 && l.Attempt > l.Bytes/logShare {
		r.add(n, fmt.Sprintf("few attempts of %s find room in %s", sizeText(l.Attempt), sizeText(l.Bytes)),
			fmt.Sprintf("write `bytes` of at least %s, or a smaller `attempt`", sizeText(logShare*l.Attempt)))
	}
}

// redact reads which values of a program's env or headers nobody is to read in a log or a reason.
func (r *reader) redact(n *yaml.Node, s *program.Spec) {
	values, of := s.Env, "env"
	if s.Kind == program.KindHTTP {
		values, of = s.Headers, "headers"
	}
	r.list(n, "redact", "NAME of "+of, func(item *yaml.Node, name string) {
		value, known := values[name]
		_, secret := s.Secrets[name]
		switch {
		case s.Kind == program.KindBuiltin:
			r.add(item, "builtin programs write nothing", "remove `redact`")
		case secret: // as it is without a word
		case !known:
			remedy := "write a name that is in `" + of + "`; what `secrets` names is never shown"
			if near, ok := container.Nearest(name, slices.Sorted(maps.Keys(values))); ok {
				remedy = "did you mean " + near + "?"
			}
			r.add(item, fmt.Sprintf("the program has no %s in `%s`", name, of), remedy)
		case program.CheckRedact(name, value) != nil:
			what, remedy, _ := strings.Cut(program.CheckRedact(name, value).Error(), ": ")
			r.add(item, what, remedy)
		case !slices.Contains(s.Redact, name):
			s.Redact = append(s.Redact, name)
		}
	})
}
