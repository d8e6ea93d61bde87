package sites

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/internal/faultnet"
	"fmqm/sim/oracle"
	"fmqm/test/fleet"
)

// weather is the size of a storm. Instances are started over the whole of it.
type weather struct {
	seed      int
	processes int
	instances int           // of each process
	killings  int           // how many kills
	killEvery int           // attempts of programs, at most
	limit     time.Duration // for all of it
}

// A hundred instances of random processes, while a seeded schedule kills daemons with
// kill -9, cuts links between them, and once fills the disk of one of them. At the end
// each instance is as the interpreter says, every attempt was given the right input, no
// execution ran under two keys or beside itself, nothing is left in any queue, and the
// stores are whole.
//
// With FMQM_STORM it is 500 instances and 30 kills: one storm after the other, each with its
// own processes and schedule, for so many minutes (`make storm`). FMQM_STORM_SEED is the
// first's seed.
func TestStorm(t *testing.T) {
	fleet.ForLong(t, "FMQM_STORM", 20, func(t *testing.T, seed int) {
		rage(t, weather{seed: seed, processes: 20, instances: 5, killings: 14, killEvery: 12, limit: 5 * fleet.Patience})
	}, func(t *testing.T, seed int) {
		rage(t, weather{seed: seed, processes: 50, instances: 10, killings: 30, killEvery: 100, limit: 5 * fleet.Patience})
	})
}

// rage lets a storm go over four daemons, and then looks at what is there.
func rage(t *testing.T, w weather) {
	s := newStorm(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	started := s.startAll(ctx)
	asked := s.askAll(ctx)
	s.blow(ctx)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.network.Connected(ctx)
	whole, partly := asked()
	t.Logf("of the answers given in the storm %d were whole, and %d lacked what a site did not answer", whole, partly)
	v := s.work.Judge(ctx)
	t.Logf("seed %d: %d kills, %d stops, %d cuts, %s; %s", w.seed, s.kills, s.stops, s.cuts, s.disk, v)
	if s.kills < w.killings || s.cuts < w.killings/4 || len(s.work.Plays) < 100 {
		t.Error("the storm was too mild")
	}
	if v.Finished < v.Instances*8/10 || v.InError == 0 {
		t.Errorf("%d of %d instances finished: draw other processes", v.Finished, v.Instances)
	}
	s.disk.judge()
}

type storm struct {
	weather
	t        *testing.T
	rand     *rand.Rand
	work     *fleet.Work
	network  *network
	released chan *fleet.Play // to be started now
	kills    int
	stops    int
	inRow    map[*site]int // kills since the last stop in order
	cuts     int
	cut      []*faultnet.Proxy
	down     []*site
	disk     *flood
}

func newStorm(t *testing.T, w weather) *storm {
	s := &storm{weather: w, t: t, rand: rand.New(rand.NewPCG(uint64(w.seed), 1)), inRow: map[*site]int{}, work: fleet.NewWork(t, w.seed)}
	s.disk = &flood{storm: s, name: fleet.Names[s.rand.IntN(len(fleet.Names))]}
	s.work.Steady, s.work.Nested, s.work.Waits = true, true, s.disk.refuses
	programs := map[string][]string{}
	for _, site := range fleet.Names {
		programs[site] = s.work.Programs(site)
	}
	s.network = newNetworkOf(t, setup{programs: programs, small: s.disk.name})
	s.work.Define(s.network.Fleet, s.processes, s.instances)
	return s
}

// startAll starts every instance that is released, in the background, and gives one
// error or nil when all are. What a site that is down does not hear of waits for it, and
// holds up nothing that is started elsewhere.
func (s *storm) startAll(ctx context.Context) <-chan error {
	s.released = make(chan *fleet.Play, len(s.work.Plays))
	ended := make(chan error, 1)
	each := map[*fleet.Site]chan *fleet.Play{}
	failed := make(chan error, len(fleet.Names))
	for _, at := range s.network.Sites {
		plays := make(chan *fleet.Play, len(s.work.Plays))
		each[at] = plays
		go func() {
			var err error
			for p := range plays {
				if err == nil {
					err = s.work.StartOne(ctx, p)
				}
			}
			failed <- err
		}()
	}
	go func() {
		for p := range s.released {
			each[s.work.Home(p)] <- p
		}
		var all []error
		for _, plays := range each {
			close(plays)
		}
		for range each {
			all = append(all, <-failed)
		}
		ended <- errors.Join(all...)
	}()
	return ended
}

// askAll asks each site for instances, in the background: what is answered in the midst of
// it fits together all the same. What it gives ends that, and counts.
func (s *storm) askAll(ctx context.Context) (end func() (whole, partly int64)) {
	ctx, cancel := context.WithCancel(ctx)
	var whole, partly atomic.Int64
	var all sync.WaitGroup
	for name, site := range s.network.Sites {
		r := rand.New(rand.NewPCG(uint64(s.seed), uint64(name[0])))
		all.Go(func() {
			for ctx.Err() == nil {
				p := s.work.Plays[r.IntN(len(s.work.Plays))]
				asked, done := context.WithTimeout(ctx, 3*time.Second)
				status, err := site.Client.Status(asked, p.ID)
				done()
				if err != nil {
					continue // down, or it was not started yet
				}
				for _, wrong := range oracle.Misfits(status, p.Process) {
					s.t.Errorf("%s of %s: %s\n%+v", p.ID, p.Process.Name, wrong, status)
				}
				if len(status.Unreachable) > 0 {
					partly.Add(1)
				} else {
					whole.Add(1)
				}
			}
		})
	}
	return func() (int64, int64) {
		cancel()
		all.Wait()
		return whole.Load(), partly.Load()
	}
}

// release lets so many of all instances start, in a hundred: they are started over the
// whole of the storm.
func (s *storm) release(already, part int) int {
	want := min(len(s.work.Plays), len(s.work.Plays)*part/100)
	for ; already < want; already++ {
		s.released <- s.work.Plays[already]
	}
	return already
}

// blow goes by what happens: each time that programs have run some more, a daemon is
// killed, or one that was killed is started, and a link is cut or mended. Where nothing
// runs any more, since all of it waits for what is down, something comes back.
func (s *storm) blow(ctx context.Context) {
	released := 0
	for s.kills < s.killings && ctx.Err() == nil {
		released = s.release(released, 100*(s.kills+1)/s.killings)
		s.disk.rise()
		s.progress(ctx, s.rand.IntN(s.killEvery))
		if len(s.down) > 1 || len(s.down) > 0 && s.rand.IntN(2) == 0 {
			s.bringBack()
		} else {
			s.kill()
		}
		if s.rand.IntN(2) == 0 {
			s.cutOrMend()
		}
	}
	s.release(released, 100)
	close(s.released)
	s.disk.free()
	for len(s.down) > 0 {
		s.bringBack()
	}
	for len(s.cut) > 0 {
		s.mend()
	}
}

// progress waits until programs have made so many attempts more, or for a while.
func (s *storm) progress(ctx context.Context, more int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s.work.Progress(ctx, more)
}

// kill kills a daemon that is up and has answered: one that is killed before it could
// do anything shows nothing. After two kills in a row it is stopped in order: what was
// running at three unclean stops in a row would go in error (P2), as it should.
func (s *storm) kill() {
	site := s.network.sites[fleet.Names[s.rand.IntN(len(fleet.Names))]]
	if !site.Up() {
		return
	}
	site.Answers()
	if s.inRow[site] == 2 {
		site.Stop()
		s.inRow[site] = 0
		s.stops++
	} else {
		site.Kill()
		s.inRow[site]++
		s.kills++
	}
	s.down = append(s.down, site)
}

func (s *storm) bringBack() {
	site := s.down[0]
	s.down = s.down[1:]
	site.Start()
}

func (s *storm) cutOrMend() {
	if len(s.cut) > 3 || len(s.cut) > 0 && s.rand.IntN(2) == 0 {
		s.mend()
		return
	}
	a, b := s.rand.IntN(len(fleet.Names)), s.rand.IntN(len(fleet.Names)-1)
	if b >= a {
		b++
	}
	// Each of the two dials the other: both wires are cut.
	for _, ends := range [][2]string{{fleet.Names[a], fleet.Names[b]}, {fleet.Names[b], fleet.Names[a]}} {
		w := s.network.wires[ends]
		w.Set(faultnet.Faults{Refuse: true})
		w.Cut()
		s.cut = append(s.cut, w)
	}
	s.cuts++
}

// mend mends the link that was cut first.
func (s *storm) mend() {
	for _, w := range s.cut[:2] {
		w.Set(faultnet.Faults{})
	}
	s.cut = s.cut[2:]
}
