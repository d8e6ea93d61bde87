package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
	"fmqm/processtable"
)

// maxCount is the most instances that one command starts.
const maxCount = 1_000_000

func startCommand() *cli.Command {
	return &cli.Command{
		Name: "start", Usage: "start instances of a process", ArgsUsage: "PROCESS[@VERSION]",
		Description: `Starts an instance and prints its status. Without a version it takes the highest that
is current there (fmqm-define list), and says so where a higher one is stored. The
process must be allowed to start at this node.

If no answer comes, the command asks again for the same instance, so nothing starts twice.
With --key it makes the instance's identifier from the process name and the key: a second
start with the same key gives the same instance.

With -n it prints one line for each instance, as soon as the instance is on disk. With --key and
a COUNT over 1 the keys are KEY#1, KEY#2 and so on: a second such start with the same key gives
the same instances, and a larger COUNT adds to them. None of them is the instance of KEY alone,
which is that of -n 1 too.
With --instance it starts an instance again that its site has lost with its store, and that
other sites know (fmqm rebuild names such instances): without --yes it only says what it
would do.
With --wait it waits until the instance has ended or is stuck in error. It ends with 0 only
if the instance has finished. With --timeout it waits no longer than that, then ends with 5.
The instance goes on, and fmqm wait waits for it again.`,
		UsageText: `fmqm start purchase-order --input '{"customer": "ann", "item": "bolt", "quantity": 2}'
fmqm start purchase-order@1 --input @order.json --wait -o json
fmqm start purchase-order --input @order.json --wait --timeout 10m
generate-order | fmqm start purchase-order --input -
fmqm start nightly-report --key "$(date +%F)"
fmqm start purchase-order --input @order.json -n 100
fmqm start purchase-order@1 --input @order.json --instance 01970000-0000-7000-8000-000000000001 --yes`,
		Flags: printing(
			&cli.StringFlag{Name: "input", Usage: "input as `JSON`, @FILE, or - for standard input (default: all defaults)"},
			&cli.StringFlag{Name: "key", Usage: "make the identifier from `KEY`, so that two starts give one instance"},
			&cli.StringFlag{Name: "instance", Usage: "start the instance with the identifier `ID` again, after its site has lost it"},
			&cli.BoolFlag{Name: "yes", Usage: "with --instance: do it; without it, only show what would be done"},
			&cli.IntFlag{Name: "n", Value: 1, Usage: "start `COUNT` instances (default: 1)"},
			&cli.StringFlag{Name: "priority", Usage: "what is ready of it has the priority `N`, 0 to 9, 9 first (default: the process's)"},
			&cli.BoolFlag{Name: "wait", Usage: "wait until it has ended"}, common.AsFlag(),
		),
		Action: start,
	}
}

func start(c *cli.Context) error {
	process, err := processtable.ParseProcessID(c.Args().First())
	if err != nil {
		return common.Usagef("%v", err)
	}
	count := c.Int("n")
	if count < 1 || count > maxCount {
		return common.Usagef("-n %d: write a number from 1 to %d", count, maxCount)
	}
	if c.IsSet("key") && c.String("key") == "" {
		return common.Usagef("--key is empty: write what is unique to this instance, such as a date or an order number")
	}
	if len(c.String("key")) > api.MaxKey-len("#1000000") {
		return common.Usagef("--key has over %d bytes: use something short, such as a date or an order number", api.MaxKey-len("#1000000"))
	}
	input, err := common.ReadJSON(c, "input")
	if err != nil {
		return err
	}
	printer, client, err := common.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := waitLimit(c)
	defer cancel()
	talk := func(text string) { common.Talk(c, "%s", text) }
	s := &starter{
		client: client, process: process, input: bytes.TrimSpace(input.Text), key: c.String("key"), count: count, wait: c.Bool("wait"),
		patience: 3 * c.Duration("timeout"), talk: talk, silence: &silence{talk: talk},
	}
	if text := c.String("priority"); text != "" {
		priority, err := priorityOf(text, "--priority")
		if err != nil {
			return err
		}
		s.priority = &priority
	}
	switch {
	case c.IsSet("instance"):
		return input.Explain(c, startAgain(c, s, printer))
	case c.Bool("yes"):
		return common.Usagef("--yes is for --instance: leave it out")
	}
	if !c.IsSet("n") {
		if common.IsTerminal(common.From(c).Out) {
			s.begun = func(st api.Status) { talk("instance " + st.Instance.String()) }
		}
		st, err := s.one(ctx, 1)
		return errors.Join(show(printer, st), input.Explain(c, err))
	}
	list := printer.List(true, "INSTANCE", "PROCESS", "STATE")
	progress := common.NewProgress(c)
	defer progress.End()
	if common.IsTerminal(common.From(c).Out) {
		progress.End() // there the lines themselves show it
	}
	err = s.all(ctx, func(st api.Status) error {
		progress.Show("%d of %d started", list.Count()+1, count)
		return list.Row(st, st.Instance.String(), st.Process, string(st.State))
	})
	return errors.Join(list.End(), input.Explain(c, err))
}

// show prints a status, unless there is none.
func show(p *common.Printer, st api.Status) error {
	if st.Instance == (api.InstanceID{}) {
		return nil
	}
	return printStatus(p, st)
}

// starter starts instances of one process.
type starter struct {
	client   *api.Client
	process  processtable.ProcessID
	input    json.RawMessage
	key      string
	instance api.InstanceID // to be started again; uuid.Nil: a new one
	priority *int           // nil: the process's
	count    int
	wait     bool
	patience time.Duration // how long no answer to a start is borne
	talk     func(string)
	silence  *silence         // with wait
	begun    func(api.Status) // with wait: it is started, and now waited for; nil: nobody wants to know
	again    sync.Once        // whether it was said that no answer comes: -n would say it of every instance, time and again
	newer    sync.Once        // whether it was said that a higher version is stored
}

// request makes the request for the i-th instance, from 1.
func (s *starter) request(i int) (r api.StartRequest, err error) {
	r = api.StartRequest{Process: s.process.String(), Input: s.input, Key: s.key, Priority: s.priority}
	switch {
	case s.instance != (api.InstanceID{}):
		r.Instance = s.instance
		return r, nil
	case s.key == "":
		r.Instance, err = api.NewInstance()
		return r, err
	}
	if s.count > 1 {
		r.Key = fmt.Sprintf("%s#%d", s.key, i)
	}
	r.Instance = api.KeyedInstance(s.process.Name, r.Key)
	return r, nil
}

// one starts the i-th instance and, with --wait, waits for it. The status is what is
// known of it, also beside an error.
func (s *starter) one(ctx context.Context, i int) (api.Status, error) {
	request, err := s.request(i)
	if err != nil {
		return api.Status{}, err
	}
	st, err := s.start(ctx, request)
	if err == nil {
		s.tellNewer(st)
	}
	if err != nil || !s.wait {
		return st, err
	}
	if s.begun != nil {
		s.begun(st)
	}
	return waiter{s.client, s.silence}.until(ctx, st)
}

// tellNewer says, once, that NAME alone was not the highest version that is stored, and why.
func (s *starter) tellNewer(st api.Status) {
	if st.Newer == nil {
		return
	}
	s.newer.Do(func() {
		why := "its sites have just said that they have it"
		if len(st.Newer.Lacking) > 0 {
			why = api.NotYet(st.Newer.Lacking)
		}
		s.talk(fmt.Sprintf("started %s: %s is stored, and not current yet: %s (fmqm-define upload --now: at once)", st.Process, st.Newer.Process, why))
	})
}

// start asks until an answer comes. Asking again is safe, since it is for the same
// instance; but where not even the first request can have arrived, that is the answer.
func (s *starter) start(ctx context.Context, r api.StartRequest) (api.Status, error) {
	p := pause{until: time.Now().Add(s.patience)}
	for sent := false; ; {
		st, err := s.client.Start(ctx, r)
		if api.CodeOf(err) != api.CodeUnreachable {
			return st, err
		}
		if sent = sent || api.MayHaveHappened(err); !sent {
			return st, err
		}
		if ctx.Err() != nil || !p.wait(ctx) {
			return st, fmt.Errorf("%w; instance %s may have started: see fmqm status %s", err, r.Instance, r.Instance)
		}
		s.again.Do(func() { s.talk(fmt.Sprintf("%v: asking again for the same instance", err)) })
	}
}

// pause keeps what is repeated apart: 0.1 s, doubling to 2 s.
type pause struct {
	until time.Time // then it is enough; zero: never
	next  time.Duration
}

// wait waits, unless it is enough or ctx has ended.
func (p *pause) wait(ctx context.Context) bool {
	p.next = min(max(2*p.next, 100*time.Millisecond), 2*time.Second)
	if !p.until.IsZero() && time.Now().Add(p.next).After(p.until) {
		return false
	}
	t := time.NewTimer(p.next)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// atOnce is how many starts are under way at the same time: they share the node's
// durable writes.
const atOnce = 64

// all starts s.count instances and calls printed for each as it is there. After the
// first that cannot be started it begins no others.
func (s *starter) all(ctx context.Context, printed func(api.Status) error) error {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		begun  int
		failed error // the first; of --wait, an instance that has not finished is none
		done   int
		bad    error // the first that has not finished
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || begun == s.count {
			return 0, false
		}
		begun++
		return begun, true
	}
	keep := func(st api.Status, err error) {
		mu.Lock()
		defer mu.Unlock()
		if st.Instance != (api.InstanceID{}) {
			done++
			err = errors.Join(err, printed(st))
		}
		var own *common.Error
		switch {
		case errors.As(err, &own):
			if bad == nil {
				bad = err
			}
		case err != nil && failed == nil:
			failed = err
		}
	}
	for range min(s.count, atOnce) {
		wg.Go(func() {
			for i, more := take(); more; i, more = take() {
				keep(s.one(ctx, i))
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return fmt.Errorf("%d of %d started: %w", done, s.count, failed)
	}
	return bad
}
