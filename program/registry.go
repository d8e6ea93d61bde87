package program

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"fmqm/container"
	"fmqm/internal/landlock"
	"fmqm/processtable"
)

// Kind is how a program is invoked.
type Kind uint8

const (
	KindExec    Kind = 1
	KindHTTP    Kind = 2
	KindBuiltin Kind = 3
)

// Spec registers one program, as a node's configuration says it.
type Spec struct {
	Kind        Kind
	Exec        []string          // KindExec: argument vector; a name without a slash is looked for in PATH
	URL         string            // KindHTTP
	Builtin     string            // KindBuiltin: one of Builtins
	Timeout     time.Duration     // 0: none, for http DefaultHTTPTimeout
	Concurrency int               // invocations at once; 0: DefaultConcurrency of the kind
	Env         map[string]string // KindExec: added to the clean environment
	Headers     map[string]string // KindHTTP: added to the request
	Secrets     map[string]string // more of Env or Headers: the file that has the value, read at each attempt
	Redact      []string          // names in Env or Headers: their values are in no log and no reason, as those of Secrets
	Certificate string            // KindHTTP: PEM file of the client's certificate, with Key
	Key         string
	CA          string // KindHTTP: PEM file of the authorities that the service's certificate is checked against; empty: the system's
	Dir         string // KindExec: working directory; empty: the daemon's, or with User his home
	User        string // KindExec: name or number of the user that it runs as; empty: the daemon's
	Unconfined  bool   // KindExec: it is not kept from what is the daemon's, and may gain privileges
	Tasks       int    // KindExec: processes and threads at once, where Groups can limit them; 0: DefaultTasks
}

// DefaultConcurrency is how many invocations of one program run at once unless its
// registration says otherwise: a child process costs a core while it starts, an http
// request waits, a builtin costs next to nothing.
func DefaultConcurrency(k Kind) int {
	switch k {
	case KindExec:
		return max(4, 2*runtime.NumCPU())
	case KindHTTP:
		return 16
	case KindBuiltin:
	}
	return 256
}

// DefaultTasks is how many processes and threads one exec program may have at once unless
// its registration says otherwise.
const DefaultTasks = 1024

// Options hold for all programs of a registry. Zero values have defaults.
type Options struct {
	Home      string            // HOME of exec programs; default: the daemon's
	Grace     time.Duration     // between SIGTERM and SIGKILL; default: DefaultGrace
	MaxOutput int               // bytes that a program may answer; default: container.MaxJSON
	Transport http.RoundTripper // of http programs; default: one for all of them
	Ledger    *Ledger           // notes exec programs; nil: what outlives a killed daemon is not found
	Groups    *Groups           // of exec programs; nil: none
	Fence     *landlock.Fence   // around what is the daemon's; nil: programs of its user are not kept from it
	Apart     *landlock.Fence   // around nothing: for programs of other users, which are kept from each other. nil: they are not
}

func (o Options) withDefaults() Options {
	if o.Home == "" {
		o.Home = os.Getenv("HOME")
	}
	if o.Home == "" {
		o.Home = "/"
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = container.MaxJSON
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return o
}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}

// Entry is a registered program.
type Entry struct {
	Program     Program
	Kind        Kind
	Concurrency int // how many invocations may run at once; at least 1
}

// Registry is what a node can run (invariant 11). It is immutable; a configuration
// that was read again makes a new one.
type Registry struct {
	entries map[processtable.ProgramID]Entry
	options Options
}

// NewRegistry registers programs. All of it or, with an error for each that is wrong,
// nothing.
func NewRegistry(specs map[processtable.ProgramID]Spec, o Options) (*Registry, error) {
	r := &Registry{entries: make(map[processtable.ProgramID]Entry, len(specs)), options: o.withDefaults()}
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(specs)) {
		e, err := newEntry(specs[id], r.options)
		if err != nil {
			problems = append(problems, fmt.Errorf("program %s: %w", id, err))
		}
		r.entries[id] = e
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return r, nil
}

func newEntry(s Spec, o Options) (Entry, error) {
	e := Entry{Kind: s.Kind, Concurrency: s.Concurrency}
	if e.Concurrency <= 0 {
		e.Concurrency = DefaultConcurrency(s.Kind)
	}
	var err error
	switch s.Kind {
	case KindExec:
		e.Program, err = newCommand(s, o)
	case KindHTTP:
		e.Program, err = newService(s, o)
	case KindBuiltin:
		e.Program, err = newBuiltin(s.Builtin, s.Timeout)
	default:
		err = fmt.Errorf("there is no kind %d of program", s.Kind)
	}
	return e, err
}

// Lookup gives the program that is registered as id.
func (r *Registry) Lookup(id processtable.ProgramID) (Entry, bool) {
	e, ok := r.entries[id]
	return e, ok
}

// Names gives what is registered, sorted.
func (r *Registry) Names() []processtable.ProgramID {
	return slices.Sorted(maps.Keys(r.entries))
}

// Close lets idle connections of http programs go. Programs that run are not touched.
func (r *Registry) Close() {
	for _, e := range r.entries {
		if s, ok := e.Program.(*service); ok {
			s.client.CloseIdleConnections()
		}
	}
	r.options.Fence.Close()
	r.options.Apart.Close()
}

// RegistryOf registers programs that are Go values: for tests, and for whoever embeds
// a node. A Concurrency below 1 counts as 1.
func RegistryOf(entries map[processtable.ProgramID]Entry) *Registry {
	r := &Registry{entries: make(map[processtable.ProgramID]Entry, len(entries)), options: Options{}.withDefaults()}
	for id, e := range entries {
		e.Concurrency = max(1, e.Concurrency)
		r.entries[id] = e
	}
	return r
}
