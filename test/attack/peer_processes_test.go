package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// note is the beginning of the processes here.
const note = `version: 1
structures: {Note: {text: string}}
input: Note
output: Note
starts: [A, B]
`

// M has no part in ward, nor in stuck. It hosts an activity of common, which waits for it,
// and may not start it; later is the same, and is uploaded when M has sent for it.
const (
	ward = `process: ward
` + note + `activities:
  here:  {node: A, program: mark, input: Note, output: Note}
  there: {node: B, program: mark, input: Note, output: Note}
control: [here -> there]
data: [source -> here, here -> there, there -> sink]
`
	stuck = `process: stuck
` + note + `activities:
  here: {node: A, program: fails, input: Note, output: Note}
data: [source -> here, here -> sink]
`
	common = `process: common
` + note + commonPart
	later = `process: later
` + note + commonPart
	rogue = `process: rogue
` + note + commonPart
	commonPart = `activities:
  begin:  {node: A, program: mark, input: Note, output: Note}
  theirs: {node: M, program: mark, input: Note, output: Note}
  final:  {node: A, program: mark, input: Note, output: Note}
control: [begin -> theirs, theirs -> final]
data: [source -> begin, begin -> theirs, theirs -> final, final -> sink]
`
)

// intruder is a hostile peer that is a site: it has a certificate and a link to A, and says
// there by hand what it likes.
type intruder struct {
	*world
	line   *line
	marks  string // the file in which every program that runs leaves a line
	gate   string // what runs the program hold ends once this file is there
	tables map[string]*processtable.Table
	forged []message.InstanceID // instances that only M speaks of
	wanted []string             // why A has set aside what M has sent, message by message
}

func newIntruder(t *testing.T) *intruder {
	t.Helper()
	dir := t.TempDir()
	marks, gate := filepath.Join(dir, "marks"), filepath.Join(dir, "gate")
	w := newWorld(t, options{guests: []string{"M"}, programs: []string{
		fmt.Sprintf("mark: {exec: [/bin/sh, -c, 'echo \"$FMQM_INSTANCE $FMQM_ACTIVITY\" >>%s; cat']}", marks),
		"fails: {exec: [/bin/false]}",
		fmt.Sprintf("hold: {exec: [/bin/sh, -c, 'while ! test -e %s; do sleep 0.05; done; cat']}", gate),
	}})
	i := &intruder{world: w, marks: marks, gate: gate, tables: map[string]*processtable.Table{}}
	i.line = w.party("M", w.pki).call("A")
	i.line.until(link.StateConnected)
	for _, text := range []string{ward, stuck, common, later, rogue, nest, originLog} {
		processes, problems := definition.Load("process.yaml", []byte(text))
		if definition.HasErrors(problems) {
			t.Fatal(problems)
		}
		compiled, err := definition.Compile(processes[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range compiled.Tables {
			if table.Node == "A" {
				i.tables[table.Process.Name] = table
			}
		}
	}
	for _, text := range []string{ward, stuck, common} {
		w.define("A", text)
	}
	return i
}

// start starts an instance at A.
func (i *intruder) start(process string) message.InstanceID {
	i.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := i.Sites["A"].Client.Start(i.ctx, api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(`{"text": "honest"}`)}); err != nil {
		i.t.Fatal(err)
	}
	return id
}

// connector is a message to A as a site would send it that has one.
func (i *intruder) connector(process string, source, target processtable.ActivityID) message.Message {
	i.t.Helper()
	table := i.tables[process]
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: table.Process, Node: "A"}, Definition: table.Definition.Short(),
		Instance: uuid.Must(uuid.NewV7()), Origin: "B", Source: source, Activity: target,
		Kind: message.KindConnector, Control: message.True, Data: message.DataPresent, Clock: 3,
	}, Body: i.note("forged")}
	i.forged = append(i.forged, m.Instance)
	return m
}

// note is the body of a data connector that carries a Note.
func (i *intruder) note(text string) []byte {
	i.t.Helper()
	body, err := container.EncodeValues([]container.Value{text})
	if err != nil {
		i.t.Fatal(err)
	}
	return body
}

// sends sends a message, and notes why it is to be set aside.
func (i *intruder) sends(m message.Message, refused string) {
	i.t.Helper()
	encoded, err := message.Encode(m)
	if err != nil {
		i.t.Fatal(err)
	}
	i.line.put(m.Lane, append([]byte{0}, encoded...))
	if refused != "" {
		i.wanted = append(i.wanted, refused)
	}
}

// aside is what A has set aside. Every one that is wanted has to be among it, and no other.
func (i *intruder) aside() []api.Refused {
	i.t.Helper()
	for lane := range message.Lane(record.Lanes) {
		i.line.taken(lane)
	}
	var found []api.Refused
	i.eventually("A sets aside what M has sent", func() (string, bool) {
		a, err := i.Sites["A"].Client.Refused(i.ctx, api.RefusedRequest{Limit: 1000})
		found = a.Messages
		return fmt.Sprintf("%d of %d, %v", len(found), len(i.wanted), err), len(found) >= len(i.wanted)
	})
	left := slices.Clone(found)
	for _, reason := range i.wanted {
		at := slices.IndexFunc(left, func(d api.Refused) bool { return d.From == "M" && strings.Contains(d.Reason, reason) })
		if at < 0 {
			i.t.Errorf("nothing is set aside since %q", reason)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, d := range left {
		i.t.Errorf("set aside, and not expected: from %s: %s", d.From, d.Reason)
	}
	return found
}

// asks puts a question to A as a daemon would.
func (i *intruder) asks(kind string, question any) string {
	i.t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		i.t.Fatal(err)
	}
	reply, err := i.line.Query(i.ctx, kind, body)
	if err != nil {
		return err.Error()
	}
	return string(reply)
}

// finished waits for an instance's end.
func (i *intruder) finished(id message.InstanceID, text string) {
	i.t.Helper()
	i.eventually("the instance ends", func() (string, bool) {
		s, err := i.Sites["A"].Client.Status(i.ctx, id)
		return fmt.Sprintf("%+v %v", s, err), err == nil && s.State == api.InstanceFinished && strings.Contains(string(s.Output), text)
	})
}

// ran is what programs have run, in order of the text.
func (i *intruder) ran() []string {
	i.t.Helper()
	text, err := os.ReadFile(i.marks)
	if err != nil {
		i.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return lines
}

// A hostile site sends and asks, about processes in which it has no part and about one in
// which it has, what is not its to send and to ask. Nothing of it runs, nothing of it is left
// but what an operator sees and lets go of, nothing is told; and what others do goes on, also
// that in which the hostile site has its honest part.
func TestWhatASiteTries(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	wards, stucks, commons := i.start("ward"), i.start("stuck"), i.start("common")
	i.finished(wards, "honest")
	i.eventually("stuck is in error", func() (string, bool) {
		s, err := i.Sites["A"].Client.Status(i.ctx, stucks)
		return fmt.Sprintf("%+v %v", s, err), err == nil && s.InError == 1
	})

	invented := i.invents()
	i.invents(wards)
	i.startsWhatItMayNot(wards)
	i.speaksForOthers(commons)
	i.sendsBeforeTheTable()
	i.aside()
	i.asksAboutWhatItHasNoPartIn(wards, stucks)
	i.define("A", later)
	i.wanted = append(i.wanted, "started at M, and later@1 may not be started there", "source of later@1 is hosted at B, and the message came from M", "no activity ghost")
	found := i.aside()

	if i.knows("A", "nowhere") || i.knows("B", "nowhere") {
		t.Error("a link was made for somebody that M has named")
	}
	i.answers(commons)
	i.finished(commons, "of M")
	if want := slices.Sorted(slices.Values([]string{
		wards.String() + " here", wards.String() + " there", commons.String() + " begin", commons.String() + " final",
	})); !slices.Equal(i.ran(), want) {
		t.Errorf("programs have run for\n%q, want\n%q", i.ran(), want)
	}
	i.eventually("stuck, which M may not retry nor end, is in error", func() (string, bool) {
		s, err := i.Sites["A"].Client.Status(i.ctx, stucks)
		return fmt.Sprintf("%+v %v", s, err), err == nil && s.InError == 1 && s.State == api.InstanceInError
	})
	for _, site := range i.Sites {
		all, err := site.Client.List(i.ctx, api.ListRequest{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, instance := range all.Instances {
			if slices.Contains(i.forged, instance.Instance) {
				t.Errorf("%s lists the instance %s, which M has made up", site.Name, instance.Instance)
			}
		}
	}
	i.eventually("A says why it does not go on with what M has made up", func() (string, bool) {
		why, err := i.Sites["A"].Client.Why(i.ctx, invented, "")
		return fmt.Sprintf("%+v %v", why, err), err == nil && strings.Contains(fmt.Sprint(why.Waits), "which does not know it")
	})
	for _, d := range found {
		if _, err := i.Sites["A"].Client.RetryRefused(i.ctx, d.Number); err == nil {
			t.Errorf("an operator can deliver %s", d.Reason)
		}
		if done, err := i.Sites["A"].Client.DropRefused(i.ctx, d.Number, api.DropRequest{}); err != nil || done.Done != api.RefusedRemoved {
			t.Errorf("dropped, %s: %+v, %v", d.Reason, done, err)
		}
	}
	i.unmasked(wards, invented)
	for _, id := range []message.InstanceID{stucks, invented} {
		if err := i.Sites["A"].Client.Terminate(i.ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	i.finished(wards, "honest")
	i.Empty(i.ctx)
	i.Whole()
}

// invents gives an instance that A has started, as M says, and that has come to the activity
// behind M's own; under an identifier that there is, if one is given.
func (i *intruder) invents(under ...message.InstanceID) message.InstanceID {
	i.t.Helper()
	m := i.connector("common", "theirs", "final")
	if m.Origin = "A"; len(under) > 0 {
		m.Instance = under[0]
	}
	i.sends(m, "")
	return m.Instance
}

// unmasked: an operator at A sees what M has made up, also under the identifier of an instance of another
// process, which has ended; and lets go of that, without a change of the other one.
func (i *intruder) unmasked(wards, invented message.InstanceID) {
	i.t.Helper()
	a := i.Sites["A"].Client
	list, err := a.List(i.ctx, api.ListRequest{State: api.InstanceUnknown, Limit: 10})
	var got []string
	for _, l := range list.Instances {
		got = append(got, fmt.Sprint(l.Instance, " ", l.Process, " from ", l.Origin))
	}
	want := []string{invented.String() + " common@1 from A", wards.String() + " common@1 from A"}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		i.t.Errorf("unknown to A: %q, %v, want %q", got, err, want)
	}
	if why, err := a.Why(i.ctx, wards, "common@1"); err != nil || !strings.Contains(fmt.Sprint(why.Waits), "M (theirs) says that it was started at A, which does not know it") {
		i.t.Errorf("A says why it does not go on with it: %+v, %v", why, err)
	}
	if err := a.Terminate(i.ctx, wards, ""); api.CodeOf(err) != api.CodeRefused {
		i.t.Errorf("terminated, without a word of the process: %v", err)
	}
	if err := a.Terminate(i.ctx, wards, "common@1"); err != nil {
		i.t.Error(err)
	}
}

// startsWhatItMayNot: of a process in which it has no part, and of one in which it has one
// but is not where it may be started; in its own name, in that of a site that may, and in
// that of a site that nobody knows.
func (i *intruder) startsWhatItMayNot(known message.InstanceID) {
	i.t.Helper()
	for _, at := range []struct{ process, activity string }{{"ward", "here"}, {"common", "begin"}} {
		for origin, refused := range map[processtable.NodeID]string{
			"M": "started at M, and " + at.process + "@1 may not be started there", "nowhere": "started at nowhere, and " + at.process + "@1 may not be started there",
			"A": "source of " + at.process + "@1 is hosted at A, and the message came from M", "B": "source of " + at.process + "@1 is hosted at B, and the message came from M",
		} {
			m := i.connector(at.process, processtable.Source, processtable.ActivityID(at.activity))
			m.Origin = origin
			i.sends(m, refused)
		}
	}
	again := i.connector("ward", processtable.Source, "here") // of an instance that there is
	again.Instance, again.Origin = known, "A"
	i.sends(again, "source of ward@1 is hosted at A, and the message came from M")
}

// speaksForOthers: it resolves connectors of others' activities, names origins that are none,
// sets scopes, sends what never leaves a site, ends instances that are not its, brings a
// table that no definer has signed.
func (i *intruder) speaksForOthers(commons message.InstanceID) {
	i.t.Helper()
	of := func(change func(m *message.Message)) message.Message {
		m := i.connector("common", "theirs", "final")
		m.Instance, m.Origin = commons, "A"
		change(&m)
		return m
	}
	i.sends(of(func(m *message.Message) { m.Source = "begin" }), "begin of common@1 is hosted at A, and the message came from M")
	i.sends(of(func(m *message.Message) { m.Source, m.Activity = "final", processtable.Sink }), "final of common@1 is hosted at A: M may only say on its behalf that it was skipped")
	i.sends(of(func(m *message.Message) { m.Origin = "nowhere" }), "started at nowhere, and common@1 may not be started there")
	i.sends(of(func(m *message.Message) { m.Origin = "M" }), "started at M, and common@1 may not be started there")
	i.sends(of(func(m *message.Message) { m.Scope = "1" }), "does not begin with the name of an activity")
	i.sends(of(func(m *message.Message) { m.Clock = message.MaxClock + 1 }), "no instance comes beyond")
	i.sends(of(func(m *message.Message) { m.Queue.Node = "B" }), "it is for node B, and this is A")
	i.sends(of(func(m *message.Message) { m.Kind, m.Control, m.Data = message.KindSnapshot, 0, 0 }), "never leaves its node")
	i.sends(of(func(m *message.Message) {
		m.Kind, m.Activity, m.Source, m.Control, m.Data = message.KindRecord, processtable.Sink, "", 0, 0
		m.Body = message.EncodeRecord(message.Record{Process: m.Queue.Process})
	}), "never leaves its node")
	i.sends(of(func(m *message.Message) {
		m.Kind, m.Activity, m.Source, m.Control, m.Data = message.KindNotice, processtable.Sink, "begin", 0, 0
		m.Body = message.EncodeNotice(message.Notice{Error: "all is lost"})
	}), "begin of common@1 is hosted at A, and the message came from M")

	marker := i.connector("ward", "", "")
	marker.Kind, marker.Control, marker.Data, marker.Lane, marker.Definition = message.KindMarker, 0, 0, message.LaneControl, processtable.ShortHash{}
	marker.Body = message.EncodeMarker(message.Marker{Reason: "it is over"})
	i.sends(marker, "M has no part in ward@1")
	marker.Queue.Process = i.tables["stuck"].Process
	i.sends(marker, "M has no part in stuck@1")
	marker.Queue.Process, marker.Origin = i.tables["common"].Process, "M"
	i.sends(marker, "started at M, and common@1 may not be started there")

	table, err := processtable.Encode(i.tables["rogue"])
	if err != nil {
		i.t.Fatal(err)
	}
	i.sends(message.Message{Header: message.Header{Queue: message.Queue{Process: i.tables["rogue"].Process, Node: "A"}, Kind: message.KindTable}, Body: table}, "not signed")
}

// sendsBeforeTheTable sends what waits for a table, and what never waits.
func (i *intruder) sendsBeforeTheTable() {
	i.t.Helper()
	own := i.connector("later", processtable.Source, "begin")
	own.Origin = "M"
	i.sends(own, "")
	i.sends(i.connector("later", processtable.Source, "begin"), "")
	ghost := i.connector("later", "ghost", "final")
	i.sends(ghost, "")
	snapshot := i.connector("later", "theirs", "final")
	snapshot.Kind, snapshot.Control, snapshot.Data = message.KindSnapshot, 0, 0
	i.sends(snapshot, "never leaves its node")
	scope := i.connector("later", "theirs", "final")
	scope.Scope = "1"
	i.sends(scope, "does not begin with the name of an activity")
}

// asksAboutWhatItHasNoPartIn gets the answers of a site that has no such thing, word by word.
func (i *intruder) asksAboutWhatItHasNoPartIn(wards, stucks message.InstanceID) {
	i.t.Helper()
	type question = map[string]any
	nothing := uuid.Must(uuid.NewV7())
	for what, q := range map[string]struct {
		kind        string
		real, other question
	}{
		"an instance":        {"instance", question{"instance": wards}, question{"instance": nothing}},
		"its history":        {"instance", question{"instance": wards, "history": true}, question{"instance": nothing, "history": true}},
		"a roster":           {"instance", question{"instance": nothing, "process": "ward@1"}, question{"instance": nothing, "process": "ward@2"}},
		"a table":            {"table", question{"process": "ward@1"}, question{"process": "ward@2"}},
		"how an instance is": {"lost", question{"instances": []question{{"instance": wards, "process": "ward@1"}}}, question{"instances": []question{{"instance": nothing, "process": "ward@2"}}}},
		"a rebuild of B":     {"rebuild", question{"peer": "B"}, question{"peer": "B", "do": false}},
	} {
		if real, other := i.asks(q.kind, q.real), i.asks(q.kind, q.other); real != other || strings.Contains(real, "ward") {
			i.t.Errorf("%s: it is told\n%s\nand of what there is not\n%s", what, real, other)
		}
	}
	if got := i.asks("retry", question{"instance": stucks, "process": "stuck@1", "activity": "here"}); !strings.Contains(got, "no table of stuck@1 at A") {
		i.t.Errorf("it asks for a retry, and is told %s", got)
	}
	if got := i.asks("rebuild", question{"peer": "B", "do": true, "by": "alice"}); !strings.Contains(got, "A refuses rebuild from alice at M") {
		i.t.Errorf("it orders to rebuild B, and is told %s", got)
	}
	if got := i.asks("terminate", question{"instance": stucks, "process": "stuck@1", "by": "alice"}); !strings.Contains(got, "no table of stuck@1 at A") {
		i.t.Errorf("it wants to end an instance, and is told %s", got)
	}
	if got := i.asks("rebuild", question{"peer": "M", "do": true}); !strings.Contains(got, "A has no peer M") {
		i.t.Errorf("it asks to be rebuilt itself, and is told %s", got)
	}
}

// answers does M's honest part in an instance of common.
func (i *intruder) answers(id message.InstanceID) {
	i.t.Helper()
	i.line.store.UntilAccepted(i.t, message.LaneData, 1)
	for _, payload := range i.line.store.Have(message.LaneData) {
		if m, err := message.Decode([]byte(payload)[1:]); err == nil && m.Instance == id && m.Activity == "theirs" {
			reply := i.connector("common", "theirs", "final")
			reply.Instance, reply.Origin, reply.Clock, reply.Body = id, m.Origin, m.Clock+1, i.note("of M")
			i.sends(reply, "")
			return
		}
	}
	i.t.Errorf("M has not got its part in %s", id)
}
