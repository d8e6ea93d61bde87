package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/sim"
	"fmqm/sim/generate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// How long one instance may take on a busy machine, and what is still on its way when
// the last of it is on disk.
const (
	patience = time.Minute
	settling = time.Minute
)

// Numbers for the names of processes: a name is bound to one definition for ever.
var processes atomic.Int64

// play is one random process on its way through a network.
type play struct {
	network *sim.Network
	drawn   *generate.Case
	process *definition.Process
	expect  *sim.Expectation
	id      uuid.UUID
	ended   <-chan struct{}
}

func newPlay(n *sim.Network, c *generate.Case) (*play, error) {
	name := fmt.Sprintf("drawn-%d", processes.Add(1))
	text := []byte(c.Text(name))
	loaded, diagnostics := definition.Load(name+".yaml", text)
	if len(loaded) != 1 {
		return nil, fmt.Errorf("definition: %v", diagnostics)
	}
	p := &play{network: n, drawn: c, process: loaded[0], id: uuid.Must(uuid.NewV7())}
	n.Play.Add(name+"@1", c)
	var err error
	p.expect, err = sim.Expect(p.process, json.RawMessage(c.Input), generate.Interpreted(c))
	return p, err
}

// site is where the instance is started, and uploaded from.
func (p *play) site() *sim.Site {
	starts := p.process.Starts
	return p.network.Site(starts[p.drawn.Start%len(starts)])
}

func (p *play) start(ctx context.Context) error {
	p.ended = p.network.Play.Watch(p.id, p.expect.Ends())
	if err := p.network.Upload(ctx, p.process, string(p.site().Name)); err != nil {
		return err
	}
	_, err := p.site().Node().Start(ctx, api.StartRequest{
		Instance: p.id, Process: p.process.Name + "@1", Input: json.RawMessage(p.drawn.Input),
	})
	return err
}

// differences waits for the instance's end and compares it with the interpreter's run.
func (p *play) differences(ctx context.Context) []string {
	select {
	case <-p.ended:
	case <-ctx.Done(): // what is missing shows in the status
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	var found []string
	asked := func() (bool, error) {
		s, err := p.site().Node().Status(ctx, p.id)
		if err != nil {
			return false, err
		}
		found = sim.Differences(s, p.expect.Result)
		// Beside an activity in error messages may still be on their way, and on a busy
		// machine a site may not answer in time; what has finished stays as it is.
		final := p.expect.Result.State == interpret.Finished && len(s.Unreachable) == 0
		return len(found) == 0 || final, nil
	}
	if err := sim.Until(ctx, asked); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		found = append(found, err.Error())
	}
	return found
}

// run takes the process through the network, and says what went otherwise than in the
// interpreter.
func (p *play) run(ctx context.Context) []string {
	if err := p.start(ctx); err != nil {
		return []string{err.Error()}
	}
	found := p.differences(ctx)
	found = append(found, p.expect.AttemptDifferences(p.network.Play.Attempts(p.id), false)...)
	if len(found) == 0 && p.expect.Result.State == interpret.InError {
		if err := p.site().Node().Terminate(ctx, p.id); err != nil {
			found = append(found, err.Error())
		}
	}
	p.network.Play.Forget(p.id)
	return found
}

// failer is what together needs of a test.
type failer interface {
	Fatalf(format string, args ...any)
}

// together runs a batch of processes at once.
func together(t failer, n *sim.Network, batch []*generate.Case) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		wrong []string
	)
	for _, c := range batch {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			p, err := newPlay(n, c)
			found := []string{fmt.Sprint(err)}
			if err == nil {
				found = p.run(ctx)
			}
			if len(found) > 0 {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fmt.Sprintf("%s\n  - %s", c, strings.Join(found, "\n  - ")))
			}
		}()
	}
	wg.Wait()
	wrong = append(wrong, n.Play.Violations()...)
	if len(wrong) > 0 {
		t.Fatalf("%d of %d processes differ; the first:\n%s", len(wrong), len(batch), wrong[0])
	}
}

// equivalence runs random processes through a network that lives all the while. At the
// end, instances in error having been terminated, nothing is left in it.
func equivalence(t *testing.T, o sim.Options, batchSize int) {
	o.Names = generate.Nodes
	o.Log = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	n, err := sim.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	ran, began := 0, time.Now()
	rapid.Check(t, func(t *rapid.T) {
		together(t, n, rapid.SliceOfN(generate.Cases(), batchSize, batchSize).Draw(t, "processes"))
		ran += batchSize
	})
	t.Logf("%d processes in %.1f s", ran, time.Since(began).Seconds())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.Quiet(ctx); err != nil {
		t.Errorf("all instances have ended, and something is left: %v", err)
	}
}

// With the 100 runs that rapid makes: 1,800 processes in memory and 200 on disk.
func TestADistributedRunIsTheInterpretersRun(t *testing.T) {
	equivalence(t, sim.Options{}, 18)
}

func TestADistributedRunOnDiskIsTheInterpretersRun(t *testing.T) {
	equivalence(t, sim.Options{Dir: t.TempDir(), BothCall: true, CacheEntries: 3}, 2)
}
