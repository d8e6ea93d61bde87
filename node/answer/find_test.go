package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// claims is a process with an activity here and one at B; of version 2 the input has another member, and order has none of them.
const claims = `
process: claim
version: %d
structures:
  Claim: {customer: string, amount: double, parts: [string]%s}
input: Claim
starts: [A]
activities:
  check: {node: A, program: echo, input: Claim}
  ship:  {node: B, program: echo}
control:
  - check -> ship
data:
  - source -> check
`

// parcels are processes of which instances are found by members: of version 2 id is a number, and there is a name; version 3
// declares nothing. Instances of sent are not started here.
const parcels = `
process: %s
version: %d
structures:
  Order: {due: timestamp, name: string}
  Parcel: {id: %s, paid: bool, order: Order}
input: Parcel
starts: [%s]%s
activities:
  pack: {node: A, program: echo, input: Parcel}
  ship: {node: B, program: echo}
control:
  - pack -> ship
data:
  - source -> pack
`

// findWorld is node A with instances that were started there, and B, which tells what it is told to.
type findWorld struct {
	*world
	mu           sync.Mutex           // of what follows: a question that nobody waits for any more may be under way
	active, held []message.InstanceID // at B
	silent       bool                 // B does not answer
	told, asked  string               // what B says of a search, and what it was asked
}

func newFindWorld(t *testing.T) *findWorld {
	w := &findWorld{world: newWorld(t)}
	w.takeUp(fmt.Sprintf(claims, 1, ""))
	w.takeUp(fmt.Sprintf(claims, 2, ", vip: bool"))
	w.takeUp("process: order\nversion: 1\nstarts: [A]\nactivities:\n  go: {node: A, program: echo}\n")
	w.takeUp(fmt.Sprintf(parcels, "parcel", 1, "string", "A", "\nsearch: [id, paid, order.due]"))
	w.takeUp(fmt.Sprintf(parcels, "parcel", 2, "int", "A", "\nsearch: [id, order.name]"))
	w.takeUp(fmt.Sprintf(parcels, "parcel", 3, "int", "A", ""))
	w.takeUp(fmt.Sprintf(parcels, "sent", 1, "string", "B", "\nsearch: [id]"))
	w.Site = w
	w.query = func(_ context.Context, _ processtable.NodeID, kind string, body []byte) ([]byte, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.silent:
			return nil, errors.New("B is away")
		case kind == AskActive:
			return json.Marshal(ActiveReport{w.active})
		case kind == AskHeld:
			return json.Marshal(HeldReport{Instances: w.held})
		case (kind == AskSearch || kind == AskResting) && w.told != "":
			w.asked = string(body)
			return []byte(w.told), nil
		}
		return nil, errors.New("B does not know this")
	}
	return w
}

func (*findWorld) Peers() []processtable.NodeID { return []processtable.NodeID{"B"} }

func numbered(n int) message.InstanceID { return uuid.UUID{6: 0x70, 8: 0x80, 15: byte(n)} }

func arg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			if len(a.Vals) == 0 {
				return "true"
			}
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func (w *findWorld) number(d *datadriven.TestData) int {
	n, err := strconv.Atoi(arg(d, "n"))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *findWorld) time(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		w.t.Fatal(err)
	}
	return time.Date(2026, 1, 1, at.Hour(), at.Minute(), 0, 0, time.UTC)
}

func (w *findWorld) process(d *datadriven.TestData) processtable.ProcessID {
	name := arg(d, "of")
	if name == "" {
		name = "claim@1"
	}
	id, err := processtable.ParseProcessID(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// start starts an instance, with the input that stands below.
func (w *findWorld) start(d *datadriven.TestData) {
	id := w.process(d)
	of := w.up[id].Table().Activity(processtable.RowID{Name: processtable.Source}).Output
	input, err := container.DecodeJSON(of, []byte("{"+d.Input+"}"))
	if err != nil {
		w.t.Fatal(err)
	}
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		w.t.Fatal(err)
	}
	w.commit(&record.Tx{Audit: []record.AuditRecord{{
		Process: id, Instance: numbered(w.number(d)), Activity: processtable.Source, Origin: "A", Event: record.EventStarted,
		Time: w.time(arg(d, "at")), By: arg(d, "by"), Output: encoded, Search: record.SearchedOf(w.up[id].Table(), encoded),
	}}})
}

// put puts a message of an instance to an activity.
func (w *findWorld) put(d *datadriven.TestData, m message.Message) {
	id := w.process(d)
	m.Instance, m.Origin, m.Definition = numbered(w.number(d)), "A", w.up[id].Definition()
	if m.Queue.Node == "" {
		m.Queue.Node = "A"
	}
	m.Queue.Process = id
	w.commit(&record.Tx{Put: []message.Message{m}})
}

// mark puts what an operator has said of an instance, and that was acted on.
func (w *findWorld) mark(d *datadriven.TestData) {
	id, n := w.process(d), w.number(d)
	m := message.Mark{ID: numbered(100 + n), Activity: processtable.ActivityID(arg(d, "activity")), Time: w.time("12:30")}
	switch d.Cmd {
	case "resume":
		m.ID, m.Lifts = numbered(200+n), []message.WordID{m.ID}
	case "expedite":
		m.ID, m.Rank = numbered(50+n), message.RankOf(9)
	}
	w.commit(&record.Tx{Put: []message.Message{m.Message(message.Queue{Process: id, Node: "A"}, numbered(n), "A", uint64(n))}})
}

func (w *findWorld) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "start":
		w.start(d)
	case "end":
		event := record.EventEnded
		if arg(d, "stopped") != "" {
			event = record.EventStopped
		}
		sink := message.Entry{Instance: numbered(w.number(d)), Activity: processtable.Sink}
		take := record.Consume{Process: w.process(d), Entry: sink}
		notices, err := w.Queue.Browse(take.Process, sink)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, m := range notices {
			take.Keys = append(take.Keys, m.Key())
		}
		w.commit(&record.Tx{Consume: []record.Consume{take}, Audit: []record.AuditRecord{{
			Process: take.Process, Instance: sink.Instance, Activity: processtable.Sink, Origin: "A", Event: event, Time: w.time("23:00"),
		}}})
	case "error":
		w.put(d, message.Message{
			Header: message.Header{Activity: processtable.Sink, Source: processtable.ActivityID(arg(d, "activity")), Kind: message.KindNotice},
			Body:   message.EncodeNotice(message.Notice{Error: "no van"}),
		})
	case "waits": // a connector has come
		w.put(d, message.Message{Header: message.Header{Activity: processtable.ActivityID(arg(d, "activity")), Source: "before", Kind: message.KindConnector, Control: message.True}})
	case "sent": // and waits for B
		w.put(d, message.Message{Header: message.Header{Queue: message.Queue{Node: "B"}, Activity: "ship", Source: "check", Kind: message.KindConnector, Control: message.True}})
	case "suspend", "resume", "expedite":
		w.mark(d)
	case "b":
		w.mu.Lock()
		w.silent, w.active, w.held = arg(d, "silent") != "", w.all(arg(d, "active")), w.all(arg(d, "held"))
		w.told = d.Input
		w.mu.Unlock()
	case "asked":
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.asked + "\n"
	case "list":
		return w.list(d)
	case "count":
		return w.count(d)
	default:
		return "unknown command " + d.Cmd
	}
	return ""
}

func (w *findWorld) all(list string) (all []message.InstanceID) {
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, numbered(n))
	}
	return all
}

func (w *findWorld) request(d *datadriven.TestData) api.ListRequest {
	r := api.ListRequest{
		All: arg(d, "all") != "", InError: arg(d, "in-error") != "", Oldest: arg(d, "oldest") != "", Process: arg(d, "process"), Activity: arg(d, "activity"),
		StartedBy: arg(d, "starter"), WaitingOn: arg(d, "waiting-on"), Since: w.time(arg(d, "since")), Until: w.time(arg(d, "until")), Where: d.Input, Limit: 100,
		Everywhere: arg(d, "everywhere") != "",
	}
	if arg(d, "search") != "" {
		r.Where, r.Search = "", strings.Split(d.Input, "\n")
	}
	if s := arg(d, "state"); s != "" {
		for word := range strings.SplitSeq(s, ",") {
			r.States = append(r.States, api.InstanceState(word))
		}
	}
	if n := arg(d, "limit"); n != "" {
		r.Limit, _ = strconv.Atoi(n)
	}
	if after := w.all(arg(d, "after")); len(after) > 0 {
		r.After = after[0]
	}
	return r
}

// list shows the instances of each page.
func (w *findWorld) list(d *datadriven.TestData) string {
	r := w.request(d)
	var pages []string
	var away []string
	for {
		a, err := w.List(w.t.Context(), r)
		if err != nil {
			return err.Error() + "\n"
		}
		var page []string
		for _, i := range a.Instances {
			line := fmt.Sprintf("%d %s", i.Instance[15], i.State)
			if i.Suspended {
				line += " suspended"
			}
			page = append(page, line)
		}
		pages = append(pages, strings.Join(page, ", "))
		for _, u := range a.Unreachable {
			if word := "away: " + u.Node + ": " + u.Reason; !slices.Contains(away, word) {
				away = append(away, word)
			}
		}
		if !a.More {
			return strings.Join(append([]string{strings.Join(pages, " | ")}, away...), "\n") + "\n"
		}
		if a.Next == r.Next || len(pages) > 50 {
			return "the list does not end"
		}
		r.Next, r.After = a.Next, message.InstanceID{}
	}
}

func (w *findWorld) count(d *datadriven.TestData) string {
	r := w.request(d)
	r.Count = true
	a, err := w.List(w.t.Context(), r)
	if err != nil {
		return err.Error() + "\n"
	}
	encoded, err := json.Marshal(a.Count)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%s more %v\n", encoded, a.More)
}

// What a list is narrowed by, one by one and together, in pages of any size.
func TestFind(t *testing.T) {
	datadriven.Walk(t, "testdata/find", func(t *testing.T, path string) {
		w := newFindWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			return w.run(d)
		})
	})
}

// What is asked of the input is bounded: by its length, by its steps, and by the time of a page, which says where the next
// one goes on.
func TestAHugeConditionIsRefusedOrBounded(t *testing.T) {
	w := newFindWorld(t)
	many := make([]string, 5000)
	for i := range many {
		many[i] = "x"
	}
	input, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 20; n++ {
		w.start(&datadriven.TestData{Input: `"parts": ` + string(input), CmdArgs: []datadriven.CmdArg{{Key: "n", Vals: []string{strconv.Itoa(n)}}, {Key: "at", Vals: []string{"12:00"}}}})
	}
	list := func(where string) (api.ListAnswer, error) {
		return w.List(t.Context(), api.ListRequest{Process: "claim@1", Where: where, Limit: 100})
	}
	for what, where := range map[string]string{
		"long":      strings.Repeat("amount > 1.0 || ", 1000) + "true",
		"deep":      strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500),
		"not bool":  "amount",
		"no member": "amuont > 1.0",
		"broken":    "amount >",
		"two lines": "true\n|| false ||",
	} {
		if a, err := list(where); api.CodeOf(err) != api.CodeUsage {
			t.Errorf("%s: %v, %v", what, a, err)
		}
	}
	began := time.Now()
	a, err := list("parts.all(a, parts.all(b, parts.all(c, a == b && b == c)))")
	if err != nil || len(a.Instances) != 0 {
		t.Errorf("with too many steps: %+v, %v", a, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
