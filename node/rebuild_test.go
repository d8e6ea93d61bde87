package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/rebuild"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Of a rebuild that an operator wants of all sites, one that does not answer keeps none of the
// others from beginning; and each speaks for itself, and of the peer that was asked about.
func TestASilentSiteDelaysNoOtherSitesRebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}, "C": {}, "D": {}}}
		k.begin("A", retainedSites)
		k.query = func(ctx context.Context, peer processtable.NodeID, _ string, _ []byte) ([]byte, error) {
			if peer == "B" {
				<-ctx.Done()
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return json.Marshal(rebuild.Report{Rebuild: api.Rebuild{Node: "D", Peer: "Y", Stage: api.RebuildDecided}})
		}
		a, err := k.Rebuild(t.Context(), api.RebuildRequest{Peer: "X", Do: true, All: true})
		k.must(err)
		var got []string
		for _, b := range a.Rebuilds {
			got = append(got, fmt.Sprintf("%s of %s: %s", b.Node, b.Peer, b.Stage))
		}
		if want := []string{"A of X: ", "B of X: ", "C of X: decided", "D of X: decided"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// Of each site that does nothing the answer has what kind of reason that is, and of one that has
// nothing to send that it is none. What a peer itself claims of that counts for nothing.
func TestARebuildOfAllSaysWhatKindOfReasonsThereAre(t *testing.T) {
	k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}, "C": {}, "D": {}, "E": {}, "F": {}, "G": {}}}
	k.begin("A", retainedSites)
	refused := api.Errorf(api.CodeRefused, "", "no")
	answers := map[processtable.NodeID]rebuild.Report{
		"B": {Rebuild: api.Rebuild{Stage: api.RebuildDecided, Code: api.CodeRefused}},
		"C": {Error: refused},
		"D": {Error: refused, Nothing: true},
		"E": {Rebuild: api.Rebuild{Code: api.CodeNotFound}},
		"G": {Error: api.Errorf("done", "", "a word that there is not")},
	}
	k.query = func(_ context.Context, peer processtable.NodeID, _ string, _ []byte) ([]byte, error) {
		if r, ok := answers[peer]; ok {
			return json.Marshal(r)
		}
		return nil, context.DeadlineExceeded
	}
	a, err := k.Rebuild(t.Context(), api.RebuildRequest{Peer: "X", Do: true, All: true})
	k.must(err)
	var got []string
	for _, b := range a.Rebuilds {
		got = append(got, fmt.Sprintf("%s %s%s", b.Node, b.Stage, b.Code))
	}
	if want := []string{"A not-found", "B decided", "C refused", "D not-found", "E failed", "F unreachable", "G failed"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// N15, S4: where an instance was started is what its own records say, and not the one of a word that
// an operator has asked about it here before anything of it had come.
func TestAWordDoesNotSayWhereAnInstanceWasStarted(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	word := &record.Word{ID: uuid.Must(uuid.NewV7()), Wish: message.WishRetry, Home: "A"}
	p.b.must(p.b.commit(t.Context(), &record.Tx{Audit: []record.AuditRecord{{
		Time: p.b.clock.Now(), Clock: 1, Process: processtable.ProcessID{Name: "two", Version: 1}, Instance: id, Activity: "go",
		Event: record.EventAsked, By: "olga at B", Word: word,
	}}}))
	p.run(id)
	p.b.rebuilds.Standings = func(_ context.Context, _ processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		return make([]rebuild.Standing, len(q)), nil // A has lost its store
	}
	told, err := p.b.rebuilds.Report(t.Context(), record.Rebuild{Peer: "A", Stage: record.StageDone})
	p.b.must(err)
	if len(told.Unknown) != 1 || told.Unknown[0].Instance != id {
		t.Errorf("unknown at A, where it was started: %+v, want %s", told.Unknown, id)
	}
}

// waitingFor is a process that C starts; what A hosts of it waits for B.
const waitingFor = `
process: three
version: 1
starts: [C]
activities:
  go:    {node: C, program: echo}
  theirs: {node: B, program: echo}
  mine:  {node: A, program: echo}
control: [go -> mine, theirs -> mine]
`

// A node that stops ends its links first. That the site where an instance was started then does not
// answer ends no rebuild: it asks after the next start whether what waits here has to be ended.
func TestARebuildIsNotDoneByAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}, "C": {}}}
		k.begin("A", waitingFor)
		id, process := uuid.UUID{7}, processtable.ProcessID{Name: "three", Version: 1}
		k.take(message.Message{Header: message.Header{
			Queue: message.Queue{Process: process, Node: "A"}, Instance: id, Origin: "C", Kind: message.KindConnector,
			Activity: "mine", Source: "go", Control: message.True, Clock: 1, Lane: message.LaneControl,
			Definition: site{k.Node}.Process(process).Table().Definition.Short(),
		}})
		k.settled()
		stage := func() record.Stage {
			synctest.Wait()
			mark, _, err := k.queue.Rebuilding("B")
			k.must(err)
			return mark.Stage
		}
		k.query = func(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
			k.mu.Lock()
			k.stopped = true
			k.mu.Unlock()
			k.must(k.endLinks(ctx)) // a program that runs holds up what Stop does then
			return k.queryPeer(ctx, peer, kind, body)
		}
		known, _ := k.queue.KnownIncarnation("B")
		k.must(k.commit(t.Context(), &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Incarnation: known, Stage: record.StageSending}}))
		k.must(k.rebuilds.Resume())
		if s := stage(); s != record.StageSending {
			t.Errorf("stopped in stage %d, want %d", s, record.StageSending)
		}

		k.close()
		k.openOnly("A")
		var asked []string
		k.query = func(_ context.Context, peer processtable.NodeID, kind string, _ []byte) ([]byte, error) {
			asked = append(asked, kind+" of "+string(peer))
			if kind == command.AskEnd {
				return json.Marshal(command.EndReport{})
			}
			return json.Marshal(rebuild.LostReport{Standings: []rebuild.Standing{{Started: true, Ended: true}}})
		}
		k.Launch()
		if s := stage(); s != record.StageDone || !slices.Equal(asked, []string{"lost of C", "end of C"}) {
			t.Errorf("after the next start: stage %d, asked %q", s, asked)
		}
	})
}

// A survey reads the history of every instance. It ends with whoever asked, or with the node: a link
// that stops waits for it.
func TestASurveyEndsWithWhoAskedForIt(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(p *keepers, id message.InstanceID, forDead message.Message)
		many int // so many are of two pages
	}{
		{"of the audit queue", func(p *keepers, id message.InstanceID, _ message.Message) {
			p.b.must(p.b.commit(t.Context(), &record.Tx{Audit: []record.AuditRecord{{
				Time: p.b.clock.Now(), Clock: 1, Process: processtable.ProcessID{Name: "two", Version: 1}, Instance: id, Origin: "A",
				Activity: "work", Event: record.EventTerminated,
			}}}))
		}, 100},
		{"of a process queue", func(p *keepers, id message.InstanceID, forDead message.Message) {
			forDead.Instance = id
			p.b.take(forDead)
		}, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newKeepers(t)
			p.a.must(p.a.start(uuid.UUID{1}, `{"n": 7}`))
			p.a.await(uuid.UUID{1}, "go", record.EventTerminated)
			sent := p.a.sent("B")
			forDead := sent[slices.IndexFunc(sent, func(m message.Message) bool { return m.Activity == "dead" })]
			for i := range c.many {
				c.fill(p, uuid.UUID{2, byte(i >> 8), byte(i)}, forDead)
			}
			p.b.settled()
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			p.b.rebuilds.Standings = func(_ context.Context, _ processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
				asked++
				cancel()
				return make([]rebuild.Standing, len(q)), nil
			}
			_, err := p.b.rebuilds.Report(ctx, record.Rebuild{Peer: "A", Stage: record.StageDone})
			if !errors.Is(err, context.Canceled) || asked != 1 {
				t.Errorf("it has gone through %d pages: %v", asked, err)
			}
		})
	}
}

// Of the tables that a peer says it lacks those count that it was asked about.
func TestARebuildWaitsForTablesThatThePeerIsToHave(t *testing.T) {
	for _, c := range []struct{ says, lacks []string }{
		{[]string{"two@1", "other@1", "no\x1bname"}, []string{"two@1"}},
		{[]string{"other@1"}, nil},
	} {
		k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}}}
		k.begin("A", retainedSites)
		k.query = func(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
			return json.Marshal(rebuild.LostReport{Lacks: c.says})
		}
		known, _ := k.queue.KnownIncarnation("B")
		k.must(k.commit(t.Context(), &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Incarnation: known, Stage: record.StageDecided}}))
		k.must(k.rebuilds.Resume())
		a, err := k.Rebuild(t.Context(), api.RebuildRequest{Peer: "B", Wait: 2 * time.Minute})
		k.must(err)
		if b := a.Rebuilds[0]; !slices.Equal(b.Lacks, c.lacks) || (b.Stage == api.RebuildDone) != (c.lacks == nil) {
			t.Errorf("B says that it lacks %q: %s, for %q", c.says, b.Stage, b.Lacks)
		}
	}
}

// What an operator has ordered is done also where he does not wait for it to be on disk.
func TestARebuildWhoseOperatorLeaves(t *testing.T) {
	k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}}}
	k.begin("A", retainedSites)
	k.query = func(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
		return json.Marshal(rebuild.LostReport{})
	}
	known := record.Incarnation{9}
	k.must(k.queue.BindIncarnation("B", known))
	k.must(k.commit(t.Context(), &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Incarnation: known, Stage: record.StageDone}}))
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := k.Rebuild(gone, api.RebuildRequest{Peer: "B", Do: true})
	a, _ := k.Rebuild(t.Context(), api.RebuildRequest{Peer: "B", Wait: 2 * time.Minute})
	if len(a.Rebuilds) != 1 || a.Rebuilds[0].Stage != api.RebuildDone || !k.rebuilds.StoreLost() {
		t.Errorf("ordered (%v), it is %+v; a store was lost: %t", err, a.Rebuilds, k.rebuilds.StoreLost())
	}
}
