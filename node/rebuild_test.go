package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
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
