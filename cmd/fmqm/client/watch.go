package client

import (
	"context"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

const (
	watchLook  = 5 * time.Second // how often a watch looks who is not heard
	watchQuiet = time.Second     // after so long without an event nothing comes after an error any more
)

func watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "show what happens to an instance until it has ended or is stuck", ArgsUsage: "INSTANCE",
		Description: `Shows the past events, then each new one as this node learns of it. It ends when the
instance ends, and with 1 when the instance is in error and nothing else goes on. It says
when a node becomes unreachable, or reachable again. On a terminal each node has a column,
and dead paths are grey; a pipe gets a table.`,
		UsageText: "fmqm watch " + example + "\nfmqm watch " + example + " -o jsonl | grep in-error",
		Flags:     printing(),
		Action:    asks(watch),
	}
}

func watch(c *cli.Context, a asked) error {
	if t := newTimeline(c, a.printer); t != nil {
		t.knowAll(c, a)
		return watchUntilStuck(c, a, t.event)
	}
	list := a.printer.List(true, eventColumns...)
	err := watchUntilStuck(c, a, func(e api.HistoryEvent) error { return eventRow(list, e) })
	if err != nil && list.Count() == 0 {
		return err
	}
	if end := list.End(); err == nil {
		err = end
	}
	return err
}

// watchUntilStuck gives the events of an instance until it has ended. Where it is in error
// and nothing else goes on, it gives what is still on its way, and the reason as an error.
func watchUntilStuck(c *cli.Context, a asked, event func(api.HistoryEvent) error) error {
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	events := make(chan struct{}, 1)
	stuck := make(chan api.Status, 1)
	var looks sync.WaitGroup
	looks.Go(func() {
		if st, is := lookWhetherStuck(ctx, c, a); is {
			waitForQuiet(ctx, events)
			stuck <- st
			cancel()
		}
	})
	err := a.client.Watch(ctx, a.instance, func(e api.HistoryEvent) error {
		select {
		case events <- struct{}{}:
		default:
		}
		return event(e)
	})
	cancel()
	looks.Wait()
	select {
	case st := <-stuck:
		return outcome(st)
	default:
		return err
	}
}

// lookWhetherStuck asks for the status until the instance is in error for good, or ctx has
// ended, and says who is not heard.
func lookWhetherStuck(ctx context.Context, c *cli.Context, a asked) (api.Status, bool) {
	silent := ""
	for ctx.Err() == nil {
		st, err := a.client.Wait(ctx, a.instance, watchLook)
		if err == nil {
			if now := unheard(st.Unreachable); now != silent {
				silent = now
				if now == "" {
					now = "all nodes are reachable again"
				} else {
					now = "unreachable: " + now + ": what happens there is not shown"
				}
				common.Talk(c, "%s", now)
			}
			if ended(st.State) != "" {
				return st, st.State == api.InstanceInError
			}
		}
		pause := pause{until: time.Now().Add(time.Minute)}
		pause.wait(ctx) // an answer may come at once
	}
	return api.Status{}, false
}

// waitForQuiet waits until no event has come for a while.
func waitForQuiet(ctx context.Context, events <-chan struct{}) {
	for {
		t := time.NewTimer(watchQuiet)
		select {
		case <-events:
			t.Stop()
		case <-t.C:
			return
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}
