package node

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/answer"
	"fmqm/node/command"
	"fmqm/node/rebuild"
	"fmqm/node/report"
	"fmqm/node/tables"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// B has no part in it.
const secret = `
process: secret
version: 1
structures:
  S: {text: string}
input: S
activities:
  s1: {node: A, program: nothing, input: S, output: S}
  s2: {node: C, program: nothing, input: S}
control: [s1 -> s2]
data: [source -> s1, s1 -> s2]
`

// secretWorld is a node A with an instance of secret under way, whose s1 is in error.
func secretWorld(t *testing.T) (*inboxWorld, *processtable.Table, message.InstanceID) {
	t.Helper()
	w := inboxWorldOf(t, orders, true)
	table := w.add(secret)
	id := uuid.Must(uuid.NewV7())
	if _, err := w.a.Start(context.Background(), api.StartRequest{Instance: id, Process: "secret", Input: json.RawMessage(`{"text": "hush"}`)}); err != nil {
		t.Fatal(err)
	}
	for failed := false; !failed; {
		s, err := w.a.Status(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		failed = s.InError == 1
	}
	return w, table, id
}

// asked is a peer's question, and the answer, as they travel.
func (w *inboxWorld) asked(peer processtable.NodeID, kind string, about any) string {
	w.t.Helper()
	body, err := json.Marshal(about)
	if err != nil {
		w.t.Fatal(err)
	}
	reply, err := w.a.respond(context.Background(), peer, kind, body)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(reply)
}

// A peer that has no part in a process is answered as by a node that knows nothing of it,
// byte for byte: no status, no history, no table, no retry, no word of how it stands for a
// rebuilding. Who has a part is answered.
func TestWhoHasNoPartIsToldNothing(t *testing.T) {
	w, _, id := secretWorld(t)
	nothing := uuid.Must(uuid.NewV7())
	const none = "secret@2"
	for name, tc := range map[string]struct {
		kind  string
		real  any  // about what there is
		other any  // about what there is not
		part  bool // only the difference between having a part and none is looked at
	}{
		"status":                   {kind: answer.AskInstance, real: report.Question{Instance: id}, other: report.Question{Instance: nothing}},
		"status, of a process":     {kind: answer.AskInstance, real: report.Question{Instance: id, Process: "secret@1"}, other: report.Question{Instance: nothing, Process: none}},
		"roster":                   {kind: answer.AskInstance, real: report.Question{Instance: nothing, Process: "secret@1"}, other: report.Question{Instance: nothing, Process: none}},
		"history":                  {kind: answer.AskInstance, real: report.Question{Instance: id, History: true}, other: report.Question{Instance: nothing, History: true}},
		"table":                    {kind: tables.AskTable, real: tables.Question{Process: "secret@1"}, other: tables.Question{Process: none}},
		"list":                     {kind: answer.AskList, real: answer.ListQuestion{All: true, Limit: 10}, other: answer.ListQuestion{Process: none, Limit: 10}},
		"list, of a process":       {kind: answer.AskList, real: answer.ListQuestion{Process: "secret@1", Limit: 10}, other: answer.ListQuestion{Process: none, Limit: 10}},
		"list, of what is wrong":   {kind: answer.AskList, real: answer.ListQuestion{InError: true, Limit: 10}, other: answer.ListQuestion{InError: true, Process: none, Limit: 10}},
		"lost, how it stands":      {kind: rebuild.AskLost, real: rebuild.LostQuestion{Instances: []rebuild.Instance{{Instance: id, Process: "secret@1"}}}, other: rebuild.LostQuestion{Instances: []rebuild.Instance{{Instance: nothing, Process: none}}}},
		"lost, by another process": {kind: rebuild.AskLost, real: rebuild.LostQuestion{Instances: []rebuild.Instance{{Instance: id, Process: "orders@1"}}}, other: rebuild.LostQuestion{Instances: []rebuild.Instance{{Instance: nothing, Process: "orders@1"}}}, part: true},
	} {
		t.Run(name, func(t *testing.T) {
			real, other := w.asked("B", tc.kind, tc.real), w.asked("B", tc.kind, tc.other)
			if real != other {
				t.Errorf("B is told\n%s\nand of what there is not\n%s", real, other)
			}
			if !tc.part && w.asked("C", tc.kind, tc.real) == other {
				t.Errorf("C has a part, and is told as little: %s", other)
			}
		})
	}
	lacks := func(peer processtable.NodeID) bool {
		return strings.Contains(w.asked(peer, rebuild.AskLost, rebuild.LostQuestion{Processes: []string{"secret@1"}}), `"lacks":["secret@1"]`)
	}
	if !lacks("B") || lacks("C") {
		t.Errorf("lacks the table, for B: %t, for C: %t", lacks("B"), lacks("C"))
	}
	w.a.SetRemoteOperators(trust.Operators{{Site: "*"}})
	if got := w.asked("B", command.AskRetry, command.RetryQuestion{Instance: id, Process: "secret@1", Activity: "s1"}); !strings.Contains(got, "no table of secret@1 at A") {
		t.Errorf("B's retry: %s", got)
	}
	if got := w.asked("C", command.AskRetry, command.RetryQuestion{Instance: id, Process: "secret@1", Activity: "s1"}); got != "{}" {
		t.Errorf("C's retry: %s", got)
	}
}

// Who brings a table of a process in which it has no part (a site from which processes are
// uploaded) learns whether that would be taken, and nothing of the one that is here.
func TestWhoBringsATableLearnsWhetherItIsTaken(t *testing.T) {
	w, table, _ := secretWorld(t)
	ask := func(definition string) (r tables.Report) {
		t.Helper()
		reply := w.asked("B", tables.AskTable, tables.Question{Process: "secret@1", Table: "0123", Definition: definition})
		if err := json.Unmarshal([]byte(reply), &r); err != nil {
			t.Fatal(reply, err)
		}
		return r
	}
	if r := ask(table.Definition.String()); !r.Found || r.Definition != table.Definition.String() || r.Format != table.Format {
		t.Errorf("of the same definition: %+v", r)
	}
	for _, other := range []string{"", strings.Repeat("0", 64)} {
		if r := ask(other); !r.Found || r.Definition != "" || r.Format != 0 {
			t.Errorf("of the definition %q: %+v", other, r)
		}
	}
}

// Nobody makes another site take his own new store for known, and who asks for a third one
// has to do with it.
func TestRebuildForAPeer(t *testing.T) {
	w, _, _ := secretWorld(t)
	w.a.SetRemoteOperators(trust.Operators{{Site: "*"}})
	for _, tc := range []struct {
		asker, peer string
		want        string
	}{
		{"B", "B", "A has no peer B that B may ask about"},
		{"X", "C", "A has no peer C that X may ask about"},
		{"B", "X", "A has no peer X that B may ask about"},
		{"B", "C", "A has no peer C\""}, // no link: it is asked as an operator's word
	} {
		for _, do := range []bool{false, true} {
			got := w.asked(processtable.NodeID(tc.asker), rebuild.AskRebuild, rebuild.Word{Peer: tc.peer, Do: do})
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s asks for %s: %s, want %q", tc.asker, tc.peer, got, tc.want)
			}
		}
	}
}

// A stranger's word that this store is a new one changes nothing: from then on the node
// would take repeats without a word, and read its store for each of them.
func TestAStrangerDoesNotMakeAStoreNew(t *testing.T) {
	w := inboxWorldOf(t, orders, true)
	w.asked("X", rebuild.AskLost, rebuild.LostQuestion{Rebuild: true})
	if w.a.rebuilds.Anew() || w.a.rebuilds.StoreLost() {
		t.Error("a stranger has made the store a new one")
	}
	w.asked("B", rebuild.AskLost, rebuild.LostQuestion{Rebuild: true})
	if !w.a.rebuilds.Anew() {
		t.Error("a site of the process has not")
	}
}

// beginning is a process of A and C in which an instance of begun is begun at A, of which only A has a part.
const (
	beginning = `
process: begins
version: 1
activities:
  pack: {node: A, process: begun}
  ship: {node: C, program: nothing}
control: [pack -> ship]
`
	begun = `
process: begun
version: 1
activities:
  wrap: {node: A, program: nothing}
`
)

// Whether what an activity has begun goes on is told to who has a part in that activity's process, and to nobody else,
// nor of any other instance; which of its activities is in error, only to who has a part in it, too.
func TestWhoIsToldOfChildren(t *testing.T) {
	w := inboxWorldOf(t, orders, true)
	w.add(beginning)
	w.add(begun)
	id := uuid.Must(uuid.NewV7())
	if _, err := w.a.Start(t.Context(), api.StartRequest{Instance: id, Process: "begins"}); err != nil {
		t.Fatal(err)
	}
	var child message.InstanceID
	if !w.until(func() bool { // it is in error; C is not heard
		s, err := w.a.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range s.Activities {
			if a.Child != nil {
				child = *a.Child
			}
		}
		c, err := w.a.Status(t.Context(), child)
		return err == nil && c.State == api.InstanceInError
	}) {
		t.Fatal("the child is not in error")
	}
	ask := func(peer processtable.NodeID, parent, about message.InstanceID) string {
		return w.asked(peer, answer.AskChildren, report.ChildrenQuestion{Parent: parent, Instances: []message.InstanceID{about}})
	}
	for _, tc := range []struct {
		who           string
		peer          processtable.NodeID
		parent, about message.InstanceID
	}{
		{"a peer with no part", "B", id, child},
		{"of another parent", "C", child, child},
		{"of what nobody has begun", "C", id, id},
		{"of nothing", "C", id, uuid.Must(uuid.NewV7())},
	} {
		if got := ask(tc.peer, tc.parent, tc.about); got != "{}" {
			t.Errorf("%s: told %s", tc.who, got)
		}
	}
	if got, want := ask("C", id, child), `{"in_error":1,"error_in":{"instance":"`+child.String()+`","process":"begun@1","activity":""}}`; got != want {
		t.Errorf("a peer with a part is told\n%s, want\n%s", got, want)
	}
}
