package world_test

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/sim/world"
)

// enough worlds for each kind of weather to have effects.
const enough = 440

var worlds = flag.Int("worlds", enough, "how many worlds TestWorlds runs; `make test` runs 60 more behind it, from other seeds")

// Invariants 1 to 12, in networks of two to seven sites under all that can happen to them:
// after every event, and at the end everything is as the interpreter says, and nothing is left.
// What a failure needs is told; `make sim SEED=n` tells all of it.
func TestWorlds(t *testing.T) {
	n := *worlds
	var total world.Totals
	var mu sync.Mutex
	var next atomic.Uint64
	var workers sync.WaitGroup
	began := time.Now()
	for range 2 {
		workers.Go(func() {
			for seed := next.Add(1); seed <= uint64(n) && !t.Failed(); seed = next.Add(1) {
				r := world.Run(world.Draw(seed), world.Options{})
				mu.Lock()
				total.Add(r)
				if r.Broken != nil {
					t.Errorf("seed %d breaks invariant %s\n%s", seed, r.Broken.Invariant, world.ShrunkStory(r, 60))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(total.String(time.Since(began)))
	t.Log(total.Weather())
	if total.Recoveries < 2*total.Worlds {
		t.Errorf("%d recoveries in %d worlds: the weather has become too mild to show anything", total.Recoveries, total.Worlds)
	}
	if n >= enough {
		effects(t, &total)
	}
}

// effects: what is drawn also befalls somebody, each kind of weather in some of so many worlds.
func effects(t *testing.T, total *world.Totals) {
	t.Helper()
	least := map[string]int{
		"lost": 20, "repeated": 10, "replayed": 10, "reordered": 200, "late": 20, "forgotten": 10, "broker down": 50,
		"cut": 20, "stalled": 200, "slow": 200, "behind": 200, "torn": 1, "refused": 2000, "unread": 50,
		string(world.CrashAt): 20, string(world.CrashIn): 20, string(world.FailWrite): 20, string(world.FailRead): 30,
		string(world.Detour): 10, string(world.Astray): 20, string(world.Reload): 20, string(world.Decide): 20, string(world.Upgrade): 20,
		string(world.Restore): 8, string(world.CopyOn): 4, string(world.Twice): 2, string(world.Lose): 2,
	}
	for _, d := range []world.Deed{
		world.Crash, world.Stop, world.Sluggish, world.Cold, world.Low, world.Full, world.Clock, world.Backup, world.Image, world.Ask, world.Terminate, world.Retry, world.Wrong,
	} {
		least[string(d)] = 10
	}
	for what, n := range least {
		if total.Met[what] < n {
			t.Errorf("%s has an effect %d times, and at least %d are expected", what, total.Met[what], n)
		}
	}
}

// The same seed gives the same events, to the byte.
func TestASeedIsAWorld(t *testing.T) {
	for seed := range uint64(6) {
		first := world.Run(world.Draw(seed), world.Options{Lines: true})
		second := world.Run(world.Draw(seed), world.Options{Lines: true})
		if first.Hash == second.Hash {
			continue
		}
		for i := range first.Lines {
			if i >= len(second.Lines) || first.Lines[i] != second.Lines[i] {
				other := "the end"
				if i < len(second.Lines) {
					other = second.Lines[i]
				}
				t.Errorf("seed %d: event %d is\n%s\nand then\n%s", seed, i, first.Lines[i], other)
				break
			}
		}
	}
}
