package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/interpret"
	"fmqm/sim"
	"fmqm/sim/generate"
)

// The size of one seed's simulation.
const (
	crashSeeds     = 12
	crashProcesses = 8
	crashInstances = 8 // of each process
	crashes        = 15
)

// Nodes that crash at any commit, which is on disk or not, and links that are cut at
// any moment change nothing: every instance ends as the interpreter says, nothing runs
// beside itself or under two keys, and nothing is left or lost.
func TestCrashesAndCutsChangeNothing(t *testing.T) {
	crashed := 0
	for seed := range uint64(crashSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := newStorm(t, seed)
			s.run()
			crashed += s.crashed
		})
	}
	if crashed < 3*crashSeeds {
		t.Errorf("%d crashes in all seeds: the storm has become too mild to show anything", crashed)
	}
}

// storm is a network in which nodes crash and links are cut.
type storm struct {
	t       *testing.T
	rand    *rand.Rand
	network *sim.Network
	plays   []*play
	crashed int
	calm    bool // no more crashes
	cut     [][2]string
}

func newStorm(t *testing.T, seed uint64) *storm {
	n, err := sim.Open(sim.Options{Names: generate.Nodes, Speed: 50, BothCall: seed%2 == 0, CacheEntries: 20, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &storm{t: t, rand: rand.New(rand.NewPCG(seed, 7)), network: n}
	for i := range crashProcesses {
		p, err := newPlay(n, generate.Cases().Example(int(seed)*crashProcesses+i))
		if err != nil {
			t.Fatal(err)
		}
		for range crashInstances {
			another := *p
			another.id = uuid.Must(uuid.NewV7())
			s.plays = append(s.plays, &another)
		}
	}
	return s
}

func (s *storm) run() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for i, p := range s.plays {
		if i%crashInstances == 0 {
			if err := s.network.Upload(ctx, p.process, string(p.site().Name)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for _, site := range s.network.Sites {
		s.reopen(site)
	}
	began := make(chan error, 1)
	go func() { began <- s.startAll(ctx) }()
	s.blow(ctx)
	if err := <-began; err != nil {
		s.t.Fatal(err)
	}
	for _, p := range s.plays {
		s.compare(ctx, p)
	}
	for _, v := range s.network.Play.Violations() {
		s.t.Error(v)
	}
	if err := s.network.Quiet(ctx); err != nil {
		s.t.Errorf("all instances have ended, and something is left: %v", err)
	}
	s.t.Logf("%d instances, %d crashes", len(s.plays), s.crashed)
}

// startAll starts every instance, again with the same identifier while the node where
// it is started crashes (N2).
func (s *storm) startAll(ctx context.Context) error {
	for _, p := range s.plays {
		err := sim.Until(ctx, func() (bool, error) {
			n := p.site().Node()
			if n == nil {
				return false, nil
			}
			asked, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := n.Start(asked, api.StartRequest{
				Instance: p.id, Process: p.process.Name + "@1", Input: json.RawMessage(p.drawn.Input),
			})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("start %s: %w", p.process.Name, err)
		}
	}
	return nil
}

// reopen gives a site a node that crashes at one of its next commits, as long as there
// are crashes to come.
func (s *storm) reopen(site *sim.Site) {
	if err := site.Crash(); err != nil {
		s.t.Fatal(err)
	}
	after := 0 // never
	if !s.calm && s.crashed < crashes {
		after = 1 + s.rand.IntN(25)
	}
	if err := site.Open(after, s.rand.IntN(2) == 0); err != nil {
		s.t.Fatal(err)
	}
}

// blow lets nodes crash, one or several at once, until enough have; links are cut and
// mended meanwhile. At the end all sites are up and all links are whole.
func (s *storm) blow(ctx context.Context) {
	for s.crashed < crashes && !s.over(ctx) {
		for _, site := range s.network.Sites {
			select {
			case <-site.Crashed():
				s.crashed++
				s.reopen(site)
			default:
			}
		}
		if s.rand.IntN(4) == 0 {
			s.cutOrMend() // nothing may happen any more but for this
		}
	}
	s.calm = true
	for len(s.cut) > 0 {
		s.mend()
	}
	for _, site := range s.network.Sites {
		s.reopen(site)
	}
}

// over says whether every instance is as the interpreter says: then no commit comes by
// itself that a node could crash at. It takes long enough for something to happen.
func (s *storm) over(ctx context.Context) bool {
	for _, p := range s.plays {
		n := p.site().Node()
		asked, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		status, err := n.Status(asked, p.id)
		cancel()
		if err == nil {
			s.fits(p, status)
		}
		if err != nil || len(sim.Differences(status, p.expect.Result)) > 0 {
			return ctx.Err() != nil
		}
	}
	return true
}

func (s *storm) cutOrMend() {
	if len(s.cut) > 2 || len(s.cut) > 0 && s.rand.IntN(2) == 0 {
		s.mend()
		return
	}
	a, b := s.rand.IntN(len(generate.Nodes)), s.rand.IntN(len(generate.Nodes)-1)
	if b >= a {
		b++
	}
	s.cut = append(s.cut, [2]string{generate.Nodes[a], generate.Nodes[b]})
	s.network.Cut(generate.Nodes[a], generate.Nodes[b], true)
}

func (s *storm) mend() {
	ends := s.cut[0]
	s.cut = s.cut[1:]
	s.network.Cut(ends[0], ends[1], false)
}

// compare holds an instance against the interpreter, and ends it where it is in error.
func (s *storm) compare(ctx context.Context, p *play) {
	var found []string
	err := sim.Until(ctx, func() (bool, error) {
		status, err := p.site().Node().Status(ctx, p.id)
		if err != nil {
			return false, nil // peers are not heard yet
		}
		s.fits(p, status)
		found = sim.Differences(status, p.expect.Result)
		return len(found) == 0, nil
	})
	if err != nil {
		found = append(found, err.Error())
	}
	found = append(found, p.expect.AttemptDifferences(s.network.Play.Attempts(p.id), true)...)
	if len(found) > 0 {
		s.t.Fatalf("%s\n  - %s", p.drawn, strings.Join(found, "\n  - "))
	}
	if p.expect.Result.State == interpret.InError {
		if err := p.site().Node().Terminate(ctx, p.id); err != nil {
			s.t.Fatal(err)
		}
	}
}

// fits holds an answer that was given in the storm to what can be.
func (s *storm) fits(p *play, status api.Status) {
	if wrong := sim.Misfits(status, p.process); len(wrong) > 0 {
		s.t.Errorf("%s\nsays %s, and\n  - %s", p.drawn, status.State, strings.Join(wrong, "\n  - "))
	}
}
