package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"fmqm/link"
	"fmqm/sim"
	"fmqm/sim/generate"
)

// L2, invariant 2: whether what carries data or what carries none comes far behind, a
// distributed run is the interpreter's.
func TestOrderBetweenLanesIsIrrelevant(t *testing.T) {
	for lane := range link.Lanes {
		t.Run(fmt.Sprintf("lane %d far behind", lane), func(t *testing.T) {
			o := sim.Options{Speed: 4}
			o.LaneDelay[lane] = 5 * time.Millisecond
			equivalence(t, o, 4)
		})
	}
}

// L3: with a broker that loses and repeats beside the direct connections, which are
// cut again and again, and routes that are changed for each other while instances run,
// every run is the interpreter's, and nothing is left behind.
func TestRoutesAreChangedWhileInstancesRun(t *testing.T) {
	n, err := sim.Open(sim.Options{Names: generate.Nodes, Brokered: true, Speed: 100, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	ways := [][]string{{link.RouteDirect, link.RouteAMQP}, {link.RouteAMQP}, {link.RouteDirect}}
	round := 0
	for seed := range 8 {
		changed := make(chan struct{})
		go func() { // beside the instances that run meanwhile
			defer close(changed)
			for range len(ways) {
				round++
				for at, s := range n.Sites {
					other := n.Sites[(at+1)%len(n.Sites)]
					n.Cut(string(s.Name), string(other.Name), true)
					for _, end := range []*sim.Site{s, other} { // both alike: what one dials the other reads
						end.Reach(ways[(round+at)%len(ways)]...)
					}
					n.Cut(string(s.Name), string(other.Name), false)
				}
			}
			for _, s := range n.Sites {
				s.Reach(ways[round%len(ways)]...)
			}
		}()
		together(t, n, rapid.SliceOfN(generate.Cases(), 6, 6).Example(seed))
		<-changed
	}
}
