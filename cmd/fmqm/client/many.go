package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
	"fmqm/internal/text"
)

const (
	manyInstances = 1000 // that a command is about, unless --limit says otherwise
	manyShown     = 50   // lines of a plan in a table
	manyAtOnce    = 8    // requests under way; each may ask all sites
	manyQuick     = 64   // of those that ask nobody else: the site's writes are shared among them
)

// manyFlags are those of a command that may be about many instances.
func manyFlags() []cli.Flag {
	return append(filterFlags(), &cli.BoolFlag{Name: "yes", Usage: "do it; without it, only show what would be done"})
}

// many is a command about all instances that a filter names.
type many struct {
	what     string // retry, finish, skip, restart, withdraw, terminate, suspend, resume or expedite
	filter   filter
	activity string    // of a word: which one; empty: all in error
	given    given     // of a word
	reason   string    // for the history
	until    time.Time // of suspend; zero: no end
	priority int       // of expedite
}

// deed is what such a command does at one place, or would do.
type deed struct {
	Instance api.InstanceID    `json:"instance"`
	Process  string            `json:"process"`
	State    api.InstanceState `json:"state"`
	Scope    string            `json:"scope,omitempty"`
	Activity string            `json:"activity,omitempty"`
	Node     string            `json:"node"` // of the activity; else where the instance was started
	Plan     string            `json:"plan"`
	Result   string            `json:"result,omitempty"` // done, queued or failed; empty: it was only planned
	ID       api.WordID        `json:"id,omitzero"`      // of a word that is queued, for --word
	Reason   string            `json:"reason,omitempty"` // why it failed or is queued; else why the activity is in error

	err error
}

// ofActivity: the command is about activities, and not about instances as a whole.
func ofActivity(what string) bool { return doneWith[what] != "" }

// aboutMany says what a command without arguments is about; nil if it names its arguments.
// One that names nothing at all is refused, and so is one that means everything.
func aboutMany(c *cli.Context, what string, arguments ...string) (*many, error) {
	f, err := readFilter(c)
	if err != nil {
		return nil, err
	}
	word, command := ofActivity(what), commandOf(what)
	ofProcess := what == "terminate" && len(f.given) == 1 && strings.Contains(f.request.Process, "@") // which instance is meant
	activity := ""
	switch {
	case (word || what == wordExpedite) && len(f.given) > 0 && c.NArg() == 1:
		if _, err := api.ParseInstance(c.Args().First()); err == nil {
			return nil, common.Usagef("%s: name %s, or select instances with flags, not both", command, strings.Join(arguments, " and "))
		}
		activity = c.Args().First()
	case c.NArg() > 0 && (len(f.given) > 0 && !ofProcess || c.IsSet("limit") || c.Bool("yes")):
		return nil, common.Usagef("%s: name %s, or select instances with flags, not both", command, strings.Join(arguments, " and "))
	case c.NArg() > 0 && c.NArg() < len(arguments):
		return nil, common.Usagef("%s is missing: see fmqm %s --help", arguments[c.NArg()], command)
	case c.NArg() > 0:
		return nil, nil
	case len(f.given) == 0:
		return nil, common.Usagef("%s is missing: see fmqm %s --help; or select instances with --process, --since, --in-error or --state", arguments[0], command)
	}
	switch {
	case word && what != wordRetry && activity == "":
		return nil, common.Usagef("ACTIVITY is missing: which one of each instance; see fmqm %s --help", command)
	case f.ended():
		return nil, common.Usagef("--state %s: what has ended has nothing left to %s", f.request.State, what)
	case len(f.given) == 1 && f.request.State == api.InstanceRunning:
		return nil, common.Usagef("--state running means everything: narrow it with --process, --since or --in-error")
	}
	if what == wordRetry {
		f.request.InError = true
	}
	if f.limit == 0 {
		f.limit = manyInstances
	}
	return &many{what: what, filter: f, activity: activity, reason: c.String("reason")}, nil
}

// do says what would be done, or does it and says what came of it.
func (m *many) do(c *cli.Context) error {
	a := asked{} // of its arguments there may be an activity, and no instance
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	deeds, found, err := m.plan(c, a)
	if err != nil {
		return err
	}
	found.warn(c)
	if found.more {
		common.Talk(c, "there are more: this is about the %d newest instances; --limit says how many", m.filter.limit)
	}
	if len(deeds) == 0 {
		common.Talk(c, "nothing to %s: no instance fits %s", m.what, m.filter)
	} else {
		common.Talk(c, "plan: %s", m.summary(deeds))
	}
	if !c.Bool("yes") {
		return m.show(c, a.printer, deeds)
	}
	failed, err := m.carryOut(c, a, deeds)
	sayQueued(c, deeds)
	if err == nil {
		err = failed.outcome(len(deeds))
	}
	if err == nil && len(found.unreachable) > 0 {
		err = &common.Error{Exit: common.ExitUnreachable, Text: "some sites are unreachable: repeat the command when they are back"}
	}
	return err
}

func (m *many) plan(c *cli.Context, a asked) (deeds []deed, all found, err error) {
	all, err = m.filter.each(c.Context, a.client, func(i api.Instance) error {
		d := deed{Instance: i.Instance, Process: i.Process, State: i.State, Node: i.Origin, Plan: m.what}
		if !ofActivity(m.what) {
			if i.State != api.InstanceTerminated { // by an operator's marker, which has not ended it yet
				deeds = append(deeds, d)
			}
			return nil
		}
		if !m.filter.request.InError || m.again() { // wherever it is under way, or has ended
			some, err := m.executions(c, a, i.Instance, m.activity)
			deeds = append(deeds, some...)
			return err
		}
		for _, e := range i.Errors {
			if m.activity != "" && m.activity != e.Activity && m.activity != api.Shown(e.Scope, e.Activity) {
				continue
			}
			d.Scope, d.Activity, d.Node, d.Reason = e.Scope, e.Activity, e.Node, e.Reason
			deeds = append(deeds, d)
		}
		return nil
	})
	return deeds, all, err
}

// summary says what the deeds come to: how many, and where.
func (m *many) summary(deeds []deed) string {
	instances, places := map[api.InstanceID]bool{}, map[string]int{}
	for _, d := range deeds {
		instances[d.Instance] = true
		if d.Activity != "" {
			places[api.Shown(d.Scope, d.Activity)+" at "+d.Node]++
		} else {
			places[d.Process+" from "+d.Node]++
		}
	}
	names := slices.Sorted(maps.Keys(places))
	slices.SortStableFunc(names, func(x, y string) int { return places[y] - places[x] })
	texts := make([]string, 0, len(names))
	for i, name := range names {
		if i == 10 {
			texts = append(texts, "and "+text.Counted(len(names)-i, "other", "others"))
			break
		}
		texts = append(texts, fmt.Sprintf("%s (%d)", name, places[name]))
	}
	what := text.Counted(len(instances), "instance", "instances")
	if ofActivity(m.what) {
		what = text.Counted(len(deeds), "activity", "activities") + " of " + what
	}
	if m.what == wordExpedite {
		what += fmt.Sprintf(" to priority %d", m.priority)
	}
	verb := m.what
	if verb == wordWithdraw {
		verb = "give up the restart of"
	}
	return verb + " " + what + ": " + strings.Join(texts, ", ")
}

func (m *many) list(p *common.Printer) (*common.List, func(deed) error) {
	columns := []string{"INSTANCE", "PROCESS", "STATE", "ACTIVITY", "NODE", "PLAN", "RESULT", "REASON"}
	l := p.List(false, columns...)
	return l, func(d deed) error {
		return l.Row(d, d.Instance.String(), d.Process, string(d.State), dash(api.Shown(d.Scope, d.Activity)), dash(d.Node), d.Plan, dash(d.Result), d.Reason)
	}
}

// show prints a plan. A long one is cut in a table, with a word.
func (m *many) show(c *cli.Context, p *common.Printer, deeds []deed) error {
	shown := deeds
	if p.Format == common.Table && c.String("o") != "wide" {
		shown = deeds[:min(len(deeds), manyShown)]
	}
	l, row := m.list(p)
	for _, d := range shown {
		if err := row(d); err != nil {
			return err
		}
	}
	if err := l.End(); err != nil {
		return err
	}
	if cut := len(deeds) - len(shown); cut > 0 {
		common.Talk(c, "and %d more: -o wide shows them all", cut)
	}
	if len(deeds) > 0 {
		common.Talk(c, "nothing was done: --yes does it")
	}
	return nil
}

// failures are those of the deeds.
type failures []error

// outcome is how a command ends.
func (f failures) outcome(of int) error {
	if len(f) == 0 {
		return nil
	}
	return &common.Error{Exit: f.exit(), Text: fmt.Sprintf("%d of %d failed", len(f), of)}
}

// exit is the exit code that what failed would have alone, where all failed for the same.
func (f failures) exit() int {
	exit := common.ExitCode(f[0])
	for _, err := range f {
		if common.ExitCode(err) != exit {
			exit = common.ExitFailed
		}
	}
	return exit
}

// atOnce is how many requests are under way at the same time.
func (m *many) atOnce() int {
	switch m.what {
	case wordSuspend, wordResume, wordExpedite:
		return manyQuick
	}
	return manyAtOnce
}

// carryOut does it, a few at once, and prints what came of each in the order of the plan.
func (m *many) carryOut(c *cli.Context, a asked, deeds []deed) (failed failures, err error) {
	progress := common.NewProgress(c)
	defer progress.End()
	ended := make([]chan struct{}, len(deeds))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	go func() {
		free := make(chan struct{}, m.atOnce())
		for i := range deeds {
			free <- struct{}{}
			go func() {
				m.one(c.Context, a.client, &deeds[i])
				close(ended[i])
				<-free
			}()
		}
	}()
	l, row := m.list(a.printer)
	for i := range deeds {
		progress.Show("%d of %d", i, len(deeds))
		<-ended[i]
		if deeds[i].err != nil {
			failed = append(failed, deeds[i].err)
		}
		if e := row(deeds[i]); err == nil {
			err = e // the others are done all the same
		}
	}
	progress.End()
	if e := l.End(); err == nil {
		err = e
	}
	return failed, err
}

// sayQueued says how to ask for what has come of the words that are queued: their
// identifiers are known here alone, and a table has no room for them.
func sayQueued(c *cli.Context, deeds []deed) {
	queued := slices.DeleteFunc(slices.Clone(deeds), func(d deed) bool { return d.Result != string(api.WordQueued) })
	for _, d := range queued[:min(len(queued), manyShown)] {
		common.Talk(c, "queued: %s", common.OneLine(askWord(d.Plan, d.Instance, api.Shown(d.Scope, d.Activity), d.Node, d.ID)))
	}
	if cut := len(queued) - manyShown; cut > 0 {
		common.Talk(c, "and %d more are queued: fmqm history of each instance has what comes of them; with -o json or jsonl every line has its id", cut)
	}
}

func (m *many) one(ctx context.Context, client *api.Client, d *deed) {
	switch m.what {
	case wordSuspend, wordResume, wordExpedite:
		m.word(ctx, client, d)
	case wordRetry, wordFinish, wordSkip, wordRestart, wordWithdraw:
		var said api.Word
		said, d.err = (&word{what: m.what, instance: d.Instance, scope: d.Scope, activity: d.Activity, reason: m.reason, given: m.given}).say(ctx, client)
		d.Result, d.Reason = string(said.Result), said.Reason
		if said.Result == api.WordQueued {
			d.ID = said.ID
		}
	default:
		d.Result, d.err = "done", endOne(ctx, client, d, m.reason)
	}
	if d.err != nil {
		d.Result, d.Reason = "failed", m.failed(d.err)
	}
}

// failed says why something failed, and how to go on where it may have been done all the same: what was restarted
// and has ended since would run once more by a repeat, the rest is done once.
func (m *many) failed(err error) string {
	switch {
	case !api.MayHaveHappened(err):
		return err.Error()
	case m.what == wordRestart:
		return err.Error() + "; fmqm status says whether it was"
	}
	return err.Error() + "; fmqm status says whether it was, and a repeat is safe"
}

// endOne ends an instance. One that has been ended meanwhile is what was wanted: what a subprocess has begun ends
// with its parent, and the plan may have both.
func endOne(ctx context.Context, client *api.Client, d *deed, reason string) error {
	of := ""
	if d.State == api.InstanceUnknown { // another process's instance may have the identifier as well
		of = d.Process
	}
	err := client.TerminateOf(ctx, d.Instance, api.TerminateRequest{Process: of, Reason: reason})
	if api.CodeOf(err) != api.CodeRefused || of != "" {
		return err
	}
	if s, e := client.Status(ctx, d.Instance); e == nil && s.State == api.InstanceTerminated {
		return nil
	}
	return err
}
