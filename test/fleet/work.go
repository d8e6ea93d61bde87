package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/processtable"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// Work is instances of random processes. Programs gives what a fleet needs to run it.
type Work struct {
	Plays []*Play
	// Steady work is of processes of which nine in ten finish (generate.Steady), and not
	// of such as fail in every way. It is set before Define.
	Steady bool
	// Nested work is for every second process of bundles and calls beside blocks (generate.Nested). It is set
	// before Define.
	Nested bool
	// Flat work has tables that sites of a release before read, so no blocks and nothing that came
	// later. It is set before Define.
	Flat bool
	// Waits says whether a start that a site refused is asked for again; nil: none is.
	Waits func(at *Site, err error) bool

	t     *testing.T
	dir   string // with the lines of actors: a file for each site
	twin  string // and with those of twins
	play  *prompter
	seed  int
	fleet *Fleet
	files []string // with the definitions
}

// Play is one instance.
type Play struct {
	ID      uuid.UUID
	Drawn   *generate.Case
	Process *definition.Process
	Expect  *oracle.Expectation
}

// NewWork makes work that is drawn from a seed.
func NewWork(t *testing.T, seed int) *Work {
	t.Helper()
	w := &Work{t: t, seed: seed, dir: t.TempDir(), twin: t.TempDir(), play: newPrompter(t)}
	for _, dir := range []string{w.dir, w.twin} {
		if err := os.Mkdir(filepath.Join(dir, "locks"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Programs are those of the work at one site; see Options.
func (w *Work) Programs(site string) []string { return w.programs(w.dir, site) }

// TwinPrograms are those of a site's twin, on a machine of its own: see [Work.JudgeTwins].
func (w *Work) TwinPrograms(site string) []string { return w.programs(w.twin, site) }

func (w *Work) programs(dir, site string) []string {
	var all []string
	for i, program := range generate.Programs {
		all = append(all, fmt.Sprintf("%s: {exec: [%s, %s, %s, %s], timeout: 1m, concurrency: %d}",
			program, filepath.Join(Bin, "actor"), filepath.Join(dir, site), filepath.Join(dir, "locks"), w.play.socket, len(generate.Programs)-i))
	}
	return all
}

// Define uploads so many random processes to the fleet, and expects so many instances
// of each.
func (w *Work) Define(f *Fleet, processes, instances int) {
	w.t.Helper()
	w.fleet = f
	texts := map[string]string{} // for those that are started at one site
	for number := w.seed * 1000; processes > 0; number++ {
		if text, home := w.draw(number, instances); text != "" {
			texts[home.Name] += text
			processes--
		}
	}
	r := rand.New(rand.NewPCG(uint64(w.seed), 1))
	r.Shuffle(len(w.Plays), func(i, j int) { w.Plays[i], w.Plays[j] = w.Plays[j], w.Plays[i] })
	for _, home := range Names {
		if text := texts[home]; text != "" {
			w.upload(f.Sites[home], text)
		}
	}
}

// draw gives a process and the site at which its instances, so many, will be started; nothing if
// the work is to have no such process.
func (w *Work) draw(number, instances int) (text string, home *Site) {
	w.t.Helper()
	kind := "drawn"
	if w.Steady {
		kind = "steady"
	}
	if w.Nested && number%2 == 1 {
		kind = "nested"
	}
	name := fmt.Sprintf("%s-%d", kind, number)
	drawn, err := generate.Named(name)
	if err != nil {
		w.t.Fatal(err)
	}
	text = drawn.Text(name)
	loaded, diagnostics := definition.Load(name, []byte(text))
	if len(loaded) != 1 {
		w.t.Fatal(diagnostics)
	}
	if w.Flat && !w.isFlat(loaded[0]) {
		return "", nil
	}
	oracle.Locate(loaded[0], homeOf(loaded[0], drawn))
	expect, err := oracle.Expect(loaded[0], json.RawMessage(drawn.Input), generate.Interpreted(drawn))
	if err != nil {
		w.t.Fatal(err)
	}
	for range instances {
		w.Plays = append(w.Plays, &Play{ID: uuid.Must(uuid.NewV7()), Drawn: drawn, Process: loaded[0], Expect: expect})
	}
	return text + "---\n", w.Home(w.Plays[len(w.Plays)-1])
}

// isFlat: the tables of a process have the format that says no more than FlowMark's.
func (w *Work) isFlat(p *definition.Process) bool {
	w.t.Helper()
	compiled, err := definition.Compile(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return compiled.Manifest.Format == processtable.FlowMarkFormat
}

// upload writes processes into a file, and uploads them through a site.
func (w *Work) upload(through *Site, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "started-at-"+through.Name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.files = append(w.files, file)
	Must(w.t, "fmqm-define", "upload", file, "--to", through.To())
}

// Home is where an instance is started.
func (w *Work) Home(p *Play) *Site {
	return w.fleet.Sites[homeOf(p.Process, p.Drawn)]
}

func homeOf(p *definition.Process, drawn *generate.Case) string {
	return p.Starts[drawn.Start%len(p.Starts)]
}

// Expected is how many attempts of programs the interpreter makes.
func (w *Work) Expected() int {
	n := 0
	for _, p := range w.Plays {
		n += len(p.Expect.Attempts)
	}
	return n
}

// Start starts all instances in the background, one after the other; those of a site
// that is down again, with the same identifier, when it is back (N2). The channel gives
// one error or nil.
func (w *Work) Start(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- w.start(ctx) }()
	return ended
}

func (w *Work) start(ctx context.Context) error {
	for _, p := range w.Plays {
		if err := w.StartOne(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// StartOne starts one instance, however often it has to be asked.
func (w *Work) StartOne(ctx context.Context, p *Play) error {
	err := Until(ctx, func() (bool, error) {
		_, err := w.Home(p).Client.Start(ctx, api.StartRequest{
			Instance: p.ID, Process: p.Process.Name, Input: json.RawMessage(p.Drawn.Input),
		})
		if api.CodeOf(err) == api.CodeUnreachable || err != nil && w.Waits != nil && w.Waits(w.Home(p), err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("start %s at %s: %w", p.Process.Name, w.Home(p).Name, err)
	}
	return nil
}

// Attempts counts the attempts that programs have made so far, everywhere.
func (w *Work) Attempts() int {
	count := 0
	for _, site := range Names {
		count += w.AttemptsAt(site)
	}
	return count
}

// AttemptsAt counts those of one site.
func (w *Work) AttemptsAt(site string) int {
	text, err := os.ReadFile(filepath.Join(w.dir, site))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// pace is how long nothing may run before a wait for more ends: what was started may have
// made all of its attempts before the wait began, on a machine with nothing else to do.
const pace = 20 * time.Second

// Progress waits until programs have made so many attempts more, until none was made for
// a while, or until ctx ends.
func (w *Work) Progress(ctx context.Context, more int) {
	seen, since := w.Attempts(), time.Now()
	goal := seen + more
	_ = Until(ctx, func() (bool, error) {
		if n := w.Attempts(); n != seen {
			seen, since = n, time.Now()
		}
		return seen >= goal || time.Since(since) > pace, nil
	})
}
