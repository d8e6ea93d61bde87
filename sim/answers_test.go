package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/sim"
)

// weave is a process whose every activity follows on some of other nodes, a part of it
// dead: a layer's activities follow on two of the layer before each.
func weave(layers, wide int) string {
	var activities, control strings.Builder
	name := func(layer, i int) string { return fmt.Sprintf("a%d_%d", layer, i%wide) }
	for l := range layers {
		for i := range wide {
			fmt.Fprintf(&activities, "  %s: {node: %c, program: echo", name(l, i), "ABCD"[(l+i)%4])
			if l > 0 {
				activities.WriteString(", start: any")
				condition := "_RC == 0"
				if i%3 == 2 {
					condition = "_RC == 1"
				}
				fmt.Fprintf(&control, "  - %s -> %s: %s\n", name(l-1, i), name(l, i), condition)
				fmt.Fprintf(&control, "  - %s -> %s: _RC == 1\n", name(l-1, i+1), name(l, i))
			}
			activities.WriteString("}\n")
		}
	}
	return "process: weave\nversion: 1\nstarts: [A]\nactivities:\n" + activities.String() + "control:\n" + control.String()
}

// answers asks all sites for an instance as fast as they answer, until it has finished, and
// counts how many answers were whole, told of something unknown, or cannot be.
type answers struct {
	mu                    sync.Mutex
	whole, unknown, wrong int
	first                 string // that cannot be
}

func (x *answers) ask(ctx context.Context, n *sim.Network, id uuid.UUID, p *definition.Process) {
	var all sync.WaitGroup
	for _, site := range n.Sites {
		all.Go(func() {
			for last := api.InstanceRunning; last != api.InstanceFinished && ctx.Err() == nil; {
				node := site.Node()
				if node == nil {
					continue
				}
				s, err := node.Status(ctx, id)
				if err != nil {
					continue // not started yet, or down
				}
				last = s.State
				x.add(s, sim.Misfits(s, p))
			}
		})
	}
	all.Wait()
}

func (x *answers) add(s api.Status, wrong []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case len(wrong) > 0:
		if x.wrong++; x.first == "" {
			x.first = strings.Join(wrong, "\n")
		}
	case slices.ContainsFunc(s.Activities, func(a api.Activity) bool { return a.State == api.ActivityUnknown }):
		x.unknown++
	default:
		x.whole++
	}
}

// An answer fits together: no effect without its cause, nothing that waits beside
// `finished`; and where a site is behind, it says so (N1, N6). Once an instance has
// finished, and everybody answers, nothing is unknown.
func TestAnswersFitTogether(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n, p := woven(ctx, t, 16, 12)
	var x answers
	for range 8 {
		id := uuid.Must(uuid.NewV7())
		if err := n.Site("A").Node().Begin(ctx, api.StartRequest{Instance: id, Process: "weave"}); err != nil {
			t.Fatal(err)
		}
		x.ask(ctx, n, id, p)
		for _, site := range n.Sites {
			s, err := site.Node().Status(ctx, id)
			if err != nil || s.State != api.InstanceFinished || len(s.Clocks)+len(s.Unreachable) > 0 {
				t.Errorf("at the end %s says %s, clocks %v, unreachable %v, %v", site.Name, s.State, s.Clocks, s.Unreachable, err)
			}
		}
	}
	t.Logf("%d answers were whole, %d had something unknown", x.whole, x.unknown)
	if x.wrong > 0 {
		t.Errorf("%d answers cannot be; the first:\n%s", x.wrong, x.first)
	}
	if x.whole < x.unknown {
		t.Errorf("%d answers were whole, and %d had something unknown: who asks again gets it whole", x.whole, x.unknown)
	}
}

// woven opens a network of four sites that have a weave.
func woven(ctx context.Context, t *testing.T, layers, wide int) (*sim.Network, *definition.Process) {
	t.Helper()
	builtins, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := sim.Open(sim.Options{Names: []string{"A", "B", "C", "D"}, Log: zerolog.Nop(), Registry: func(string) *program.Registry { return builtins }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	processes, problems := definition.Load("weave.yaml", []byte(weave(layers, wide)))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	if err := n.Upload(ctx, processes[0], "A"); err != nil {
		t.Fatal(err)
	}
	for _, site := range n.Sites { // one that was not heard in time gets its table later
		if err := sim.Until(ctx, func() (bool, error) {
			list, err := site.Node().Definitions(ctx)
			return len(list.Definitions) == 1, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return n, processes[0]
}
