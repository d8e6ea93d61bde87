package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/world"
)

// calm is a world of four sites in which nothing goes wrong: so many processes of a kind, each
// run once, all at the same time.
func calm(seed uint64, kind world.Kind, processes int) world.Plan {
	r := rand.New(rand.NewPCG(seed, 3))
	p := world.Plan{Seed: seed, BothCall: seed%2 == 0, Cache: 3 + 1000*int(seed%2), Clear: 5 * time.Second}
	for _, n := range generate.Nodes {
		p.Sites = append(p.Sites, processtable.NodeID(n))
	}
	for i := range processes {
		p.Processes = append(p.Processes, world.Process{
			Name: fmt.Sprintf("p%d", i), Kind: kind, Number: r.IntN(1 << 30), Through: p.Sites[i%len(p.Sites)], Sites: p.Sites,
		})
		id, err := uuid.NewRandomFromReader(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(i)}))
		if err != nil {
			panic(err)
		}
		id[6] = id[6]&0x0f | 0x70
		p.Instances = append(p.Instances, world.Instance{ID: id, Process: i, At: time.Second})
	}
	return p
}

// holds runs a plan, in which every invariant must hold.
func holds(t *testing.T, p world.Plan) *world.Report {
	t.Helper()
	r := world.Run(p, world.Options{})
	if r.Broken != nil {
		t.Fatalf("seed %d breaks invariant %s\n%s", p.Seed, r.Broken.Invariant, world.ShrunkStory(r, 60))
	}
	return r
}

// Invariant 7: a distributed run gives every activity the state, iterations, attempts and
// containers of the interpreter's run, each attempt the same input, and leaves nothing. Where
// nothing goes wrong, no attempt is made twice.
func TestADistributedRunIsTheInterpretersRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		holds(t, calm(seed, world.Drawn, 18))
	}
}

// N24: so it is with processes whose activities send events to each other, given who has got which.
func TestN24EventsAreTheInterpretersRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		holds(t, calm(seed, world.Signals, 18))
	}
}

// N6: so it is with processes in which most paths die.
func TestN6DeadWoodIsTheInterpretersRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		holds(t, calm(seed, world.DeadWood, 20))
	}
}

// L2, invariant 2: whether what carries data or what carries none comes far behind, a
// distributed run is the interpreter's.
func TestOrderBetweenLanesIsIrrelevant(t *testing.T) {
	t.Parallel()
	for lane := range record.Lanes {
		t.Run(fmt.Sprintf("lane %d far behind", lane), func(t *testing.T) {
			for seed := range uint64(10) {
				p := calm(seed, world.Drawn, 20)
				p.Behind[lane] = 2 * time.Second
				holds(t, p)
			}
		})
	}
}

// L3: with a broker that loses and repeats beside the direct connections, which are cut
// again and again, and routes that are changed for each other while instances run, every run
// is the interpreter's, and nothing is left behind.
func TestRoutesAreChangedWhileInstancesRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		p := calm(seed, world.Steady, 10)
		p.Broker, p.Clear = true, 30*time.Second
		p.Events = append(p.Events, world.Event{Do: world.Lossy, For: time.Minute})
		for round := range 10 {
			at := time.Duration(1+2*round) * time.Second
			for i, s := range p.Sites {
				peer := p.Sites[(i+1)%len(p.Sites)]
				p.Events = append(p.Events,
					world.Event{At: at, Do: world.Cut, Site: s, Peer: peer, For: time.Second},
					world.Event{At: at, Do: world.Reload, Site: s, Number: (round + i) % 3, For: time.Minute})
			}
		}
		holds(t, p)
	}
}

// Nodes that crash at any commit, which is on disk or not, and wires that are cut at any
// moment, under more instances than a drawn world has, change nothing: every instance ends as
// the interpreter says, nothing runs beside itself or under two keys, and nothing is left or lost.
func TestCrashesAndCutsChangeNothing(t *testing.T) {
	t.Parallel()
	recoveries := 0
	for seed := range uint64(12) {
		p := calm(seed, world.Drawn, 64)
		p.Clear = 20 * time.Second
		r := rand.New(rand.NewPCG(seed, 7))
		moment := func() time.Duration { return time.Second + time.Duration(r.Int64N(int64(6*time.Second))) }
		for range 15 {
			p.Events = append(p.Events, world.Event{
				At: moment(), Do: world.CrashAt, Site: p.Sites[r.IntN(4)], Number: 1 + r.IntN(25), Kept: r.IntN(2) == 0, For: time.Second,
			})
			a, b := r.IntN(4), 1+r.IntN(3)
			p.Events = append(p.Events, world.Event{At: moment(), Do: world.Cut, Site: p.Sites[a], Peer: p.Sites[(a+b)%4], For: time.Second})
		}
		recoveries += holds(t, p).Recoveries
	}
	if recoveries < 3*12 {
		t.Errorf("%d crashes in all seeds: the storm has become too mild to show anything", recoveries)
	}
}
