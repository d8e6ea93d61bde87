package thread

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// rumour is a node A, and what comes to it of instances.
type rumour struct {
	*testing.T
	w *world
	s *site
}

// Invariant 11: of an instance that was started here, as a peer says, nothing happens that
// was not; and everything, once it is.
func TestWhatWasNotStartedHereWaits(t *testing.T) {
	datadriven.Walk(t, "testdata/unstarted", func(t *testing.T, path string) {
		r := &rumour{T: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			r.do(d)
			if d.Cmd == "define" {
				return "ok\n"
			}
			return r.tell()
		})
	})
}

func (r *rumour) do(d *datadriven.TestData) {
	words := make([]string, len(d.CmdArgs))
	for i, a := range d.CmdArgs {
		words[i] = a.Key
	}
	switch d.Cmd {
	case "define":
		r.w = openWorld(r, "process: p\nversion: 1\n"+d.Input, 1)
		r.s = r.w.site("A")
		if d.HasArg("cache") {
			r.s.limits.Entries = 0
			r.s.open(100)
		}
	case "restart":
		r.s.store.crash()
		r.s.open(100)
	case "start":
		r.w.start(r.number(words[0]), 0, "")
		r.w.starts = r.w.starts[len(r.w.starts)-1:]
		r.w.starts[0].ask()
	case "elsewhere": // an instance of another process is started here; with an activity, that has ended in it
		if len(words) > 1 {
			r.s.store.audits = append(r.s.store.audits, record.AuditRecord{
				Process: processtable.ProcessID{Name: "q", Version: 1}, Origin: "A", Event: record.EventTerminated,
				Instance: identifier(r.number(words[0])), Activity: processtable.ActivityID(words[1]),
			})
			break
		}
		r.s.store.audits = append(r.s.store.audits, record.AuditRecord{
			Process: processtable.ProcessID{Name: "q", Version: 1}, Origin: "A", Event: record.EventStarted,
			Instance: identifier(r.number(words[0])), Activity: processtable.Source,
		})
	case "terminate":
		r.w.put(r.message(words[0], "A", message.Message{Header: message.Header{Kind: message.KindMarker}}))
		r.s.store.aside = nil
	case "end":
		at := slices.IndexFunc(r.s.running, func(run *invocation) bool {
			return string(run.entry.Activity) == words[0] && run.entry.Instance == identifier(r.number(words[1]))
		})
		r.s.finish(at)
	default: // SOURCE TARGET INSTANCE [from ORIGIN]
		origin := "A"
		if len(words) > 2 {
			origin = words[3]
		}
		m := message.Message{Header: message.Header{
			Kind: message.KindConnector, Control: message.True,
			Source: processtable.ActivityID(d.Cmd), Activity: processtable.ActivityID(words[0]),
		}}
		if words[1] == "many" {
			for i := range unstartedLimit {
				r.w.put(r.message(strconv.Itoa(1000+i), origin, m))
			}
			break
		}
		r.w.put(r.message(words[1], origin, m))
	}
	r.s.pump()
}

func (r *rumour) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func identifier(n int) (id message.InstanceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func (r *rumour) message(instance, origin string, m message.Message) message.Message {
	m.Queue = message.Queue{Process: r.s.machine.id(), Node: "A"}
	m.Definition, m.Instance, m.Origin = r.s.process.Definition(), identifier(r.number(instance)), processtable.NodeID(origin)
	return m
}

// tell says what runs, what waits for its start, what has an end as stopped, and what is set aside.
func (r *rumour) tell() string {
	var lines []string
	for _, run := range r.s.running {
		lines = append(lines, fmt.Sprintf("%s of %d runs", run.entry.Activity, binary.BigEndian.Uint64(run.entry.Instance[8:])))
	}
	many := 0
	for e := range r.s.store.entries {
		n := binary.BigEndian.Uint64(e.Instance[8:])
		switch {
		case e.Activity == processtable.Sink, slices.ContainsFunc(r.s.running, func(run *invocation) bool { return run.entry == e }):
		case n >= 1000:
			many++
		default:
			lines = append(lines, fmt.Sprintf("%s of %d waits", e.Activity, n))
		}
	}
	for _, a := range r.s.store.audits {
		if a.Event == record.EventStopped {
			lines = append(lines, fmt.Sprintf("%s of %d is stopped", a.Activity, binary.BigEndian.Uint64(a.Instance[8:])))
		}
	}
	slices.Sort(lines)
	for _, a := range r.s.store.aside {
		lines = append(lines, "set aside: "+a.Reason)
	}
	r.s.store.aside = nil
	if many > 0 {
		lines = append(lines, fmt.Sprintf("and %d more wait", many))
	}
	return strings.Join(lines, "\n") + "\n"
}
