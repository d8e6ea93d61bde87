package client

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// Measures of a timeline, in characters.
const (
	timeWidth    = len("15:04:05") + 2
	leastColumn  = 14 // below that sites get no columns of their own
	mostColumn   = 32
	columnMargin = 2
)

// timeline shows events to people at a terminal: a line for each, in the column of its
// site, with what died in grey. Into a pipe goes a table instead.
type timeline struct {
	w     io.Writer
	style common.Style
	marks marks
	width int // of the terminal
	sites []string
	day   string // of the last event
	stale bool   // the head does not show all sites
}

// marks stand before what happened.
type marks struct{ begun, done, dead, again, bad, more, other string }

var (
	drawnMarks = marks{"●", "✓", "·", "↻", "✗", "└", "→"}
	asciiMarks = marks{"*", "+", "-", "~", "!", "\\", ">"}
)

// newTimeline gives a timeline for the command's standard output, or nil if that is no
// terminal or another format is asked for.
func newTimeline(c *cli.Context, p *common.Printer) *timeline {
	s := common.From(c)
	width := common.TerminalWidth(s.Out)
	if width == 0 || p.Format != common.Table {
		return nil
	}
	t := &timeline{w: s.Out, style: p.Style, marks: asciiMarks, width: width, stale: true}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := s.Env(name); v != "" {
			if v = strings.ToUpper(v); strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8") {
				t.marks = drawnMarks
			}
			break
		}
	}
	return t
}

// know adds sites, in the order of their columns.
func (t *timeline) know(sites ...string) {
	for _, s := range sites {
		if s != "" && !slices.Contains(t.sites, s) {
			t.sites = append(t.sites, s)
			t.stale = true
		}
	}
}

// knowAll asks which sites the instance's process has, so that watch and history have
// the same columns; without an answer sites come as they come.
func (t *timeline) knowAll(c *cli.Context, a asked) {
	st, err := a.client.Status(c.Context, a.instance)
	if err != nil {
		return
	}
	common.Talk(c, "%s  %s", st.Process, st.Instance)
	for _, activity := range st.Activities {
		t.know(activity.Node)
	}
}

// column is how wide a site's column is; 0: there is not enough room for columns.
func (t *timeline) column() int {
	w := (t.width - timeWidth) / max(len(t.sites), 1)
	if w < leastColumn {
		return 0
	}
	return min(w, mostColumn)
}

// event prints one event.
func (t *timeline) event(e api.HistoryEvent) error {
	e.Node, e.Activity, e.Event = common.OneLine(e.Node), common.OneLine(api.Shown(e.Scope, e.Activity)), api.Event(common.OneLine(string(e.Event)))
	t.know(e.Node)
	var b strings.Builder
	if t.stale && t.column() > 0 {
		t.head(&b)
	}
	t.stale = false
	when := e.Time.Local()
	if day := when.Format(time.DateOnly); day != t.day {
		t.day = day
		b.WriteString(t.style.Faint(day) + "\n")
	}
	b.WriteString(t.style.Faint(when.Format(time.TimeOnly)) + "  ")
	at, text := timeWidth, t.text(e)
	if w := t.column(); w > 0 {
		at += w * slices.Index(t.sites, e.Node)
		at = max(timeWidth, min(at, t.width-utf8.RuneCountInString(text)))
	} else {
		text = e.Node + "  " + text
	}
	b.WriteString(strings.Repeat(" ", at-timeWidth) + t.paint(e.Event, text) + "\n")
	t.reason(&b, e, at+columnMargin)
	_, err := io.WriteString(t.w, b.String())
	return err
}

// head writes the names of the sites above their columns.
func (t *timeline) head(b *strings.Builder) {
	b.WriteString(strings.Repeat(" ", timeWidth))
	w := t.column()
	for i, s := range t.sites {
		if utf8.RuneCountInString(s) > w-columnMargin {
			s = string([]rune(s)[:w-columnMargin-1]) + "~"
		}
		b.WriteString(t.style.Strong(s))
		if i < len(t.sites)-1 {
			b.WriteString(strings.Repeat(" ", w-utf8.RuneCountInString(s)))
		}
	}
	b.WriteString("\n")
}

// reason writes why something happened below it, in as many lines as it takes.
func (t *timeline) reason(b *strings.Builder, e api.HistoryEvent, at int) {
	rest := common.OneLine(reasonOf(e))
	if rest == "" {
		return
	}
	room := t.width - at - 2
	if room < min(40, utf8.RuneCountInString(rest)) {
		at = timeWidth + columnMargin
		room = max(t.width-at-2, leastColumn)
	}
	mark := t.marks.more + " "
	for rest != "" {
		var line string
		line, rest = cutLine(rest, room)
		b.WriteString(strings.Repeat(" ", at) + t.style.Faint(mark+line) + "\n")
		mark = "  "
	}
}

// cutLine takes words off the text as long as they fit the width.
func cutLine(text string, width int) (line, rest string) {
	runes := []rune(text)
	if len(runes) <= width {
		return text, ""
	}
	cut := width
	for i := width; i > width/2; i-- {
		if runes[i] == ' ' {
			cut = i
			break
		}
	}
	return string(runes[:cut]), strings.TrimLeft(string(runes[cut:]), " ")
}

// text says in words what happened.
func (t *timeline) text(e api.HistoryEvent) string {
	turn := ""
	if e.Iteration > 1 {
		turn += fmt.Sprintf(", iteration %d", e.Iteration)
	}
	if e.Attempt > 1 {
		turn += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	if e.RC != nil && *e.RC != 0 {
		turn += fmt.Sprintf(", rc %d", *e.RC)
	}
	switch e.Event {
	case api.EventStarted:
		return t.marks.begun + " started"
	case api.EventBegun:
		if e.About != "" {
			return fmt.Sprintf("%s %s begins instance %s", t.marks.begun, e.Activity, e.About)
		}
		return fmt.Sprintf("%s %s iteration %d begun", t.marks.begun, e.Activity, e.Iteration)
	case api.EventReturned:
		if e.About != "" {
			return fmt.Sprintf("%s %s has instance %s back", t.marks.done, e.Activity, e.About)
		}
		return fmt.Sprintf("%s %s iteration %d returned", t.marks.done, e.Activity, e.Iteration)
	case api.EventSent:
		return t.marks.other + " " + e.Activity + " sends " + e.About
	case api.EventReceived:
		return t.marks.begun + " " + e.Activity + " has " + e.About
	case api.EventPutBack:
		return t.marks.other + " " + e.Activity + " puts " + e.About + " back"
	case api.EventDecided:
		return fmt.Sprintf("%s %s begins with %s", t.marks.other, e.Activity, e.About)
	case api.EventNotified:
		return fmt.Sprintf("%s %s notifies: %s", t.marks.other, e.Activity, e.Reason)
	case api.EventSuspended, api.EventResumed:
		what := e.Activity
		if what == "source" {
			what = "instance"
		}
		return strings.TrimSuffix(fmt.Sprintf("%s %s %s by %s: %s", t.marks.other, what, e.Event, e.By, e.Reason), ": ")
	case api.EventErased:
		return t.marks.other + " erased" // what, and by whom, stands below
	case api.EventExpedited:
		return strings.TrimSuffix(fmt.Sprintf("%s instance has %s by %s: %s", t.marks.other, e.About, e.By, e.Reason), ": ")
	case api.EventRaced:
		return fmt.Sprintf("%s %s: %s", t.marks.dead, e.Activity, e.Reason)
	case api.EventOffered, api.EventReleased, api.EventWithdrawn:
		return t.marks.other + " " + e.Activity + " " + string(e.Event)
	case api.EventEscalated:
		if e.By != "" {
			return strings.TrimSuffix(fmt.Sprintf("%s %s notice taken off by %s: %s", t.marks.other, e.Activity, e.By, e.Reason), ": ")
		}
		return strings.TrimSuffix(fmt.Sprintf("%s %s escalated: %s", t.marks.other, e.Activity, e.Reason), ": ")
	case api.EventClaimed, api.EventTransferred, api.EventSaved, api.EventCompleted:
		return t.marks.begun + " " + e.Activity + " " + string(e.Event) + " by " + e.By
	case api.EventEnded:
		return t.marks.begun + " ended"
	case api.EventTerminated:
		return t.marks.done + " " + e.Activity + turn
	case api.EventSkipped:
		if e.By != "" {
			return t.marks.dead + " " + e.Activity + " skipped by hand"
		}
		return t.marks.dead + " " + e.Activity + " skipped"
	case api.EventPassed:
		return t.marks.dead + " " + e.Activity + " passed around"
	case api.EventStopped:
		if e.Activity == "sink" {
			return t.marks.bad + " terminated by an operator"
		}
		return t.marks.dead + " " + e.Activity + " stopped"
	case api.EventCancelled:
		return t.marks.dead + " " + e.Activity + " cancelled"
	case api.EventCancelling:
		return t.marks.other + " " + e.Activity + " cancels what is inside of it"
	case api.EventIterated:
		return t.marks.again + " " + e.Activity + " once more" + turn
	case api.EventFailed:
		return t.marks.again + " " + e.Activity + " failed, will be tried again" + turn
	case api.EventInError:
		return t.marks.bad + " " + e.Activity + " in error" + turn
	case api.EventRetried:
		return t.marks.other + " " + e.Activity + " retried"
	case api.EventForced:
		return t.marks.other + " " + e.Activity + " finished by hand"
	case api.EventRestarted:
		return t.marks.other + " " + e.Activity + " restarted"
	case api.EventRecalled:
		return t.marks.other + " " + e.Activity + ": recalled"
	case api.EventEndKept:
		return t.marks.other + " " + e.Activity + " is not restarted"
	case api.EventDropped:
		return t.marks.other + " " + e.Activity + ": an operator dropped a message"
	case api.EventAsked:
		return t.marks.other + " " + e.Activity + ": an operator asked for it"
	case api.EventAnswered:
		return t.marks.other + " " + e.Activity + ": an operator was answered"
	}
	return t.marks.other + " " + e.Activity + " " + string(e.Event) + turn // of a newer node
}

func (t *timeline) paint(e api.Event, text string) string {
	switch e {
	case api.EventStarted, api.EventBegun:
		return t.style.Strong(text)
	case api.EventEnded, api.EventTerminated, api.EventReturned:
		return t.style.Good(text)
	case api.EventSkipped, api.EventStopped, api.EventPassed, api.EventCancelled, api.EventCancelling, api.EventRaced:
		return t.style.Faint(text)
	case api.EventIterated, api.EventFailed, api.EventRetried, api.EventForced, api.EventRestarted, api.EventRecalled, api.EventEndKept, api.EventDropped, api.EventAsked, api.EventAnswered,
		api.EventSent, api.EventReceived, api.EventPutBack, api.EventDecided, api.EventNotified, api.EventSuspended, api.EventResumed, api.EventExpedited, api.EventErased,
		api.EventOffered, api.EventClaimed, api.EventReleased, api.EventTransferred, api.EventSaved, api.EventCompleted, api.EventWithdrawn, api.EventEscalated:
		return t.style.Busy(text)
	case api.EventInError:
		return t.style.Bad(text)
	}
	return text
}
