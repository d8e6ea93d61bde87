package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"testing"

	"fmqm/api"
	"fmqm/definer"
	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
)

// M has a part in both: in kin, of which pack begins an instance of goods, and in that.
const (
	kin = `process: kin
version: 1
structures: {Note: {text: string}}
input: Note
output: Note
starts: [A]
activities:
  pack: {node: A, process: goods, input: Note, output: Note}
  side: {node: M, program: mark}
data: [source -> pack, pack -> sink]
`
	goods = `process: goods
version: 1
structures: {Note: {text: string}}
input: Note
output: Note
starts: [A]
activities:
  work: {node: A, program: hold, input: Note, output: Note}
  part: {node: M, program: mark}
data: [source -> work, work -> sink]
`
)

// defineFamily uploads processes of which some begin instances of others, signed as fmqm-define does.
func (i *intruder) defineFamily(texts ...string) {
	i.t.Helper()
	path, err := definer.Path("", os.Getenv)
	if err != nil {
		i.t.Fatal(err)
	}
	key, err := definer.Load(path)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, text := range texts {
		processes, problems := definition.Load("process.yaml", []byte(text))
		if definition.HasErrors(problems) {
			i.t.Fatal(problems)
		}
		compiled, err := definition.Compile(processes[0])
		if err != nil {
			i.t.Fatal(err)
		}
		var r api.UploadRequest
		for n := range compiled.Encoded {
			t := compiled.Tables[n]
			encoded, err := processtable.Sign(compiled.Encoded[n], key)
			if err != nil {
				i.t.Fatal(err)
			}
			if t.Node == "A" {
				i.tables[t.Process.Name] = t
				sum := sha256.Sum256(encoded)
				r.Tables = append(r.Tables, api.Table{
					Node: "A", Process: t.Process.String(), Definition: t.Definition.String(), Table: encoded, SHA256: hex.EncodeToString(sum[:]),
				})
			}
		}
		answer, err := i.Sites["A"].Client.Upload(i.ctx, r)
		if err != nil || len(answer.Nodes) != 1 || answer.Nodes[0].Result != api.ResultStored {
			i.t.Fatalf("%+v %v", answer, err)
		}
	}
}

// N19: a site that has a part in parent and child begins no child, ends none, and makes none return. What it
// may say in either it says with effect.
func TestWhatASiteTriesWithSubprocesses(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	i.defineFamily(goods, kin)
	id := i.start("kin")
	var child api.InstanceID
	running := func() {
		t.Helper()
		i.eventually("the child runs", func() (string, bool) {
			s, err := i.Sites["A"].Client.Status(i.ctx, id)
			if err != nil || len(s.Activities) == 0 || s.Activities[0].Child == nil || s.Activities[0].State != api.ActivityRunning {
				return fmt.Sprintf("%+v %v", s, err), false
			}
			child = *s.Activities[0].Child
			s, err = i.Sites["A"].Client.Status(i.ctx, child)
			return fmt.Sprintf("%+v %v", s, err), err == nil && s.State == api.InstanceRunning && s.Activities[0].State == api.ActivityRunning
		})
	}
	running()

	says := func(process string, of message.InstanceID, refused string, change func(*message.Message)) {
		t.Helper()
		m := i.connector(process, "", "")
		m.Instance, m.Origin, m.Control, m.Data, m.Body = of, "A", 0, 0, nil
		change(&m)
		i.sends(m, refused)
	}
	p := message.Parent{Process: i.tables["kin"].Process, Node: "A", Instance: id, Activity: "pack", Iteration: 1, Attempt: 2}
	says("goods", p.Child(i.tables["goods"].Process, 1), "never leaves its node", func(m *message.Message) {
		m.Kind, m.Activity, m.Body = message.KindStart, processtable.Source, message.EncodeStart(message.Start{Parent: p})
	})
	back := p.Back(message.Child{Instance: child, Process: i.tables["goods"].Process}, message.Return{Error: "all is lost"})
	says("kin", id, "a message of this kind is the only one from its source", func(m *message.Message) {
		m.Kind, m.Activity, m.Source, m.Number, m.Body = back.Kind, back.Activity, back.Source, back.Number, back.Body
	})
	for _, relay := range []bool{false, true} {
		says("goods", child, "M wants to end an instance that was started at A", func(m *message.Message) {
			m.Kind, m.Lane, m.Definition = message.KindMarker, message.LaneControl, processtable.ShortHash{}
			m.Body = message.EncodeMarker(message.Marker{Reason: "its parent has ended", Relay: relay})
		})
	}
	says("goods", child, "started at M, and goods@1 may not be started there", func(m *message.Message) {
		m.Kind, m.Lane, m.Definition, m.Origin = message.KindMarker, message.LaneControl, processtable.ShortHash{}, "M"
		m.Body = message.EncodeMarker(message.Marker{Reason: "its parent has ended", Relay: true})
	})
	found := i.aside()
	running()

	for process, of := range map[string]message.InstanceID{"kin": id, "goods": child} {
		source := map[string]processtable.ActivityID{"kin": "side", "goods": "part"}[process]
		says(process, of, "", func(m *message.Message) {
			m.Kind, m.Source, m.Activity, m.Control, m.Lane = message.KindConnector, source, processtable.Sink, message.True, message.LaneControl
		})
	}
	if err := os.WriteFile(i.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.finished(child, "honest")
	i.finished(id, "honest")
	for _, d := range found {
		if _, err := i.Sites["A"].Client.RetryRefused(i.ctx, d.Number); err == nil {
			t.Errorf("an operator can deliver %s", d.Reason)
		}
		if done, err := i.Sites["A"].Client.DropRefused(i.ctx, d.Number, api.DropRequest{}); err != nil || done.Done != api.RefusedRemoved {
			t.Errorf("dropped, %s: %+v, %v", d.Reason, done, err)
		}
	}
	i.Empty(i.ctx)
	i.Whole()
}
