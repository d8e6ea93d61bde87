package client

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// asked is what most commands need: who is asked, for which instance, how it is printed.
type asked struct {
	client   *api.Client
	printer  *common.Printer
	instance api.InstanceID
}

// ask prepares a command; one with an argument takes an instance as its first. The
// client must be closed.
func ask(c *cli.Context) (a asked, err error) {
	if c.NArg() > 0 {
		if a.instance, err = api.ParseInstance(c.Args().First()); err != nil {
			return a, err
		}
	}
	err = a.connect(c)
	return a, err
}

// connect is ask of a command whose arguments are something else.
func (a *asked) connect(c *cli.Context) (err error) {
	a.printer, a.client, err = common.NewAsking(c)
	return err
}

// asks gives the action of a command that asks a node: f, once that is prepared.
func asks(f func(c *cli.Context, a asked) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		a, err := ask(c)
		if err != nil {
			return err
		}
		defer a.client.Close()
		return f(c, a)
	}
}

// timeOf gives what prints times: without the day, where it is that of started.
func timeOf(started time.Time) func(time.Time) string {
	day := started.Local().Format(time.DateOnly)
	return func(at time.Time) string { return strings.TrimPrefix(common.Time(at), day+" ") }
}

// statusHead prints what is known of the instance as a whole.
func statusHead(p *common.Printer, w io.Writer, st api.Status) error {
	lines := [][2]string{
		{"instance", st.Instance.String()},
		{"process", st.Process},
		{"state", p.State(string(st.State))},
		{"started", common.Time(st.Started)},
	}
	if st.InError > 0 {
		lines[2][1] += ", activities in error: " + strconv.Itoa(st.InError)
	}
	if st.Key != "" {
		lines = slices.Insert(lines, 2, [2]string{"key", common.OneLine(st.Key)})
	}
	if p := st.Parent; p != nil {
		lines = slices.Insert(lines, 2, [2]string{"parent", fmt.Sprintf("%s of %s, instance %s", api.Shown(p.Scope, p.Activity), p.Process, p.Instance)})
	}
	if st.StartedBy != "" {
		lines = append(lines, [2]string{"started by", common.OneLine(st.StartedBy)})
	}
	if st.Priority != nil {
		lines = append(lines, [2]string{"priority", strconv.Itoa(*st.Priority)})
	}
	if !st.Ended.IsZero() {
		lines = append(lines, [2]string{"ended", common.Time(st.Ended)})
	}
	if !st.Erased.IsZero() {
		lines = append(lines, [2]string{"erased", common.Time(st.Erased) + ": fmqm history says what, and by whom"})
	}
	if st.Reason != "" {
		lines = append(lines, [2]string{"reason", common.OneLine(st.Reason)})
	}
	lines = append(lines, suspendedLines(st)...)
	if len(st.Output) > 0 {
		lines = append(lines, [2]string{"output", common.OneLine(string(st.Output))})
	}
	if len(st.Unreachable) > 0 {
		lines = append(lines, [2]string{"unreachable", common.OneLine(unheard(st.Unreachable))})
	}
	if len(st.Removed) > 0 {
		lines = append(lines, [2]string{"audit", removedAt(st.Removed)})
	}
	if len(st.More) > 0 {
		lines = append(lines, [2]string{"left out", leftOut(st.More)})
	}
	if late := behind(st.Clocks); late != "" {
		lines = append(lines, [2]string{"behind", late})
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-11s  %s\n", l[0], l[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unheard says which nodes did not answer: of very many only some, since who was never heard is mostly
// new, or has no part in this.
func unheard(nodes []api.Unreachable) string {
	const shown = 8
	more := ""
	if len(nodes) > shown {
		nodes, more = slices.Clone(nodes), fmt.Sprintf(", and %d more (fmqm nodes)", len(nodes)-shown)
		slices.SortStableFunc(nodes, func(a, b api.Unreachable) int { return b.LastHeard.Compare(a.LastHeard) })
		nodes = nodes[:shown]
	}
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = n.Node + " (last heard " + common.Time(n.LastHeard) + ")"
		if n.LastHeard.IsZero() {
			texts[i] = n.Node + " (never heard since the daemon started)"
		}
		if n.Reason != "" {
			texts[i] = n.Node + " (" + common.OneLine(n.Reason) + ")"
		}
	}
	return strings.Join(texts, ", ") + more
}

// behind says which nodes tell less than others know of them.
func behind(clocks []api.NodeClock) string {
	var texts []string
	for _, c := range clocks {
		if c.Behind {
			texts = append(texts, fmt.Sprintf("%s (up to clock %d)", c.Node, c.Clock))
		}
	}
	return strings.Join(texts, ", ")
}

// removedAt says where retention has removed what was recorded.
func removedAt(nodes []api.Removed) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = n.Node + " on " + n.Time.Local().Format(time.DateOnly)
	}
	return "removed by retention at " + strings.Join(texts, ", ")
}

// warn tells that an answer is not whole.
func warn(c *cli.Context, nodes []api.Unreachable, more []string) {
	if len(nodes) > 0 {
		common.Talk(c, "unreachable: %s: what they know is missing here", unheard(nodes))
	}
	if len(more) > 0 {
		common.Talk(c, "left out: %s", leftOut(more))
	}
}

// leftOut says that nodes did not tell all, and where all is told.
func leftOut(nodes []string) string {
	at := strings.Join(nodes, ", ")
	return fmt.Sprintf("the answer of %s is over 3 MiB; ask there for large outputs, the oldest events and long reasons", at)
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func rc(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

var eventColumns = []string{"CLOCK", "TIME", "NODE", "ACTIVITY", "EVENT", "ITERATION", "ATTEMPT", "RC", "REASON"}

func eventRow(l *common.List, e api.HistoryEvent) error {
	return l.Row(e, strconv.FormatUint(e.Clock, 10), common.Time(e.Time), e.Node, api.Shown(e.Scope, e.Activity), string(e.Event), number(e.Iteration), number(e.Attempt), rc(e.RC), reasonOf(e))
}

// about says what an event of the history is about.
func about(e api.HistoryEvent) string {
	switch e.Event {
	case api.EventSent, api.EventReceived, api.EventPutBack:
		return "event " + e.About
	case api.EventDecided, api.EventRaced:
		return "with " + e.About
	case api.EventWithdrawn:
		return aboutWithdrawn(e)
	case api.EventOffered, api.EventClaimed, api.EventReleased, api.EventTransferred, api.EventSaved, api.EventCompleted, api.EventEscalated:
		item, to, given := strings.Cut(e.About, " ")
		text := "item " + item
		if given {
			text += " to " + to
		}
		return strings.TrimSuffix(text+" "+doneBy(e), " ")
	case api.EventErased:
		return strings.TrimSuffix(e.About+" "+doneBy(e), " ")
	default:
	}
	if _, err := uuid.Parse(e.About); err != nil { // of a call: where its work was begun
		return "at " + e.About
	}
	return "instance " + e.About
}

// doneBy is who did something, for whom, and which operator acted in that person's name; empty: nobody known.
func doneBy(e api.HistoryEvent) string {
	switch {
	case e.By == "" && e.Operator == "":
		return ""
	case e.By == "": // he acted in nobody's name
		return "by " + e.Operator
	}
	text := "by " + e.By
	if e.For != "" {
		text += " for " + e.For
	}
	if e.Operator != "" {
		text += ", said by " + e.Operator
	}
	return text
}

// aboutWithdrawn says from whom an item was taken. An operator of it has ended the activity, and did not act for who had it.
func aboutWithdrawn(e api.HistoryEvent) string {
	from := "the worklists"
	if e.By != "" {
		from = e.By
	}
	if e.For != "" {
		from += " for " + e.For
	}
	text := "item " + e.About + " taken from " + from
	if e.Operator != "" {
		text += " by " + e.Operator
	}
	return text
}

// reasonOf is why something happened, and by whom, where somebody did it by hand.
func reasonOf(e api.HistoryEvent) string {
	switch {
	case e.Reason == "" && e.About != "":
		return about(e)
	case e.Event == api.EventErased, strings.HasPrefix(about(e), "item "):
		return about(e) + ": " + e.Reason
	case doneBy(e) == "", e.Operator == "" && saysWho(e):
		return told(e.Reason, e.Stderr)
	case e.Reason == "":
		return doneBy(e)
	}
	return told(doneBy(e)+": "+e.Reason, e.Stderr)
}

// saysWho: the reason names who has done it. An answer may name him as the one who may not, or somebody else.
func saysWho(e api.HistoryEvent) bool {
	return e.Event != api.EventAnswered && strings.Contains(e.Reason, e.By)
}

func historyCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "show what happened to an instance at all nodes", ArgsUsage: "INSTANCE",
		Description: `Shows every step in the order of the logical clock: a step comes after the steps that it
depends on, whatever the clocks of the nodes say. Each time is that of the node's own clock.
On a terminal each node has a column, and dead paths are grey; a pipe gets a table.

With --activity it shows those of one activity, with what is inside of it: documents is a
block in all its iterations, documents#2 one of these, check an activity wherever it is,
documents#2/check one execution of it. With --since it begins at a CLOCK.`,
		UsageText: "fmqm history " + example + "\nfmqm history " + example + " --activity documents#2\nfmqm history " + example + " -o json",
		Flags: printing(
			&cli.StringFlag{Name: "activity", Usage: "only what happened to `PATH`, and inside of it"},
			&cli.Uint64Flag{Name: "since", Usage: "only from the moment `CLOCK` of the logical clock on"}),
		Action: asks(func(c *cli.Context, a asked) error {
			answer, err := a.client.HistoryOf(c.Context, a.instance, api.HistoryRequest{Activity: c.String("activity"), Since: c.Uint64("since")})
			if err != nil {
				return err
			}
			warn(c, answer.Unreachable, answer.More)
			if len(answer.Removed) > 0 {
				common.Talk(c, "the instance has ended, and its audit was %s: those events are missing here", removedAt(answer.Removed))
			}
			if t := newTimeline(c, a.printer); t != nil {
				t.knowAll(c, a)
				for _, e := range answer.Events {
					t.know(e.Node)
				}
				for _, e := range answer.Events {
					if err := t.event(e); err != nil {
						return err
					}
				}
				return nil
			}
			list := a.printer.List(false, eventColumns...)
			for _, e := range answer.Events {
				if err := eventRow(list, e); err != nil {
					return err
				}
			}
			return list.End()
		}),
	}
}

func whyCommand() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "show why an instance does not go on", ArgsUsage: "INSTANCE [ACTIVITY]",
		Description: `Prints one line for each activity that does not go on: why, at which node the cause lies,
since when, and whether that node is reachable now. Of a block that is under way it prints
what is inside, and of a subprocess its instance. With ACTIVITY it prints this one, and what
is inside of it.`,
		UsageText: "fmqm why " + example + "\nfmqm why " + example + " documents",
		Flags: printing(&cli.StringFlag{
			Name: "process", Usage: "the instance of `NAME@VERSION`, where another site has made up others under its identifier",
		}),
		Action: asks(func(c *cli.Context, a asked) error {
			answer, err := a.client.WhyOf(c.Context, a.instance, api.WhyRequest{Process: c.String("process"), Activity: c.Args().Get(1)})
			if err != nil {
				return err
			}
			warn(c, answer.Unreachable, answer.More)
			var below []detail
			list := a.printer.List(false, "ACTIVITY", "NODE", "STATE", "WHY", "AT", "SINCE", "REACHABLE")
			left := maxChildren
			err = eachWait(c, a, answer.Waits, "", &left, func(name string, w api.Wait) error {
				below = append(below, detail{name, w.Node, w.State, w.Input, w.Stderr})
				return list.Row(w, name, w.Node, string(w.State), whyText(w), w.At, common.Time(w.Since), heard(w))
			})
			if err != nil {
				return err
			}
			if list.Count() == 0 {
				text := "nothing waits: the instance is " + string(answer.State)
				if c.NArg() > 1 && answer.State != api.InstanceFinished && answer.State != api.InstanceTerminated {
					text = c.Args().Get(1) + " waits for nothing; fmqm why without it has the others"
				}
				if answer.By != "" {
					text += ", by " + answer.By
				}
				common.Talk(c, "%s", text)
			}
			if err := list.End(); err != nil || a.printer.Format != common.Table {
				return err
			}
			return details(a.printer, common.From(c).Out, below)
		}),
	}
}

// eachWait gives the waits, and behind each for the instance of a subprocess those of that.
func eachWait(c *cli.Context, a asked, waits []api.Wait, under string, left *int, row func(name string, w api.Wait) error) error {
	for _, w := range waits {
		name := under + api.Shown(w.Scope, w.Activity)
		if err := row(name, w); err != nil {
			return err
		}
		if w.Child == nil || *left == 0 {
			continue
		}
		*left--
		inside, err := a.client.WhyOf(c.Context, *w.Child, api.WhyRequest{})
		if err != nil {
			common.Talk(c, "instance %s, which %s has begun: %v", w.Child, name, err)
			continue
		}
		warn(c, inside.Unreachable, inside.More)
		for i := range inside.Waits {
			inside.Waits[i].Instance = w.Child
		}
		if err := eachWait(c, a, inside.Waits, name+" > ", left, row); err != nil {
			return err
		}
	}
	return nil
}

// whyText is what an activity waits for, with the time of that in the zone of the reader.
func whyText(w api.Wait) string {
	if w.Due.IsZero() || strings.Contains(w.For, w.Due.UTC().Format(time.RFC3339)) { // a suspend says until when
		return w.For
	}
	return w.For + " at " + common.Time(w.Due)
}

func heard(w api.Wait) string {
	switch {
	case w.Heard:
		return "yes"
	case w.LastHeard.IsZero():
		return "no"
	}
	return "not since " + common.Time(w.LastHeard)
}
