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
		&cli.StringSliceFlag{Name: "state", Usage: "only those in `STATE`: running, suspended, in-error, finished, terminated, or unknown; can be repeated (suspended: it runs or is in error, and it or an activity of it rests; in-error: nothing else goes on; unknown: something waits for an instance that the site where it is said to be started does not know)"},
		&cli.StringFlag{Name: "process", Usage: "only those of `NAME[@VERSION]`"},
		&cli.BoolFlag{Name: "in-error", Usage: "only those with an activity in error, also where others go on"},
		&cli.StringFlag{Name: "activity", Usage: "only those in which `ACTIVITY` is in error, or waits or runs at its site"},
		&cli.StringFlag{Name: "since", Aliases: []string{"started-after"}, Usage: "only those started since `TIME|DURATION`, such as 2025-06-01, \"2025-06-01 14:30\", 14:30 or 90m, 2h, 3d ago"},
		&cli.StringFlag{Name: "started-before", Usage: "only those started before `TIME|DURATION`"},
		&cli.StringFlag{Name: "older", Usage: "only those started longer ago than `DURATION`, such as 2h or 3d"},
		&cli.StringFlag{Name: "starter", Usage: "only those that `WHO` has started, as status shows it"},
		&cli.StringFlag{Name: "where", Usage: "only those of which the input fulfils the condition `EXPR`, such as 'amount > 1000 && customer == \"carl\"'; with --process"},
		&cli.GenericFlag{Name: "search", Value: &terms{}, Usage: "only those that are found by `MEMBER=VALUE`, of a member that the process declares; can be repeated: all of them; claim_id=C-* by the beginning, of ints and timestamps also <, <=, > and >=, as 'due<2026-07-01'; with --process"},
		&cli.StringFlag{Name: "waiting-on", Usage: "only those of which messages wait for `NODE`"},
		&cli.StringFlag{Name: "parent", Usage: "only those that activities of `INSTANCE` have begun"},
		&cli.IntFlag{Name: "limit", Usage: "at most `N`, the newest"},
	}
}

func readFilter(c *cli.Context) (f filter, err error) {
	f.request = api.ListRequest{
		Everywhere: true, Process: c.String("process"), InError: c.Bool("in-error"), Activity: c.String("activity"),
		StartedBy: c.String("starter"), Where: c.String("where"), WaitingOn: c.String("waiting-on"),
	}
	if err := f.readStates(c); err != nil {
		return f, err
	}
	if err := f.readSearch(c); err != nil {
		return f, err
	}
	for _, name := range []string{"process", "activity", "since", "started-before", "older", "starter", "where", "waiting-on", "parent"} {
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
	if f.limit = c.Int("limit"); f.limit < 0 || c.IsSet("limit") && f.limit == 0 {
		return f, common.Usagef("--limit %d: write 1 or more", f.limit)
	}
	if f.request.Where != "" && f.request.Process == "" {
		return f, common.Usagef("--where is a condition over the input of a process: say of which with --process")
	}
	if c.IsSet("parent") {
		if f.request.Parent, err = api.ParseInstance(c.String("parent")); err != nil {
			return f, err
		}
	}
	return f, f.readTimes(c, time.Now())
}

// terms are what stands at a flag that can be repeated. A comma is a part of one.
type terms []string

// Set adds one.
func (t *terms) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func (t *terms) String() string { return strings.Join(*t, " ") }

// readSearch reads --search. What of it the node cannot know it says itself.
func (f *filter) readSearch(c *cli.Context) error {
	given, _ := c.Generic("search").(*terms)
	if given == nil || len(*given) == 0 {
		return nil
	}
	for _, term := range *given {
		if term == "" { // a script's variable that is not set: it must not mean all
			return common.Usagef("--search is empty: write MEMBER=VALUE, or leave it out")
		}
		f.given = append(f.given, "--search "+term)
	}
	f.request.Search = *given
	if f.request.Process == "" {
		return common.Usagef("--search is over members that a process declares: say of which with --process")
	}
	return nil
}

// readStates reads --state, which may be repeated.
func (f *filter) readStates(c *cli.Context) error {
	known := []api.InstanceState{api.InstanceRunning, api.InstanceSuspended, api.InstanceInError, api.InstanceFinished, api.InstanceTerminated, api.InstanceUnknown}
	if c.IsSet("state") && len(c.StringSlice("state")) == 0 {
		return common.Usagef("--state is empty: write which instances are meant, or leave it out")
	}
	for _, word := range c.StringSlice("state") {
		state := api.InstanceState(word)
		switch {
		case word == "":
			return common.Usagef("--state is empty: write which instances are meant, or leave it out")
		case !slices.Contains(known, state):
			return common.Usagef("--state %s: write running, suspended, in-error, finished, terminated or unknown", word)
		case slices.Contains(f.request.States, state):
			continue
		}
		f.given = append(f.given, "--state "+word)
		f.request.States = append(f.request.States, state)
	}
	if slices.Contains(f.request.States, api.InstanceUnknown) {
		for _, other := range []string{"in-error", "since", "parent", "started-before", "older", "activity", "starter", "where", "search", "waiting-on"} {
			if c.IsSet(other) || len(f.request.States) > 1 {
				return common.Usagef("--state unknown: what waits for no start has neither a time nor an error, nor a parent: leave out --since, --in-error and --parent, what else asks for more, and other states: --process and --limit narrow it")
			}
		}
	}
	if len(f.request.States) == 1 {
		f.request.State, f.request.States = f.request.States[0], nil
	}
	return nil
}

// readTimes reads between which times the instances were started.
func (f *filter) readTimes(c *cli.Context, now time.Time) (err error) {
	if c.IsSet("since") {
		if f.request.Since, err = parseSince("since", c.String("since"), now); err != nil {
			return err
		}
	}
	switch {
	case c.IsSet("older") && c.IsSet("started-before"):
		return common.Usagef("--older and --started-before both say until when: write one of them")
	case c.IsSet("started-before"):
		f.request.Until, err = parseSince("started-before", c.String("started-before"), now)
	case c.IsSet("older"):
		if f.request.Until, err = parseAgo(c.String("older"), now); err != nil {
			return common.Usagef("--older %s: write how long ago: 90m, 2h, 3d", c.String("older"))
		}
	}
	return err
}

func (f filter) String() string { return strings.Join(f.given, " ") }

// states are those that are meant; none: all.
func (f filter) states() []api.InstanceState {
	if f.request.State != "" {
		return []api.InstanceState{f.request.State}
	}
	return f.request.States
}

// ended: what has ended may be among those that are meant.
func (f filter) ended() bool {
	return f.request.All || slices.ContainsFunc(f.states(), func(s api.InstanceState) bool { return s == api.InstanceFinished || s == api.InstanceTerminated })
}

// parseAgo reads how long ago a time is.
func parseAgo(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is before now", text)
	}
	return now.Add(-d), err
}

// parseSince reads the time of a flag, in the zone of whoever asks unless it says another, or how long
// ago that is.
func parseSince(flag, text string, now time.Time) (time.Time, error) {
	if at, err := parseAgo(text, now); err == nil {
		return at, nil
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
	return time.Time{}, common.Usagef("--%s %s: write a time, such as 2025-06-01, \"2025-06-01 14:30\" or 14:30, or how long ago: 90m, 2h, 3d", flag, text)
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
		all.add(page.Unreachable)
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
		request.Next, request.After = page.Next, api.InstanceID{}
	}
}

// count says how many instances are meant.
func (f filter) count(ctx context.Context, client *api.Client) (n api.ListCount, all found, err error) {
	n.States = map[api.InstanceState]int{}
	request := f.request
	for request.Count = true; ; {
		page, err := client.List(ctx, request)
		if err != nil {
			return n, all, err
		}
		all.add(page.Unreachable)
		if page.Count == nil {
			return n, all, common.Failedf("list: the node does not count: upgrade it")
		}
		n.Add(page.Count)
		if !page.More {
			return n, all, nil
		}
		if page.Next == request.Next {
			return n, all, fmt.Errorf("list: the node gives the same page again: report it")
		}
		request.Next, request.After = page.Next, api.InstanceID{}
	}
}

// add adds sites that are unreachable, each once.
func (f *found) add(unreachable []api.Unreachable) {
	for _, u := range unreachable {
		if !slices.ContainsFunc(f.unreachable, func(known api.Unreachable) bool { return known.Node == u.Node }) {
			f.unreachable = append(f.unreachable, u)
		}
	}
}

// warn names the sites that are unreachable.
func (f found) warn(c *cli.Context) {
	if len(f.unreachable) > 0 {
		common.Talk(c, "unreachable: %s: instances that were started there are missing here", unheard(f.unreachable))
	}
}
