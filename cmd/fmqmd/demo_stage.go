package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// stage shows what happens: on a terminal in a column for each site, with an arrow for
// each message; into a pipe as plain lines.
type stage struct {
	style cli.Style
	draws bool

	mu    sync.Mutex
	w     io.Writer
	begun time.Time
	heard time.Time
	down  map[string]bool
	about string // what the scenes are about: "order"
	// ended are the sites where something has, or was cancelled, since they were started again; bundles the
	// activities that have begun elements.
	ended   map[string]bool
	bundles map[processtable.ActivityID]bool
	counts  struct{ messages, dead int }
}

const columnWidth = 16

func newStage(w io.Writer, style cli.Style) *stage {
	return &stage{w: w, style: style, draws: cli.IsTerminal(w), begun: time.Now(), down: map[string]bool{}, ended: map[string]bool{}, bundles: map[processtable.ActivityID]bool{}}
}

func (s *stage) print(format string, args ...any) {
	fmt.Fprintf(s.w, format+"\n", args...)
}

// say shows what belongs to no site.
func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(format, args...)
}

// subject says what the scenes that follow are about.
func (s *stage) subject(what string) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about = what
}

// hasEnded says whether something at the site has ended since it was started again.
func (s *stage) hasEnded(site string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[site]
}

// title begins a scene.
func (s *stage) title(text string) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print("\n%s", s.style.Strong(text))
	if s.draws {
		var head strings.Builder
		for _, site := range demoSites {
			head.WriteString(fmt.Sprintf("  %-*s", columnWidth-2, s.name(site)))
		}
		s.print("%s", s.style.Faint(head.String()))
	}
}

func (s *stage) name(site string) string {
	if s.down[site] {
		return site + " (down)"
	}
	return site
}

// settle waits until nothing was shown for a moment, so that what belongs to a scene
// is not shown in the next.
func (s *stage) settle() {
	for {
		s.mu.Lock()
		quiet := time.Since(s.heard)
		s.mu.Unlock()
		if quiet > 150*time.Millisecond {
			return
		}
		<-time.After(150*time.Millisecond - quiet)
	}
}

// at shows a line of one site.
func (s *stage) at(site, mark, text string) {
	s.heard = time.Now()
	if !s.draws {
		s.print("%5.1fs  %s  %s", time.Since(s.begun).Seconds(), site, text)
		return
	}
	column := slices.Index(demoSites, site)
	s.print("%s%s %s", s.rails(0, column), mark, text)
}

// rails draws the columns from..to as idle.
func (s *stage) rails(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString("  " + s.style.Faint("│") + strings.Repeat(" ", columnWidth-3))
	}
	return b.String() + "  "
}

func (s *stage) note(site, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(site, s.style.Faint("·"), text)
}

func (s *stage) kill(site string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[site] = true
	s.at(site, s.style.Bad("✗"), s.style.Bad("killed"))
}

func (s *stage) back(site string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.down, site)
	delete(s.ended, site)
	s.at(site, s.style.Good("●"), s.style.Good("started again"))
}

// record shows one audit record: what ended, and the messages that went out with it.
func (s *stage) record(site string, r record.AuditRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	activity := r.Scope.Path(r.Activity)
	switch r.Event {
	case record.EventStarted:
		s.at(site, s.style.Good("▶"), "the "+s.about+" is started")
	case record.EventEnded:
		s.at(site, s.style.Good("■"), s.style.Good("the "+s.about+" has ended"))
	case record.EventTerminated:
		s.terminated(site, r)
	case record.EventSkipped:
		s.counts.dead++
		s.at(site, s.style.Faint("○"), s.style.Faint(activity+" is skipped: a dead path"))
	case record.EventPassed:
		s.at(site, s.style.Faint("○"), s.style.Faint(activity+" is on a dead path that passes around its site"))
	case record.EventIterated:
		s.at(site, s.style.Busy("↻"), fmt.Sprintf("%s: exit condition FALSE (_RC %d), once more", activity, r.RC))
	case record.EventFailed, record.EventInError, record.EventRetried, record.EventForced, record.EventStopped, record.EventDropped:
		s.at(site, s.style.Bad("!"), activity+": "+r.Reason)
	case record.EventCancelled, record.EventCancelling:
		s.ended[site] = true
		s.at(site, s.style.Bad("!"), activity+" is cancelled: "+r.Reason)
	case record.EventBegun:
		if r.Scope.Inside() == r.Activity {
			s.bundles[r.Activity] = true
		}
		s.at(site, s.style.Busy("▶"), s.style.Strong(activity)+" begins")
	case record.EventDecided, record.EventRaced, record.EventNotified, record.EventThinned: // no process of the demo has races
	case record.EventReturned: // its end is shown
	case record.EventAsked, record.EventAnswered, record.EventSuspended, record.EventResumed, record.EventExpedited, record.EventErased,
		record.EventRestarted, record.EventRecalled, record.EventKept: // the demo asks nothing
	case record.EventSent, record.EventReceived, record.EventPutBack: // nor does it know events
	case record.EventOffered:
		s.at(site, s.style.Busy("▶"), s.style.Strong(activity)+" is offered to the people here")
	case record.EventClaimed:
		s.at(site, s.style.Good("●"), s.style.Strong(r.By)+" has it")
	case record.EventCompleted:
		s.at(site, s.style.Good("●"), s.style.Strong(r.By)+" has completed it")
	case record.EventWithdrawn:
		s.at(site, s.style.Faint("○"), "it is off the lists here")
	case record.EventReleased, record.EventTransferred, record.EventSaved, record.EventEscalated: // the people of the demo do nothing of that
	}
	for _, sent := range r.Sent {
		s.sent(site, activity, sent)
	}
}

// terminated shows the end of an activity: of a bundle, which has no return code, of one that its deadline
// has ended, or of one that has run.
func (s *stage) terminated(site string, r record.AuditRecord) {
	s.ended[site] = true
	activity := s.style.Strong(r.Scope.Path(r.Activity))
	switch {
	case r.TimedOut:
		s.at(site, s.style.Bad("!"), activity+": its deadline has come")
	case s.bundles[r.Activity] && r.Scope == "":
		s.at(site, s.style.Good("●"), activity+" has run: all its elements have ended")
	case s.bundles[r.Activity] && site == demoSites[0]:
		s.at(site, s.style.Good("●"), activity+" has come back")
	default:
		s.at(site, s.style.Good("●"), fmt.Sprintf("%s has run, _RC %d", activity, r.RC))
	}
}

// sent shows one message.
func (s *stage) sent(site, from string, m record.Sent) {
	if m.Target == processtable.Sink && m.Control.IsFalse() {
		return // of a dead end: sink waits for all, and this says nothing to see
	}
	what, connector := wordOf(m)
	if !connector && string(m.Node) == site {
		return // what a bundle tells itself
	}
	s.counts.messages++
	to, target := string(m.Node), m.Scope.Path(m.Target)
	if !s.draws {
		s.print("        %s  %s -> %s at %s: %s", site, from, target, to, what)
		return
	}
	paint := s.style.Good
	if m.Control.IsFalse() {
		paint = s.style.Faint
	}
	s.print("%s", s.arrow(slices.Index(demoSites, site), slices.Index(demoSites, to), paint)+paint(fmt.Sprintf(" %s: %s", target, what)))
}

// wordOf says in a word what a message is for, and whether it resolves a connector.
func wordOf(m record.Sent) (word string, connector bool) {
	switch m.Kind {
	case 0, message.KindConnector:
	case message.KindBegin:
		return "begin", false
	case message.KindReturn:
		return "return", false
	case message.KindCancel:
		return "cancel", false
	default:
		return m.Kind.String(), false
	}
	switch {
	case m.Control == message.Unresolved:
		return "data", true
	case m.Data == message.DataPresent:
		return m.Control.String() + " + data", true
	}
	return m.Control.String(), true
}

// arrow draws from one column to another.
func (s *stage) arrow(from, to int, paint func(string) string) string {
	switch {
	case from == to:
		return s.rails(0, from) + paint("╰▶")
	case from < to:
		return s.rails(0, from) + paint("╰"+strings.Repeat("─", (to-from)*columnWidth-2)+"▶")
	}
	return s.rails(0, to) + paint("◀"+strings.Repeat("─", (from-to)*columnWidth-2)+"╯")
}

func (s *stage) why(w api.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what, because := w.For, ""
	if !w.Heard {
		because = ", because " + w.At + " is unreachable"
		if w.State == api.ActivityUnknown {
			what = string(w.State)
		}
		if w.State == api.ActivityRunning {
			because = ", and that is unreachable"
		}
	}
	s.print("  %s at %s: %s%s", cmp.Or(w.Scope, w.Activity), w.Node, what, because)
}

// result shows what became of it.
func (s *stage) result(status api.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print("\n%s", s.style.Strong("The "+s.about+" is "+string(status.State)+"."))
	for _, a := range status.Activities {
		detail := ""
		if a.Iterations > 1 {
			detail = fmt.Sprintf(", %d iterations", a.Iterations)
		}
		if e := a.Elements; e != nil {
			detail = fmt.Sprintf(", %d elements, %d without an answer", e.Count, e.Failed)
		}
		s.print("  %-8s at %s  %s%s", a.Activity, a.Node, a.State, detail)
	}
	s.print("  output  %s", status.Output)
}

func (s *stage) epilogue(dir string, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print("\n%s", s.style.Strong("What you saw"))
	s.print(`  Three instances over four sites: %d messages between activities, %s skipped.
  Each site keeps what it needs in its own queues. The end of a step is one transaction there.
  Site B was killed in the middle: nothing was lost, and no site asked a head office.
  Three sites worked side by side on one step. The one that was cut off held up neither the others nor,
  past its deadline, the end: the process says what is to be done without it.
  One item was on the worklists of two sites, and exactly one of their people has had it.`, s.counts.messages, text.Counted(s.counts.dead, "dead path", "dead paths"))
	s.print("\n%s", s.style.Strong("What to type next"))
	s.print(`  bin/fmqm-define check examples/purchase-order/purchase-order.yaml     the order that you saw
  bin/fmqm-define show examples/purchase-order/purchase-order.yaml      its table at each site
  less examples/purchase-order/README.md                                the same with four daemons by hand
  less docs/language.md                                                 bundles, deadlines and all the rest`)
	if kept {
		s.print("  bin/fmqmd run --config %s       site A of this demo (its links need the others, b to d)", demoFile(dir, "A"))
	}
}
