package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func waitCommand() *cli.Command {
	return &cli.Command{
		Name: "wait", Usage: "wait until an instance has ended or is stuck in error", ArgsUsage: "INSTANCE",
		Description: `Prints the status at the end, as start --wait does. It ends with 0 only if the instance has
finished. It ends with 1 and the reason if the instance was terminated, or is in error and
nothing else goes on; what is in error may be in an instance that a subprocess has begun. Without --timeout it waits for ever, also while the node that it asks is
away, such as during a restart: it says so, and asks again. If the node
does not answer to begin with, it ends with 5. With --timeout it ends with 5 when the time is
over, and the instance goes on.`,
		UsageText: "fmqm wait " + example + "\nfmqm wait " + example + " --timeout 10m -o json",
		Flags:     waiting(),
		Action: asks(func(c *cli.Context, a asked) error {
			ctx, cancel := waitLimit(c)
			defer cancel()
			w := waiter{a.client, &silence{talk: func(text string) { common.Talk(c, "%s", text) }}}
			st, err := a.client.Status(ctx, a.instance)
			if err == nil {
				st, err = w.until(ctx, st)
			}
			return errors.Join(show(a.printer, st), err)
		}),
	}
}

// waiting is printing for a command whose --timeout is for the whole, and not for one answer.
func waiting() []cli.Flag {
	flags := printing()
	for _, f := range flags {
		if d, ok := f.(*cli.DurationFlag); ok && d.Name == "timeout" {
			d.Usage = "wait for the end as long as `DURATION` (default: for ever)"
		}
	}
	return flags
}

// waitLimit is the context of a command that waits for instances: --timeout, where it is
// given, bounds the whole.
func waitLimit(c *cli.Context) (context.Context, context.CancelFunc) {
	if !c.IsSet("timeout") || c.Command.Name == "start" && !c.Bool("wait") {
		return context.WithCancel(c.Context)
	}
	d := c.Duration("timeout")
	return context.WithTimeoutCause(c.Context, d, timeOver(d))
}

// timeOver is why a wait ended: the time that was given for it is over.
type timeOver time.Duration

func (t timeOver) Error() string { return fmt.Sprintf("it has not ended after %v", time.Duration(t)) }

// waiter waits for instances, as long as its context lasts: that the node does not answer for a
// while, which may be hours where a large store is checked at its start, ends nothing.
type waiter struct {
	client  *api.Client
	silence *silence
}

// silence says once that the node does not answer, and once that it does again, for all who wait
// for it.
type silence struct {
	talk func(string)

	mu   sync.Mutex
	away bool
}

// note takes what came of asking: nil, an answer.
func (s *silence) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && !s.away:
		s.talk(fmt.Sprintf("%v: asking again", err))
	case err == nil && s.away:
		s.talk("the node answers again")
	}
	s.away = err != nil
}

// until waits until an instance does not run any more. The error is nil only if it has
// finished; the status is what is known of it, also beside an error.
func (w waiter) until(ctx context.Context, st api.Status) (api.Status, error) {
	st, err := w.await(ctx, st)
	var over timeOver
	switch {
	case errors.Is(err, context.DeadlineExceeded) && errors.As(context.Cause(ctx), &over):
		return st, api.Errorf(api.CodeUnreachable, fmt.Sprintf("it goes on: see fmqm why %s, or wait longer: fmqm wait %s", st.Instance, st.Instance), "instance %s is %s: %v", st.Instance, st.State, over)
	case err != nil:
		return st, err
	}
	return st, outcome(st)
}

// await is until, without judging how it has ended. A node that is away for a while is
// borne.
func (w waiter) await(ctx context.Context, st api.Status) (api.Status, error) {
	var p pause
	var away error // why the node did not answer when it was asked last
	for ended(st.State) == "" {
		next, err := w.client.Wait(ctx, st.Instance, api.MaxWait/2)
		switch {
		case ctx.Err() != nil:
			return st, cmp.Or(away, ctx.Err())
		case err == nil:
			w.silence.note(nil)
			st, away = next, nil
			if ended(st.State) == "" && !p.wait(ctx) {
				return st, ctx.Err()
			}
		default:
			away = fmt.Errorf("instance %s: %w", st.Instance, err)
			if api.CodeOf(err) != api.CodeUnreachable {
				return st, away
			}
			w.silence.note(err)
			if !p.wait(ctx) {
				return st, away
			}
		}
	}
	return st, nil
}

// ended says in words that an instance does not go on by itself; "" if it does.
func ended(s api.InstanceState) string {
	switch s {
	case api.InstanceFinished:
		return "has finished"
	case api.InstanceTerminated:
		return "was terminated by an operator"
	case api.InstanceInError:
		return "is in error"
	case api.InstanceRunning, api.InstanceSuspended, api.InstanceUnknown:
	}
	return ""
}

// outcome is nil only for an instance that has finished.
func outcome(st api.Status) error {
	if st.State == api.InstanceFinished {
		return nil
	}
	text := fmt.Sprintf("instance %s %s", st.Instance, ended(st.State))
	reason := common.OneLine(st.Reason) // it may be a peer's, and must not look like a line of ours
	switch by, terminated := strings.CutPrefix(reason, "terminated by "); {
	case terminated:
		text = fmt.Sprintf("instance %s was terminated by %s", st.Instance, by)
	case reason != "":
		text += ": " + reason
	}
	var bad []string
	for _, a := range st.Activities {
		if a.State != api.ActivityInError {
			continue
		}
		name := api.Shown(a.Scope, a.Activity)
		bad = append(bad, name)
		if line := fmt.Sprintf("%s at %s: %s", name, a.Node, a.Reason); !strings.HasSuffix(st.Reason, line) {
			text += "\n  " + common.OneLine(line)
		}
	}
	if st.State == api.InstanceInError {
		text += "\n  " + remedyOf(&st, bad)
	}
	return common.Failedf("%s", text)
}

// remedyOf says how an instance in error goes on; bad are those of its activities in error that are told.
func remedyOf(st *api.Status, bad []string) string {
	instance, activity := st.Instance, "ACTIVITY"
	switch in := st.ErrorIn; {
	case in != nil && in.Activity == "":
		return fmt.Sprintf("ask a node of %s why: fmqm why %s", common.OneLine(in.Process), in.Instance)
	case in != nil:
		instance, activity = in.Instance, common.OneLine(api.Shown(in.Scope, in.Activity))
	case len(bad) == 1:
		activity = bad[0]
	}
	return fmt.Sprintf("remove the cause, then: fmqm retry %s %s", instance, activity)
}
