package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

const (
	deadFan       = 250 // messages that an instance sends to the peer that is dead
	deadInstances = 800
	deadWaiting   = deadFan * deadInstances // 200,000
	deadText      = 500                     // bytes of each
	deadBeside    = 300                     // instances between those that live

	// What a daemon may grow by, over one that has just begun. What waits has 130 MB, and a
	// daemon that held it in memory would need more for each message than its bytes.
	deadGrowth  = 96 << 20
	deadCatchUp = 256 << 20 // while it is sent and received, with the engine's buffers
)

// The definitions: a fan whose activities at A all send to one at B, and the same work
// between A and C.
func deadDefinitions() string {
	var b strings.Builder
	b.WriteString("process: fan\nversion: 1\nstructures:\n  Note: {text: string}\ninput: Note\noutput: Note\nactivities:\n" +
		"  there: {node: B, program: pass, input: Note, output: Note}\n")
	for i := range deadFan {
		fmt.Fprintf(&b, "  s%d: {node: A, empty: true, input: Note, output: Note}\n", i)
	}
	b.WriteString("control:\n")
	for i := range deadFan {
		fmt.Fprintf(&b, "  - s%d -> there\n", i)
	}
	b.WriteString("data:\n  - there -> sink\n")
	for i := range deadFan {
		fmt.Fprintf(&b, "  - source -> s%d\n  - s%d -> there\n", i, i)
	}
	b.WriteString("---\n" + strings.NewReplacer("process: small", "process: beside", "node: B", "node: C").Replace(smallProcess))
	return b.String()
}

// rssAnon is the memory of a daemon that is its own: not that of mapped files.
func (s *site) rssAnon() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process()))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				s.t.Fatal(err)
			}
			return n << 10
		}
	}
	s.t.Fatal("the system says nothing of RssAnon")
	return 0
}

// begin starts instances of a process, several at a time, and gives them.
func (s *site) begin(ctx context.Context, process, input string, count int) []uuid.UUID {
	s.t.Helper()
	ids := make([]uuid.UUID, count)
	errs := make([]error, count)
	var all sync.WaitGroup
	turn := make(chan struct{}, 16)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
		turn <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			_, errs[i] = s.Client.Start(ctx, api.StartRequest{Instance: ids[i], Process: process, Input: json.RawMessage(input)})
			<-turn
		}()
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return ids
}

// finish waits until all instances have finished.
func (s *site) finish(ctx context.Context, ids []uuid.UUID) {
	s.t.Helper()
	for _, id := range ids {
		status, err := s.Client.Wait(ctx, id, fleet.Patience)
		if err != nil || status.State != api.InstanceFinished {
			s.t.Fatalf("%s is %s %s: %v", id, status.State, status.Reason, err)
		}
	}
}

// holds compares how many messages wait for peers. What was acknowledged is trimmed after
// a second at most (L4).
func (s *site) holds(ctx context.Context, want map[string]int) {
	s.t.Helper()
	for peer, count := range want {
		err := fleet.Until(ctx, func() (bool, error) { return s.waiting(ctx, peer) == count, nil })
		if err != nil {
			s.t.Fatalf("%d messages wait for %s at %s, want %d: %v", s.waiting(ctx, peer), peer, s.Name, count, err)
		}
	}
}

// waiting counts the messages that a site holds for a peer.
func (s *site) waiting(ctx context.Context, peer string) int {
	s.t.Helper()
	a, err := s.Client.Nodes(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, node := range a.Nodes {
		if node.Node == peer {
			return int(node.Waiting)
		}
	}
	return 0
}

// A peer that is dead for long, with 200,000 messages waiting for it, fills no memory and
// no quota, and neither slows nor fills the links to others: all that goes there arrives
// while it is dead. When it is back it gets all of them, in bounded memory.
func TestAPeerThatIsDeadForLong(t *testing.T) {
	pass := []string{"pass: {builtin: echo}"}
	n := newNetwork(t, map[string][]string{"A": pass, "B": pass, "C": pass})
	a, b := n.sites["A"], n.sites["B"]
	ctx, cancel := context.WithTimeout(context.Background(), 5*fleet.Patience)
	defer cancel()
	empty := a.rssAnon()
	a.Upload(deadDefinitions())
	input := fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", deadText))

	b.Kill()
	waiting := a.begin(ctx, "fan", input, deadInstances) // at its quota it would be refused
	a.finish(ctx, a.begin(ctx, "beside", input, deadBeside))
	a.holds(ctx, map[string]int{"B": deadWaiting, "C": 0})

	// Memory is looked at in a daemon whose runtime is told to give back at once what it
	// does not use: what it still has then, it holds.
	a.Stop()
	t.Setenv("GOMEMLIMIT", "64MiB")
	a.Start()
	a.Answers()
	a.finish(ctx, a.begin(ctx, "beside", input, deadBeside))
	a.holds(ctx, map[string]int{"B": deadWaiting, "C": 0})
	grown := 0
	err := fleet.Until(ctx, func() (bool, error) {
		_, err := a.Client.Nodes(ctx)
		grown = a.rssAnon() - empty
		return grown < deadGrowth, err
	})
	if err != nil {
		t.Errorf("%d messages wait, and take %d MiB of memory: %v", deadWaiting, grown>>20, err)
	}

	t.Setenv("GOMEMLIMIT", "off")
	b.Start()
	b.Answers()
	sender, receiver := 0, 0
	n.Until(ctx, "B has all messages", func() bool {
		sender, receiver = max(sender, a.rssAnon()-empty), max(receiver, b.rssAnon()-empty)
		return a.waiting(ctx, "B") == 0
	})
	a.finish(ctx, waiting)
	if sender > deadCatchUp || receiver > deadCatchUp {
		t.Errorf("while B caught up, A grew to %d MiB more than at its start, and B to %d", sender>>20, receiver>>20)
	}
	t.Logf("%d messages waited: A had %d MiB more than at its start; while B caught up at most %d, and B %d",
		deadWaiting, grown>>20, sender>>20, receiver>>20)
}
