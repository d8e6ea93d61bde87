package partition

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fmqm/test/fleet"
)

// newFleet starts four daemons, each in its namespace, that all dial each other.
func newFleet(t *testing.T, w *world, work *fleet.Work) *fleet.Fleet {
	t.Helper()
	return fleet.New(t, fleet.Options{
		Listen:   func(site string) string { return w.address(site) + ":7411" },
		Links:    fleet.DialAll,
		Programs: work.Programs,
		Within:   w.within,
	})
}

// link is one direction between two sites.
type link struct{ from, to string }

func links() []link {
	var all []link
	for _, from := range fleet.Names {
		for _, to := range fleet.Names {
			if from != to {
				all = append(all, link{from, to})
			}
		}
	}
	return all
}

// Invariants 5, 6 and 7: for two minutes links flap (each second one direction between
// two sites is cut or mended, so most cuts are in one direction only, which TCP takes for
// a slow network), while instances are started all the time. At the end each of them is
// as the interpreter says, and nothing is left anywhere.
func TestTwoMinutesOfFlappingLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	work := fleet.NewWork(t, 31)
	f := newFleet(t, w, work)
	ctx, cancel := context.WithTimeout(context.Background(), 6*fleet.Patience)
	defer cancel()
	f.Connected(ctx)
	work.Define(f, 24, 10)

	const seconds = 120
	random := rand.New(rand.NewPCG(31, 31))
	started := make(chan error, len(work.Plays))
	next := 0
	var cut []link
	cuts := 0
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := range seconds {
		for ; next < len(work.Plays)*(n+1)/seconds; next++ {
			p := work.Plays[next]
			go func() { started <- work.StartOne(ctx, p) }()
		}
		if len(cut) > 5 || len(cut) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(cut))
			w.mend(cut[i].from, cut[i].to)
			cut = slices.Delete(cut, i, i+1)
		} else if l := links()[random.IntN(12)]; !slices.Contains(cut, l) {
			w.cut(l.from, l.to)
			cut = append(cut, l)
			cuts++
		}
		<-second.C
	}
	for _, l := range cut {
		w.mend(l.from, l.to)
	}
	for range work.Plays {
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	f.Connected(ctx)
	t.Logf("%d cuts of one direction in %d s; %s", cuts, seconds, work.Judge(ctx))
	if cuts < 40 {
		t.Errorf("%d cuts: expected at least 40", cuts)
	}
}

// Invariant 6: a site that is cut off from all others goes on with everything that it
// has, and so do the others among themselves.
func TestASiteThatIsCutOffGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	work := fleet.NewWork(t, 32)
	f := newFleet(t, w, work)
	ctx, cancel := context.WithTimeout(context.Background(), 3*fleet.Patience)
	defer cancel()
	f.Connected(ctx)
	work.Define(f, 12, 4)
	for _, peer := range fleet.Names[1:] {
		w.cut("A", peer)
		w.cut(peer, "A")
	}
	for _, p := range work.Plays {
		if err := work.StartOne(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, peer := range fleet.Names[1:] {
		f.Until(ctx, "A misses "+peer, func() bool {
			state := f.Sites["A"].Link(ctx, peer).State
			return state != "" && state != "connected"
		})
	}
	for _, site := range fleet.Names {
		f.Until(ctx, "programs run at "+site+" while A is cut off", func() bool { return work.AttemptsAt(site) > 0 })
	}
	for _, peer := range fleet.Names[1:] {
		w.mend("A", peer)
		w.mend(peer, "A")
	}
	f.Connected(ctx)
	t.Log(work.Judge(ctx))
}
