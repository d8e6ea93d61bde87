package rebuild

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
)

// bulky is an instance of which its site sends more than fits one chunk.
const bulky = `
process: bulky
version: 1
structures:
  Text: {text: string}
input: Text
starts: [A]
activities:
  one: {node: B, program: copy, input: Text, output: Text}
  two: {node: B, program: copy, input: Text, output: Text}
  three: {node: B, program: copy, input: Text, output: Text}
  four: {node: B, program: copy, input: Text, output: Text}
data:
  - source -> one
  - source -> two
  - source -> three
  - source -> four
`

// textSize is that of one of its four messages; two of them are a chunk.
const textSize = 700 << 10

// S4: who sends again is killed between two chunks of one instance, and the site that is
// rebuilt with it. It goes on behind the last message that it had put, and puts none twice.
func TestKilledWithinAnInstance(t *testing.T) {
	t.Parallel()
	registered := false // B's program: until then what it is sent waits there, in error
	s := newScene(t, options{way: direct, seed: 46, programs: func(site string) []string {
		all := []string{"other: {exec: [cat]}"}
		if site == lost && registered {
			all = append(all, "copy: {exec: [cat]}")
		}
		return all
	}})
	a, b := s.Sites["A"], s.Sites[lost]
	a.Upload(bulky)
	id := uuid.Must(uuid.NewV7())
	input, err := json.Marshal(map[string]string{"text": strings.Repeat("x", textSize)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Client.Start(s.ctx, api.StartRequest{Instance: id, Process: "bulky", Input: input}); err != nil {
		t.Fatal(err)
	}
	s.activities(id, api.ActivityInError)
	s.Until(s.ctx, "B confirms all of it", func() bool { return s.Waiting(s.ctx) == 0 })

	b.Stop()
	s.loseStore()
	registered = true
	b.Configure()
	b.Start()
	b.Answers()
	b.Upload(bulky)
	a.Stop()
	a.StartToDie("rebuild.chunk")
	s.stopped(4)
	_, _ = a.Client.Rebuild(s.ctx, api.RebuildRequest{Peer: lost, Do: true}) // it may die before it answers
	a.Died(s.ctx)
	b.Kill()
	a.Start()
	a.Answers()
	if r := s.look("A"); r.Stage != api.RebuildSending || r.Messages != 2 {
		t.Errorf("A was not killed within the instance: %+v", r)
	}
	b.Start()
	b.Answers()
	if r := s.rebuilt("A"); r.Messages != 4 || r.Instances != 1 || len(r.Unknown) > 0 {
		t.Errorf("A has sent again %+v", r)
	}
	for _, name := range []string{"C", "D"} {
		s.rebuild(name, "--yes")
	}
	s.activities(id, api.ActivityTerminated)
	s.Until(s.ctx, "the instance ends", func() bool {
		status, err := a.Client.Status(s.ctx, id)
		return err == nil && status.State == api.InstanceFinished
	})
	s.work.Judge(s.ctx)
}

// activities waits until all those of the site that is lost are in a state.
func (s *scene) activities(id uuid.UUID, state api.ActivityState) {
	s.Helper()
	s.Until(s.ctx, "activities at "+lost+" are "+string(state), func() bool {
		status, err := s.Sites["A"].Client.Status(s.ctx, id)
		return err == nil && !slices.ContainsFunc(status.Activities, func(a api.Activity) bool {
			return a.Node == lost && a.State != state
		})
	})
}
