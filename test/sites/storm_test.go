package sites

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/interpret"
	"fmqm/sim"
	"fmqm/sim/generate"
)

// weather is the size of a storm. Instances are started over the whole of it.
type weather struct {
	seed      int
	processes int
	instances int           // of each process
	killings  int           // how many kills
	killEvery int           // attempts of programs, at most
	limit     time.Duration // for all of it
}

// A hundred instances of random processes, while a seeded schedule kills daemons with
// kill -9, cuts links between them, and once fills the disk of one of them. At the end
// each instance is as the interpreter says, every attempt was given the right input, no
// execution ran under two keys or beside itself, nothing is left in any queue, and the
// stores are whole.
func TestKilledDaemonsCutLinksAndAFullDiskChangeNothing(t *testing.T) {
	rage(t, weather{seed: 20, processes: 20, instances: 5, killings: 14, killEvery: 12, limit: 2 * patience})
}

// The same with 500 instances and 30 kills: one storm after the other, each with its own
// processes and schedule, for FMQM_STORM minutes (`make storm`). FMQM_STORM_SEED is the
// first's seed.
func TestStorm(t *testing.T) {
	if os.Getenv("FMQM_STORM") == "" {
		t.Skip("make storm MINUTES=10")
	}
	end := time.Now().Add(time.Duration(setting(t, "FMQM_STORM", 1)) * time.Minute)
	first := setting(t, "FMQM_STORM_SEED", 100)
	for seed := first; (seed == first || time.Now().Before(end)) && !t.Failed(); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rage(t, weather{seed: seed, processes: 50, instances: 10, killings: 30, killEvery: 100, limit: 5 * patience})
		})
	}
}

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: write a number of at least 1", name, text)
	}
	return n
}

// rage lets a storm go over four daemons, and then looks at what is there.
func rage(t *testing.T, w weather) {
	s := newStorm(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	started := s.startAll(ctx)
	s.blow(ctx)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.network.connected(ctx)
	finished, inError := 0, 0
	for _, p := range s.plays {
		s.compare(ctx, p)
		if p.expect.Result.State == interpret.Finished {
			finished++
		} else {
			inError++
		}
	}
	lines := s.lines()
	s.executions(lines)
	s.empty(ctx)
	s.whole()
	t.Logf("seed %d: %d kills, %d stops, %d cuts, %s; %d instances: %d finished, %d in error; %d attempts of %d that the interpreter makes; lost 0, doubled 0",
		w.seed, s.kills, s.stops, s.cuts, s.disk, len(s.plays), finished, inError, len(lines), s.expected())
	if s.kills < w.killings || s.cuts < w.killings/4 || len(s.plays) < 100 {
		t.Error("the storm was too mild")
	}
	if finished < len(s.plays)*8/10 || inError == 0 {
		t.Errorf("%d of %d instances finished: draw other processes", finished, len(s.plays))
	}
	s.disk.judge()
}

// play is one instance.
type play struct {
	id      uuid.UUID
	drawn   *generate.Case
	process *definition.Process
	expect  *sim.Expectation
}

type storm struct {
	weather
	t        *testing.T
	rand     *rand.Rand
	network  *network
	dir      string // with the lines of actors: a file for each site
	plays    []*play
	released chan *play // to be started now
	kills    int
	stops    int
	inRow    map[*site]int // kills since the last stop in order
	cuts     int
	cut      []*wire
	down     []*site
	disk     *flood
}

func newStorm(t *testing.T, w weather) *storm {
	s := &storm{weather: w, t: t, rand: rand.New(rand.NewPCG(uint64(w.seed), 1)), inRow: map[*site]int{}, dir: t.TempDir()}
	locks := filepath.Join(s.dir, "locks")
	if err := os.Mkdir(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{}
	for _, site := range names {
		for i, program := range generate.Programs {
			programs[site] = append(programs[site], fmt.Sprintf("%s: {exec: [%s, %s, %s], timeout: 1m, concurrency: %d}",
				program, filepath.Join(bin, "actor"), filepath.Join(s.dir, site), locks, len(generate.Programs)-i))
		}
	}
	s.disk = &flood{storm: s, name: names[s.rand.IntN(len(names))]}
	s.network = newNetworkWith(t, programs, s.disk.name)
	for i := range s.processes {
		s.define(s.seed*1000 + i)
	}
	s.rand.Shuffle(len(s.plays), func(i, j int) { s.plays[i], s.plays[j] = s.plays[j], s.plays[i] })
	return s
}

// define uploads a random process, and expects some instances of it.
func (s *storm) define(number int) {
	name := fmt.Sprintf("steady-%d", number)
	drawn, err := generate.Named(name)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(drawn.Text(name)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	loaded, diagnostics := definition.Load(file, []byte(drawn.Text(name)))
	if len(loaded) != 1 {
		s.t.Fatal(diagnostics)
	}
	expect, err := sim.Expect(loaded[0], json.RawMessage(drawn.Input), generate.Interpreted(drawn))
	if err != nil {
		s.t.Fatal(err)
	}
	for range s.instances {
		s.plays = append(s.plays, &play{id: uuid.Must(uuid.NewV7()), drawn: drawn, process: loaded[0], expect: expect})
	}
	must(s.t, "fmqm-define", "upload", file, "--to", s.site(s.plays[len(s.plays)-1]).to())
}

// site is where an instance is started.
func (s *storm) site(p *play) *site {
	return s.network.sites[p.process.Starts[p.drawn.Start%len(p.process.Starts)]]
}

func (s *storm) expected() int {
	n := 0
	for _, p := range s.plays {
		n += len(p.expect.Attempts)
	}
	return n
}

// startAll starts every instance that is released, in the background, and gives one
// error or nil when all are. What a site that is down does not hear of waits for it, and
// holds up nothing that is started elsewhere.
func (s *storm) startAll(ctx context.Context) <-chan error {
	s.released = make(chan *play, len(s.plays))
	ended := make(chan error, 1)
	each := map[*site]chan *play{}
	failed := make(chan error, len(names))
	for _, at := range s.network.sites {
		plays := make(chan *play, len(s.plays))
		each[at] = plays
		go func() {
			var err error
			for p := range plays {
				if err == nil {
					err = s.start(ctx, at, p)
				}
			}
			failed <- err
		}()
	}
	go func() {
		for p := range s.released {
			each[s.site(p)] <- p
		}
		var all []error
		for _, plays := range each {
			close(plays)
		}
		for range each {
			all = append(all, <-failed)
		}
		ended <- errors.Join(all...)
	}()
	return ended
}

// start starts an instance, with the same identifier however often it is asked (N2): of
// a site that is down, or whose disk has no room (S3), until it is back.
func (s *storm) start(ctx context.Context, at *site, p *play) error {
	err := sim.Until(ctx, func() (bool, error) {
		_, err := at.client.Start(ctx, api.StartRequest{
			Instance: p.id, Process: p.process.Name, Input: json.RawMessage(p.drawn.Input),
		})
		switch {
		case api.CodeOf(err) == api.CodeUnreachable, s.disk.refuses(at, err):
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("start %s at %s: %w", p.process.Name, at.name, err)
	}
	return nil
}

// release lets so many of all instances start, in a hundred: they are started over the
// whole of the storm.
func (s *storm) release(already, part int) int {
	want := min(len(s.plays), len(s.plays)*part/100)
	for ; already < want; already++ {
		s.released <- s.plays[already]
	}
	return already
}

// attempts counts the lines that actors have written so far.
func (s *storm) attempts() int {
	count := 0
	for _, site := range names {
		count += s.attemptsAt(site)
	}
	return count
}

func (s *storm) attemptsAt(site string) int {
	text, err := os.ReadFile(filepath.Join(s.dir, site))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// blow goes by what happens: each time that programs have run some more, a daemon is
// killed, or one that was killed is started, and a link is cut or mended. Where nothing
// runs any more, since all of it waits for what is down, something comes back.
func (s *storm) blow(ctx context.Context) {
	released := 0
	for s.kills < s.killings && ctx.Err() == nil {
		released = s.release(released, 100*(s.kills+1)/s.killings)
		s.disk.rise()
		s.progress(ctx, s.attempts()+s.rand.IntN(s.killEvery))
		if len(s.down) > 1 || len(s.down) > 0 && s.rand.IntN(2) == 0 {
			s.bringBack()
		} else {
			s.kill()
		}
		if s.rand.IntN(2) == 0 {
			s.cutOrMend()
		}
	}
	s.release(released, 100)
	close(s.released)
	s.disk.free()
	for len(s.down) > 0 {
		s.bringBack()
	}
	for len(s.cut) > 0 {
		s.mend()
	}
}

// progress waits until the actors have written so many lines, or for a while.
func (s *storm) progress(ctx context.Context, count int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = sim.Until(ctx, func() (bool, error) { return s.attempts() >= count, nil })
}

// kill kills a daemon that is up and has answered: one that is killed before it could
// do anything shows nothing. After two kills in a row it is stopped in order: what was
// running at three unclean stops in a row would go in error (P2), as it should.
func (s *storm) kill() {
	site := s.network.sites[names[s.rand.IntN(len(names))]]
	if !site.up() {
		return
	}
	site.answers()
	if s.inRow[site] == 2 {
		site.stop()
		s.inRow[site] = 0
		s.stops++
	} else {
		site.kill()
		s.inRow[site]++
		s.kills++
	}
	s.down = append(s.down, site)
}

func (s *storm) bringBack() {
	site := s.down[0]
	s.down = s.down[1:]
	site.start()
}

func (s *storm) cutOrMend() {
	if len(s.cut) > 3 || len(s.cut) > 0 && s.rand.IntN(2) == 0 {
		s.mend()
		return
	}
	a, b := s.rand.IntN(len(names)), s.rand.IntN(len(names)-1)
	if b >= a {
		b++
	}
	// Each of the two dials the other: both wires are cut.
	for _, ends := range [][2]string{{names[a], names[b]}, {names[b], names[a]}} {
		w := s.network.wires[ends]
		w.set(true)
		s.cut = append(s.cut, w)
	}
	s.cuts++
}

// mend mends the link that was cut first.
func (s *storm) mend() {
	for _, w := range s.cut[:2] {
		w.set(false)
	}
	s.cut = s.cut[2:]
}

// compare waits until an instance is as the interpreter says, and ends it where it is
// in error.
func (s *storm) compare(ctx context.Context, p *play) {
	s.t.Helper()
	var found []string
	err := sim.Until(ctx, func() (bool, error) {
		status, err := s.site(p).client.Status(ctx, p.id)
		if err != nil {
			found = []string{err.Error()}
			return false, nil
		}
		found = sim.Differences(status, p.expect.Result)
		return len(found) == 0, nil
	})
	if err != nil {
		s.t.Fatalf("instance %s of %s\n%s\n  - %s", p.id, p.process.Name, p.drawn, strings.Join(found, "\n  - "))
	}
	if p.expect.Result.State == interpret.InError {
		must(s.t, "fmqm", "terminate", p.id.String(), "--to", s.site(p).to())
	}
}

// line is what an actor notes of an attempt.
type line struct {
	Instance, Activity string
	Iteration, Attempt int
	Input, Key         string
	Beside             bool
}

// lines reads what all actors have noted, each site's in order.
func (s *storm) lines() []line {
	var all []line
	for _, site := range names {
		f, err := os.Open(filepath.Join(s.dir, site))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		r := bufio.NewReader(f)
		for {
			text, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break // what stands there now is being written
			}
			var l line
			if err != nil || json.Unmarshal(text, &l) != nil {
				s.t.Fatalf("%s: %v %s", site, err, text)
			}
			all = append(all, l)
		}
		_ = f.Close()
	}
	return all
}

// executions checks what ran: the attempts that the interpreter makes and no others,
// with the same inputs; each execution under one key, and never beside itself (P1, P2).
func (s *storm) executions(lines []line) {
	byInstance := map[string][]sim.Attempt{}
	type execution struct {
		instance, activity string
		iteration          int
	}
	keys := map[execution]string{}
	owners := map[string]execution{}
	for _, l := range lines {
		byInstance[l.Instance] = append(byInstance[l.Instance], sim.Attempt{
			Activity: l.Activity, Iteration: l.Iteration, Attempt: l.Attempt, Input: l.Input,
		})
		e := execution{l.Instance, l.Activity, l.Iteration}
		if key, ran := keys[e]; ran && key != l.Key {
			s.t.Errorf("%v ran under the keys %s and %s", e, key, l.Key)
		}
		keys[e] = l.Key
		if other, used := owners[l.Key]; used && other != e {
			s.t.Errorf("%v and %v ran under one key, %s", e, other, l.Key)
		}
		owners[l.Key] = e
		if l.Beside {
			s.t.Errorf("%v ran beside another attempt of itself", e)
		}
	}
	for _, p := range s.plays {
		for _, d := range p.expect.AttemptDifferences(byInstance[p.id.String()], true) {
			s.t.Errorf("instance %s of %s: %s", p.id, p.process.Name, d)
		}
		delete(byInstance, p.id.String())
	}
	for id := range byInstance {
		s.t.Errorf("instance %s ran, which nobody started", id)
	}
}

// empty stops the daemons, when everything has come where it should, and looks into
// their stores: nothing may be left in any queue, nor set aside.
func (s *storm) empty(ctx context.Context) {
	left := ""
	err := sim.Until(ctx, func() (bool, error) {
		s.network.until(ctx, "transmission queues are empty", func() bool { return s.waiting(ctx) == 0 })
		left = s.leftInStores()
		if left == "" {
			return true, nil
		}
		for _, site := range s.network.sites {
			site.start()
		}
		s.network.connected(ctx)
		return false, nil
	})
	if err != nil {
		s.t.Errorf("left in the stores: %s (%v)", left, err)
	}
}

// waiting counts the messages that nodes hold for others; -1: one did not answer.
func (s *storm) waiting(ctx context.Context) int {
	count := 0
	for _, site := range s.network.sites {
		a, err := site.client.Nodes(ctx)
		if err != nil {
			return -1
		}
		for _, node := range a.Nodes {
			count += int(node.Waiting)
		}
	}
	return count
}

func (s *storm) leftInStores() string {
	var all []string
	for _, site := range s.network.sites {
		site.stop()
		engine, err := badger.Open(badger.Options{Dir: filepath.Join(site.dir, "data")})
		if err != nil {
			s.t.Fatal(err)
		}
		left, err := sim.Left(engine)
		if err = errors.Join(err, engine.Close()); err != nil {
			s.t.Fatal(err)
		}
		if left != "" {
			all = append(all, site.name+": "+left)
		}
	}
	return strings.Join(all, "; ")
}

// whole checks each store at rest, with the operator's own commands: every record can be
// read, and none is of a kind that should be gone.
func (s *storm) whole() {
	for _, site := range s.network.sites {
		data := filepath.Join(site.dir, "data")
		must(s.t, "fmqmd", "verify", "--data", data)
		for line := range strings.Lines(must(s.t, "fmqmd", "dump", "--data", data, "-o", "jsonl")) {
			var record struct{ Kind, Problem string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				s.t.Fatalf("%v: %s", err, line)
			}
			switch record.Kind {
			case "message", "instance record", "transmission item", "incoming part", "set aside", "timer", "staged body":
				s.t.Errorf("left at %s: %s", site.name, line)
			}
			if record.Problem != "" {
				s.t.Errorf("at %s: %s", site.name, line)
			}
		}
	}
}
