package navigator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// The container of every activity of these tests.
var data = container.NewStructure("Data", []container.Member{
	{Name: "n", Type: container.Scalar(container.Int)},
	{Name: "text", Type: container.Scalar(container.String), Default: "none"},
	{Name: "list", Type: container.NewList(container.Scalar(container.Int))},
	{Name: "inner", Type: inner},
})

var inner = container.NewStructure("Inner", []container.Member{
	{Name: "a", Type: container.Scalar(container.Int), Default: int64(7)},
	{Name: "b", Type: container.Scalar(container.String)},
})

var (
	instance = uuid.MustParse("01970000-0000-7000-8000-000000000001")
	noon     = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

const (
	here   processtable.NodeID = "H"
	origin processtable.NodeID = "O" // of the instance
)

// model builds the table of a process of which this node hosts every activity, unless
// at says otherwise: both ends of each connector, as a compiler would.
type model struct {
	t     testing.TB
	table *processtable.Table
	rows  map[processtable.ActivityID]*processtable.Activity
	nodes map[processtable.ActivityID]processtable.NodeID
}

func newModel(t testing.TB, names ...processtable.ActivityID) *model {
	m := &model{
		t: t, rows: map[processtable.ActivityID]*processtable.Activity{},
		nodes: map[processtable.ActivityID]processtable.NodeID{processtable.Sink: processtable.Origin},
		table: &processtable.Table{
			Process: processtable.ProcessID{Name: "p", Version: 1}, Node: here,
			Definition: processtable.DefinitionHash{1, 2, 3}, Starts: []processtable.NodeID{here},
			Input: data, Output: data,
		},
	}
	m.add(processtable.Source, processtable.KindSource)
	for _, name := range names {
		m.add(name, processtable.KindProgram)
	}
	m.add(processtable.Sink, processtable.KindSink)
	return m
}

func (m *model) add(name processtable.ActivityID, kind processtable.Kind) {
	row := &processtable.Activity{
		Name: name, Kind: kind, Input: data, Output: data, MaxIterations: 10_000,
		Again: processtable.Backoff{After: time.Second, Max: time.Minute}, Retry: processtable.Retry{Attempts: 1},
	}
	switch kind {
	case processtable.KindProgram:
		row.Program = processtable.ProgramID("run-" + name)
	case processtable.KindSource:
		row.Input = container.Empty
	case processtable.KindSink:
		row.Output = container.Empty
	case processtable.KindEmpty, processtable.KindBlock, processtable.KindWait, processtable.KindProcess,
		processtable.KindBundle, processtable.KindCall, processtable.KindReceive, processtable.KindSend, processtable.KindManual:
	}
	m.rows[name] = row
	m.table.Activities = append(m.table.Activities, row)
	if name != processtable.Source && name != processtable.Sink {
		m.nodes[name] = here
	}
}

// at says that an activity lives at another node.
func (m *model) at(node processtable.NodeID, names ...processtable.ActivityID) *model {
	for _, name := range names {
		m.nodes[name] = node
	}
	return m
}

func (m *model) empty(name processtable.ActivityID) *model {
	m.rows[name].Kind, m.rows[name].Program = processtable.KindEmpty, ""
	return m
}

// block makes an activity a block around others. Its source and sink are "block/source" and
// "block/sink".
func (m *model) block(name processtable.ActivityID, inside ...processtable.ActivityID) *model {
	m.table.Format = processtable.BlockFormat
	row := m.rows[name]
	row.Kind, row.Program = processtable.KindBlock, ""
	for _, added := range []processtable.ActivityID{processtable.Source, processtable.Sink} {
		outer := m.rows[added]
		m.add(added, outer.Kind)
		m.rows[name+"/"+added], m.rows[added] = m.rows[added], outer
		inside = append(inside, name+"/"+added)
	}
	for _, in := range inside {
		m.rows[in].Path = append(slices.Clone(row.Path), processtable.Composite{Activity: name, Iterations: row.MaxIterations})
	}
	return m
}

// control adds connectors such as "a -> b", "a -> b: n > 1" and "a -> b: otherwise".
func (m *model) control(connectors ...string) *model {
	for _, text := range connectors {
		arrow, cond, _ := strings.Cut(text, ": ")
		from, to := m.ends(arrow)
		out := processtable.OutControl{To: to.Name, Otherwise: cond == "otherwise"}
		if cond != "" && !out.Otherwise {
			out.Condition = m.check(cond)
		}
		from.OutControl = append(from.OutControl, out)
		to.InControl = append(to.InControl, processtable.InControl{From: from.Name})
	}
	return m
}

// data adds connectors such as "a -> b: n = inner.a, text = text", target first.
func (m *model) data(connectors ...string) *model {
	for _, text := range connectors {
		arrow, list, _ := strings.Cut(text, ": ")
		from, to := m.ends(arrow)
		mappings := m.mappings(list)
		if from == to {
			from.Feedback = append(from.Feedback, mappings...)
			continue
		}
		from.OutData = append(from.OutData, processtable.OutData{To: to.Name, Mappings: mappings})
		to.InData = append(to.InData, processtable.InData{From: from.Name, Mappings: mappings})
	}
	return m
}

func (m *model) ends(arrow string) (from, to *processtable.Activity) {
	a, b, _ := strings.Cut(arrow, " -> ")
	from, to = m.rows[processtable.ActivityID(a)], m.rows[processtable.ActivityID(b)]
	if from == nil || to == nil {
		m.t.Fatalf("connector %q", arrow)
	}
	return from, to
}

func (m *model) mappings(list string) []processtable.Mapping {
	var out []processtable.Mapping
	for pair := range strings.SplitSeq(list, ", ") {
		target, source, _ := strings.Cut(pair, " = ")
		to, typ, err := data.Resolve(target)
		if err != nil {
			m.t.Fatal(err)
		}
		mapping := processtable.Mapping{To: to, Type: typ, Source: source, Target: target, RC: source == condition.RC}
		if !mapping.RC {
			if mapping.From, _, err = data.Resolve(source); err != nil {
				m.t.Fatal(err)
			}
		}
		out = append(out, mapping)
	}
	return out
}

func (m *model) check(text string) *condition.Checked {
	c, problems := condition.Check(text, condition.Scope{Members: data, RC: true})
	if len(problems) > 0 {
		m.t.Fatalf("condition %q: %v", text, problems)
	}
	return &c
}

// set changes a row.
func (m *model) set(name processtable.ActivityID, change func(*processtable.Activity)) *model {
	change(m.rows[name])
	return m
}

func (m *model) exit(name processtable.ActivityID, text string) *model {
	m.rows[name].Exit = m.check(text)
	m.rows[name].RCIsData = m.rows[name].RCIsData || m.rows[name].Exit.ReadsRC
	return m
}

// start sets a start condition over the predecessors; without it all must be TRUE.
func (m *model) start(name processtable.ActivityID, text string) *model {
	logic, problems := condition.CheckStart(text, predecessors(m.rows[name]))
	if len(problems) > 0 {
		m.t.Fatalf("start %q: %v", text, problems)
	}
	m.rows[name].Start = logic
	return m
}

func predecessors(row *processtable.Activity) []string {
	names := make([]string, len(row.InControl))
	for i, c := range row.InControl {
		names[i] = string(c.From)
	}
	return names
}

// prepare finishes the table and loads it.
func (m *model) prepare() *Process {
	for _, row := range m.table.Activities {
		if row.Start.Op == 0 {
			row.Start.Op = condition.LogicAnd
			for i := range row.InControl {
				row.Start.Args = append(row.Start.Args, condition.Logic{Op: condition.LogicVar, Var: i})
			}
		}
		for i := range row.OutControl {
			row.OutControl[i].Node = m.nodeOf(row, row.OutControl[i].To)
		}
		for i := range row.OutData {
			row.OutData[i].Node = m.nodeOf(row, row.OutData[i].To)
		}
	}
	p, err := Prepare(m.table, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// nodeOf is where the target of a row's connector lives: every block's sink here.
func (m *model) nodeOf(row *processtable.Activity, to processtable.ActivityID) processtable.NodeID {
	if to == processtable.Sink && len(row.Path) > 0 {
		return here
	}
	return m.nodes[to]
}

func (m *model) activity(name processtable.ActivityID) *Activity {
	return m.prepare().activities.Get(processtable.RowID{Name: name})
}

// value is a container from JSON; what is missing has its default.
func value(t testing.TB, json string) *container.Struct {
	t.Helper()
	if json == "" {
		return container.New(data)
	}
	v, err := container.DecodeJSON(data, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// from is a message of source, which ended with this truth and output, to a: as
// the table's connectors want it. truth Unresolved stands for a source that was skipped.
func from(t testing.TB, a *Activity, source processtable.ActivityID, truth message.Truth, output string) message.Message {
	t.Helper()
	m := message.Message{Header: message.Header{
		Queue:      message.Queue{Process: a.process.table.Process, Node: here},
		Definition: a.process.Definition(), Instance: instance, Origin: origin, Activity: a.Name, Source: source,
		Kind: message.KindConnector, Clock: 5, Trace: "00-trace",
	}}
	if _, ok := a.inControl[source]; ok {
		m.Control = max(truth, message.False)
	}
	if i, ok := a.inData[source]; ok {
		m.Data = message.DataAbsent
		if truth != message.Unresolved {
			m.Data = message.DataPresent
			copied := mappings{a.InData[i].Mappings, make([]*condition.Expr, len(a.InData[i].Mappings))}
			values, err := copied.values(&behaviour.Result{Output: value(t, output), RC: 3}, m.Data, nil, a.Name)
			if err != nil {
				t.Fatal(err)
			}
			if m.Body, err = container.EncodeValues(values); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// own is a message of another kind to a.
func own(a *Activity, kind message.Kind, body []byte) message.Message {
	m := message.Message{Header: message.Header{
		Queue:    message.Queue{Process: a.process.table.Process, Node: here},
		Instance: instance, Origin: origin, Activity: a.Name, Kind: kind, Clock: 5,
	}, Body: body}
	if kind == message.KindNotice {
		m.Source = "elsewhere"
	}
	return m
}

// folded is a new entry with messages.
func folded(t testing.TB, a *Activity, messages ...message.Message) *State {
	t.Helper()
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: a.Name}}}
	fold(t, a, s, messages...)
	return s
}

func fold(t testing.TB, a *Activity, s *State, messages ...message.Message) {
	t.Helper()
	for _, m := range messages {
		if err := a.Fold(s, m); err != nil {
			t.Fatalf("fold %v of %s: %v", m.Kind, m.Source, err)
		}
	}
}

// kept folds into s the snapshot that e puts, as the queue would bring it.
func kept(t testing.TB, a *Activity, s *State, e behaviour.Effects) message.Snapshot {
	t.Helper()
	i := slices.IndexFunc(e.Put, func(m message.Message) bool { return m.Kind == message.KindSnapshot })
	if i < 0 || e.Ends {
		t.Fatalf("no snapshot is put: %s", show(a.process, e))
	}
	s.Forget(e.Takes)
	fold(t, a, s, e.Put[i])
	return *s.Snapshot
}

// come is what follows once the time of a timer has come.
func come(t testing.TB, a *Activity, s *State, due time.Time) {
	t.Helper()
	h := message.Header{Queue: message.Queue{Process: a.process.table.Process, Node: a.process.table.Node}, Instance: s.Entry.Instance, Activity: a.Name}
	h.Kind, h.Number = message.KindDue, message.DueNumber(due)
	fold(t, a, s, message.Message{Header: h})
}

// ran is a program's end after a second.
func ran(t testing.TB, rc int64, output string) behaviour.Result {
	return behaviour.Result{RC: rc, Output: value(t, output), Started: noon, Ended: noon.Add(time.Second)}
}

func failed(text string) behaviour.Result {
	return behaviour.Result{Err: text, Started: noon, Ended: noon.Add(time.Second)}
}

var whats = map[behaviour.What]string{
	behaviour.Nothing: "nothing", behaviour.Terminated: "terminated", behaviour.Skipped: "skipped", behaviour.Stopped: "stopped",
	behaviour.Iterated: "iterated", behaviour.Failed: "failed", behaviour.InError: "in-error", behaviour.Retried: "retried", behaviour.Passed: "passed",
	behaviour.Cancelled: "cancelled", behaviour.Cancelling: "cancelling", behaviour.Began: "begun", behaviour.Decided: "decided", behaviour.Notified: "notified",
	behaviour.Recalled: "recalled", behaviour.Restarted: "restarted", behaviour.Kept: "kept",
}

// show writes effects as rules speak of them, a line for each.
func show(p *Process, e behaviour.Effects) string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if e.Waits() {
		say("waits")
	}
	if i := e.Invoke; i != nil {
		json, err := container.EncodeJSON(i.Input)
		say("invokes iteration %d attempt %d run %d: %s%s", i.Iteration, i.Attempt, i.Run, json, text(err))
	}
	if e.Outcome.What != behaviour.Nothing {
		ends := ""
		if e.Ends {
			ends = ", ends"
		}
		say("%s%s", whats[e.Outcome.What], ends)
	}
	for _, t := range e.Timers {
		say("timer after %v", t.Due.Sub(noon))
	}
	for _, m := range e.Put {
		say("%s", showMessage(p, m))
	}
	return strings.Join(lines, "\n")
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func showMessage(p *Process, m message.Message) string {
	line := fmt.Sprintf("to %s at %s:", m.Activity, m.Queue.Node)
	switch m.Kind {
	case message.KindConnector:
		line += map[bool]string{true: " "}[m.Control != message.Unresolved] + m.Control.String() + [...]string{"", " no data", " data", " words"}[m.Data]
		if m.Data == message.DataPresent {
			line += showValues(p.activities.Get(rowOf(m)), m)
		}
	case message.KindSnapshot:
		line += " snapshot"
	case message.KindNotice:
		n, err := message.DecodeNotice(m.Body)
		line += fmt.Sprintf(" notice cleared=%t attempts=%d %s%s", n.Cleared, n.Attempts, n.Error, text(err))
	case message.KindRecord:
		line += " record"
	case message.KindBegin:
		begin, err := message.DecodeBegin(m.Body)
		line = fmt.Sprintf("begins %s at %s: %s%s", m.Scope, m.Queue.Node, shown(begin.Input), text(err))
	case message.KindCancel:
		line = fmt.Sprintf("cancels %s of %s at %s", m.Activity, m.Scope, m.Queue.Node)
	case message.KindReturn:
		r, err := message.DecodeReturn(m.Body)
		line = fmt.Sprintf("%s returns to %s: %s%s", m.SourceScope, m.Activity, shown(r.Output), text(err))
		switch of := fmt.Sprintf("returns to %s of %s: ", m.Activity, m.Queue.Process); {
		case m.Number != 0 && r.Error != "":
			line = of + r.Error
		case m.Number != 0:
			line = of + shown(r.Output) + text(err)
		case r.Error != "":
			line = fmt.Sprintf("error in %s to %s: %s", m.SourceScope, m.Activity, r.Error)
		}
	case message.KindStart, message.KindChunk:
		start, err := message.DecodeStart(m.Body)
		line = fmt.Sprintf("starts %s at %s: %s%s", m.Queue.Process, m.Queue.Node, shown(start.Input), text(err))
	case message.KindMarker:
		marker, err := message.DecodeMarker(m.Body)
		line = fmt.Sprintf("ends %s at %s: %s%s", m.Queue.Process, m.Queue.Node, marker.Reason, text(err))
		if marker.Relay {
			line += ", relayed"
		}
	case message.KindRecall, message.KindRecalled:
		return showRecall(m)
	case message.KindTable, message.KindDue, message.KindWord, message.KindAnswer, message.KindEvent, message.KindWait, message.KindPast, message.KindOver, message.KindCurrent, message.KindMark, message.KindOffer:
		line += fmt.Sprintf(" kind %d", m.Kind)
	}
	return line
}

// shown is a container of these tests as JSON.
func shown(encoded []byte) string {
	v, err := container.DecodeCBOR(data, encoded)
	if err != nil {
		return err.Error()
	}
	json, err := container.EncodeJSON(v)
	return string(json) + text(err)
}

func showValues(to *Activity, m message.Message) string {
	values, err := container.DecodeValues(to.dataTypes[to.inData[m.Source]], m.Body)
	line := text(err)
	for _, v := range values {
		json, err := container.EncodeJSON(v)
		line += fmt.Sprintf(" %s%s", json, text(err))
	}
	return line
}

// expect compares effects with the lines that show gives for them.
func expect(t testing.TB, a *Activity, e behaviour.Effects, lines ...string) {
	t.Helper()
	if got, want := show(a.process, e), strings.Join(lines, "\n"); got != want {
		t.Errorf("effects:\n%s\nwant:\n%s", got, want)
	}
}

func contains(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

// jsonOf reads an encoded container.
func jsonOf(t testing.TB, encoded []byte) string {
	t.Helper()
	json := shown(encoded)
	if !strings.HasPrefix(json, "{") {
		t.Fatal(json)
	}
	return json
}

// rowOf is the row of a message's target.
func rowOf(m message.Message) processtable.RowID {
	e := m.Entry()
	return e.Row()
}
