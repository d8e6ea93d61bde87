package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// filter says which instances are meant.
type filter struct {
	request api.ListRequest
	limit   int      // at most so many; 0: all
	given   []string // the flags that narrow it, as they were written
}

// filterFlags are those of every command that is about many instances.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "state", Usage: "only those in `STATE`: running, in-error, finished, terminated, or unknown (in-error: nothing else goes on; unknown: something waits for an instance that the site where it is said to be started does not know)"},
		&cli.StringFlag{Name: "process", Usage: "only those of `NAME[@VERSION]`"},
		&cli.BoolFlag{Name: "in-error", Usage: "only those with an activity in error, also where others go on"},
		&cli.StringFlag{Name: "since", Usage: "only those started since `TIME|DURATION`, such as 2025-06-01, \"2025-06-01 14:30\", 14:30 or 90m, 2h, 3d ago"},
		&cli.StringFlag{Name: "parent", Usage: "only those that activities of `INSTANCE` have begun"},
		&cli.IntFlag{Name: "limit", Usage: "at most `N`, the newest"},
	}
}

func readFilter(c *cli.Context) (f filter, err error) {
	f.request = api.ListRequest{
		Everywhere: true, State: api.InstanceState(c.String("state")), Process: c.String("process"), InError: c.Bool("in-error"),
	}
	for _, name := range []string{"state", "process", "since", "parent"} {
		if c.IsSet(name) {
			if c.String(name) == "" { // a script's variable that is not set: it must not mean all
				return f, common.Usagef("--%s is empty: write which instances are meant, or leave it out", name)
			}
			f.given = append(f.given, "--"+name+" "+c.String(name))
		}
	}
	if f.request.InError {
		f.given = append(f.given, "--in-error")
	}
	if states := []api.InstanceState{"", api.InstanceRunning, api.InstanceInError, api.InstanceFinished, api.InstanceTerminated, api.InstanceUnknown}; !slices.Contains(states, f.request.State) {
		return f, common.Usagef("--state %s: write running, in-error, finished, terminated or unknown", f.request.State)
	}
	if f.request.State == api.InstanceUnknown && (f.request.InError || c.IsSet("since") || c.IsSet("parent")) {
		return f, common.Usagef("--state unknown: what waits for no start has neither a time nor an error, nor a parent: leave out --since, --in-error and --parent; --process and --limit narrow it")
	}
	if f.limit = c.Int("limit"); f.limit < 0 || c.IsSet("limit") && f.limit == 0 {
		return f, common.Usagef("--limit %d: write 1 or more", f.limit)
	}
	if c.IsSet("parent") {
		if f.request.Parent, err = api.ParseInstance(c.String("parent")); err != nil {
			return f, err
		}
	}
	if c.IsSet("since") {
		f.request.Since, err = parseSince(c.String("since"), time.Now())
	}
	return f, err
}

func (f filter) String() string { return strings.Join(f.given, " ") }

// ended: what has ended may be among those that are meant.
func (f filter) ended() bool {
	return f.request.All || f.request.State == api.InstanceFinished || f.request.State == api.InstanceTerminated
}

// parseSince reads a time, in the zone of whoever asks unless it says another, or how long
// ago that is.
func parseSince(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, text); err == nil { // of today
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.Local), nil
		}
	}
	return time.Time{}, common.Usagef("--since %s: write a time, such as 2025-06-01, \"2025-06-01 14:30\" or 14:30, or how long ago: 90m, 2h, 3d", text)
}

// found is what is known of a list beside its instances.
type found struct {
	more        bool // there are others, beyond the limit
	unreachable []api.Unreachable
}

// each calls visit for the instances that are meant, newest first.
func (f filter) each(ctx context.Context, client *api.Client, visit func(api.Instance) error) (all found, err error) {
	request := f.request
	for left := f.limit; ; {
		request.Limit = api.MaxPage
		if f.limit > 0 {
			request.Limit = min(left, api.MaxPage)
		}
		page, err := client.List(ctx, request)
		if err != nil {
			return all, err
		}
		for _, u := range page.Unreachable {
			if !slices.ContainsFunc(all.unreachable, func(known api.Unreachable) bool { return known.Node == u.Node }) {
				all.unreachable = append(all.unreachable, u)
			}
		}
		for _, i := range page.Instances {
			if err := visit(i); err != nil {
				return all, err
			}
		}
		left -= len(page.Instances)
		switch {
		case !page.More:
			return all, nil
		case f.limit > 0 && left <= 0:
			all.more = true
			return all, nil
		case page.Next == request.Next:
			return all, fmt.Errorf("list: the node gives the same page again: report it")
		}
		request.Next = page.Next
	}
}

// warn names the sites that are unreachable.
func (f found) warn(c *cli.Context) {
	if len(f.unreachable) > 0 {
		common.Talk(c, "unreachable: %s: instances that were started there are missing here", unheard(f.unreachable))
	}
}
