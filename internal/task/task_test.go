package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/internal/task"
)

// both runs f as the first task of a site, in a daemon's way and in a world's.
func both(t *testing.T, f func(t *testing.T, by task.Scheduler)) {
	t.Run("goroutines", func(t *testing.T) { f(t, task.Goroutines{}) })
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			w := task.NewWorld(seed, time.Unix(0, 0))
			s := w.NewSite(0)
			ended := false
			s.Go(func() {
				f(t, s)
				ended = true
			})
			for w.Step() {
			}
			if err := w.Failure(); err != nil {
				t.Fatal(err)
			}
			if !ended {
				t.Fatal("nothing happens any more, and the first task has not ended")
			}
		})
	}
}

// A ring while nobody waits is kept, once.
func TestABellKeepsOneRing(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		b, other := by.Bell(), by.Bell()
		b.Ring()
		b.Ring()
		ctx, cancel := by.WithCancel(context.Background())
		if i, err := by.Wait(ctx, other, b); i != 1 || err != nil {
			t.Errorf("Wait = %d, %v", i, err)
		}
		cancel()
		if i, err := by.Wait(ctx, other, b); i != -1 || !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %d, %v: the second ring was kept too", i, err)
		}
	})
}

// Each ring wakes one of those who wait.
func TestEachRingWakesOne(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		b, got := by.Bell(), task.NewQueue[int](by, 0)
		for i := range 3 {
			by.Go(func() {
				if _, err := by.Wait(context.Background(), b); err != nil {
					t.Error(err)
				}
				got.TryPut(i)
			})
		}
		for range 3 {
			b.Ring()
			if _, err := got.Take(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A gate lets all through, also those who come later.
func TestAGateStaysOpen(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		g, all := by.Gate(), task.NewGroup(by)
		for range 3 {
			all.Go(func() { _, _ = by.Wait(context.Background(), by.Bell(), by.Bell(), g) })
		}
		if g.IsOpen() {
			t.Error("it is open before Open")
		}
		g.Open()
		if err := all.Wait(context.Background()); err != nil || !g.IsOpen() {
			t.Error(err)
		}
		if i, err := by.Wait(context.Background(), g); i != 0 || err != nil {
			t.Errorf("Wait = %d, %v", i, err)
		}
	})
}

// A context ends those who wait under it, and under those made of it; and no other.
func TestEndsOfContexts(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		above, end := by.WithCancel(context.Background())
		below, release := by.WithTimeout(above, time.Hour)
		defer release()
		short, free := by.WithTimeout(above, time.Millisecond)
		defer free()
		if _, err := by.Wait(short); !errors.Is(err, context.DeadlineExceeded) || above.Err() != nil || below.Err() != nil {
			t.Errorf("after the time: %v, above %v, beside %v", err, above.Err(), below.Err())
		}
		told := by.Gate()
		by.AfterEnd(below, told.Open)
		prevented := by.AfterEnd(below, func() { t.Error("called, although stopped") })
		if !prevented() || prevented() {
			t.Error("the first stop prevents it, the second does not")
		}
		by.Go(end)
		if _, err := by.Wait(below); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		if i, err := by.Wait(context.Background(), told); i != 0 || err != nil {
			t.Errorf("Wait = %d, %v", i, err)
		}
		if _, err := by.Wait(context.WithValue(below, "a", "b"), by.Bell()); !errors.Is(err, context.Canceled) { //nolint:staticcheck // any key will do
			t.Errorf("with a value: %v", err)
		}
	})
}

// How long is left does not depend on what the clock is set to, and is the nearest end's.
func TestHowLongIsLeft(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		if _, ok := by.Left(context.Background()); ok {
			t.Error("a context without end has a deadline")
		}
		above, release := by.WithTimeout(context.Background(), time.Minute)
		defer release()
		if s, ok := by.(*task.Site); ok {
			s.SetClock(-time.Hour)
		}
		below, free := by.WithTimeout(above, time.Hour)
		defer free()
		within, end := by.WithCancel(context.WithValue(below, "a", "b")) //nolint:staticcheck // any key will do
		defer end()
		if left, ok := by.Left(within); !ok || left > time.Minute || left < time.Minute/2 {
			t.Errorf("left = %v, %t", left, ok)
		}
	})
}

// Values come out in their order, and none twice, however puts and takes alternate; what is
// pushed does not wait for room.
func TestTheOrderOfAQueue(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		q, put, taken := task.NewQueue[int](by, 5), 0, 0
		for round := range 200 {
			for range round % 7 {
				if q.TryPut(put) {
					put++
				}
			}
			if round%3 == 0 {
				q.Push(put)
				put++
			}
			for range round % 6 {
				if v, ok := q.TryTake(); ok != (taken < put) || ok && v != taken {
					t.Fatalf("round %d: took %d, %t, where %d is next of %d", round, v, ok, taken, put)
				} else if ok {
					taken++
				}
			}
		}
		if put < 300 {
			t.Errorf("only %d were put", put)
		}
	})
}

// A queue that is closed gives up what it held, and lets nobody wait for room.
func TestAClosedQueue(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		q, all := task.NewQueue[int](by, 2), task.NewGroup(by)
		q.TryPut(1)
		q.TryPut(2)
		for range 3 {
			all.Go(func() {
				if err := q.Put(context.Background(), 3); !errors.Is(err, task.ErrClosed) {
					t.Errorf("Put = %v", err)
				}
			})
		}
		by.Pass()
		if left := q.Close(); !slices.Equal(left, []int{1, 2}) {
			t.Errorf("left = %v", left)
		}
		if err := all.Wait(context.Background()); err != nil || q.Push(4) || q.TryPut(5) {
			t.Error("something was put into a closed queue", err)
		}
		if v, ok := q.TryTake(); ok {
			t.Errorf("took %d of a closed queue", v)
		}
	})
}

func TestAnswersQueuesAndPlaces(t *testing.T) {
	both(t, func(t *testing.T, by task.Scheduler) {
		a := task.NewAnswer[int](by)
		by.Go(func() { a.Give(7); a.Give(8) })
		if v, which, err := a.Wait(context.Background(), by.Bell()); v != 7 || which != -1 || err != nil {
			t.Errorf("Wait = %d, %d, %v", v, which, err)
		}
		other := by.Bell()
		other.Ring()
		if _, which, err := task.NewAnswer[int](by).Wait(context.Background(), by.Bell(), other); which != 1 || err != nil {
			t.Errorf("Wait = %d, %v", which, err)
		}

		q, all := task.NewQueue[int](by, 2), task.NewGroup(by)
		for i := range 50 {
			all.Go(func() {
				if err := q.Put(context.Background(), i); err != nil {
					t.Error(err)
				}
			})
		}
		sum := 0
		for range 50 {
			v, err := q.Take(context.Background())
			if err != nil {
				t.Error(err)
			}
			sum += v
		}
		if sum != 49*50/2 {
			t.Errorf("sum = %d", sum)
		}

		p, in, most := task.NewPlaces(by, 2), 0, 0
		var mu sync.Mutex
		for range 20 {
			all.Go(func() {
				if err := p.Acquire(context.Background()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				in++
				most = max(most, in)
				mu.Unlock()
				by.Pass()
				mu.Lock()
				in--
				mu.Unlock()
				p.Release()
			})
		}
		if err := all.Wait(context.Background()); err != nil || most > 2 || !p.TryAcquire() || !p.TryAcquire() || p.TryAcquire() {
			t.Errorf("%v, %d at once", err, most)
		}
	})
}

// What a world does is a matter of its seed.
func TestASeedGivesOneOrder(t *testing.T) {
	run := func(seed uint64) string {
		w := task.NewWorld(seed, time.Unix(0, 0))
		var log strings.Builder
		for site := range 3 {
			s := w.NewSite(0)
			b := s.Bell()
			for i := range 5 {
				s.Go(func() {
					for range 4 {
						_, _ = s.Wait(context.Background(), b)
						fmt.Fprintf(&log, "%d.%d at %v\n", site, i, s.Now().Nanosecond())
						s.Pass()
					}
				})
				s.AfterFunc(time.Duration(i), b.Ring)
			}
		}
		for w.Step() {
		}
		return log.String()
	}
	orders := map[string]bool{}
	for seed := range uint64(10) {
		first, second := run(seed), run(seed)
		orders[first] = true
		if first != second {
			t.Errorf("seed %d gives two orders", seed)
		}
	}
	if len(orders) < 5 {
		t.Errorf("ten seeds give %d orders", len(orders))
	}
}

// A site that is killed goes on nowhere: neither what waits, nor what is ready, nor a timer;
// what was to be done last of all is done. Others go on, also the one that takes a ring which
// a killed task was woken for.
func TestAKilledSite(t *testing.T) {
	w := task.NewWorld(1, time.Unix(0, 0))
	dead, alive := w.NewSite(0), w.NewSite(time.Hour)
	bell := alive.Bell()
	deferred, rung := 0, false
	for range 3 {
		dead.Go(func() {
			defer func() { deferred++ }()
			_, _ = dead.Wait(context.Background(), bell)
			t.Error("a task of a killed site goes on")
		})
	}
	dead.AfterFunc(time.Minute, func() { t.Error("a timer of a killed site fires") })
	alive.Go(func() {
		if err := task.Sleep(context.Background(), alive, time.Second); err != nil {
			t.Error(err)
		}
		alive.Go(func() {
			_, _ = alive.Wait(context.Background(), bell)
			rung = true
		})
		if err := task.Sleep(context.Background(), alive, time.Second); err != nil {
			t.Error(err)
		}
		bell.Ring() // wakes one of the dead
		dead.Kill()
		dead.Go(func() { t.Error("something begins at a killed site") })
	})
	for w.Step() {
	}
	if w.Failure() != nil || deferred != 3 || !rung {
		t.Errorf("failure %v, %d deferred calls, rung %t", w.Failure(), deferred, rung)
	}
	if got := alive.Now(); !got.Equal(time.Unix(3602, 0)) {
		t.Errorf("the clock is at %v", got)
	}
}

// A site may be killed by a task of its own, as it does where it writes.
func TestATaskKillsItsSite(t *testing.T) {
	w := task.NewWorld(1, time.Unix(0, 0))
	s := w.NewSite(0)
	deferred := false
	s.Go(func() { _, _ = s.Wait(context.Background(), s.Bell()); t.Error("goes on") })
	s.Go(func() {
		defer func() { deferred = true }()
		s.Pass()
		s.Kill()
		t.Error("Kill returns")
	})
	for w.Step() {
	}
	if w.Failure() != nil || !deferred {
		t.Error(w.Failure(), deferred)
	}
}

// What panics is told with its place, and nothing goes on.
func TestAPanicIsTold(t *testing.T) {
	w := task.NewWorld(1, time.Unix(0, 0))
	s := w.NewSite(0)
	s.Go(func() { panic("oh") })
	for w.Step() {
	}
	if err := w.Failure(); err == nil || !strings.Contains(err.Error(), "task_test.go") {
		t.Error(err)
	}
	s.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, _ = s.Wait(ctx)
	})
	w = task.NewWorld(1, time.Unix(0, 0))
	s = w.NewSite(0)
	s.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, _ = s.Wait(ctx)
	})
	for w.Step() {
	}
	if err := w.Failure(); err == nil || !strings.Contains(err.Error(), "another making") {
		t.Error(err)
	}
}

// handClock is a clock of a test: it stands still, and keeps what is to be done later.
type handClock struct{ later []func() }

func (*handClock) Now() time.Time { return time.Unix(7, 0) }

func (c *handClock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.later = append(c.later, f)
	return func() bool { return true }
}

// Goroutines tell the time, and wait for it to pass, by the clock that they are given.
func TestGoroutinesByAClock(t *testing.T) {
	clock := &handClock{}
	by := task.Goroutines{Clock: clock}
	if !by.Now().Equal(time.Unix(7, 0)) {
		t.Errorf("it is %v", by.Now())
	}
	over := by.Gate()
	by.AfterFunc(time.Hour, over.Open)
	clock.later[0]()
	if _, err := by.Wait(t.Context(), over); err != nil {
		t.Error(err)
	}
}
