package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/staff"
)

const (
	clerks       = 1000
	offeredItems = 100_000
	// fewOffered is of how many items the yardstick is: what a page costs that has nothing behind it.
	fewOffered = 100
	// askingClerks look at their worklists.
	askingClerks = 200
	pageOfItems  = 50
	claimant     = clerks - 1 // who claims
)

// clerk is a person's name.
func clerk(n int) string { return fmt.Sprint("p", n%clerks) }

// staffOf is a thousand people of a site, all with one role.
func staffOf(node string) (*staff.Staff, error) {
	role := []staff.Word{{Text: "clerk"}}
	d := staff.Draft{Roles: role}
	for n := range clerks {
		d.People = append(d.People, staff.DraftPerson{Name: staff.Word{Text: clerk(n)}, Roles: role})
	}
	s, problems := d.Check(staff.Site{Node: processtable.NodeID(node)})
	if len(problems) > 0 {
		return nil, errors.New(problems[0].What)
	}
	return s, nil
}

// offers is a process of one manual activity.
func offers(who, more string) string {
	return head + "  pick: {node: A, staff: '" + who + "', input: Order" + more + "}\ndata: [source -> pick]\n"
}

// worklists: what people see and say where a hundred thousand items are offered to a thousand of them; where the same may have all
// of them, and where the expression differs from item to item.
func worklists(ctx context.Context, d time.Duration) ([]figure, error) {
	write, err := writeTime(ctx, d)
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, w := range []struct{ name, who string }{
		{"100,000 items that 1,000 people may have", `role("clerk")`},
		{"100,000 items, each but for one of 1,000 people", `role("clerk") && !person(customer)`},
	} {
		figures, err := onOneSite(ctx, offers(w.who, ""), func(s *site) ([]figure, error) { return s.worked(ctx, w.name, write) })
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	figures, err := claimedElsewhere(ctx, write)
	return append(all, figures...), err
}

// worked measures with few items, and then with many.
func (s *site) worked(ctx context.Context, name string, write time.Duration) ([]figure, error) {
	people, err := staffOf("A")
	if err != nil {
		return nil, err
	}
	s.node.SetStaff(people)
	if err := s.offer(ctx, fewOffered, s); err != nil {
		return nil, err
	}
	var few time.Duration
	for range 2 { // the first time much else is done for the first time
		if few, err = s.look(ctx, clerks-askingClerks); err != nil {
			return nil, err
		}
	}
	begun, cpu := time.Now(), cpuTime()
	if err := s.offer(ctx, offeredItems-fewOffered, s); err != nil {
		return nil, err
	}
	took, used := time.Since(begun), cpuTime()-cpu
	many, err := s.look(ctx, 0)
	if err != nil {
		return nil, err
	}
	again, err := s.look(ctx, 0)
	if err != nil {
		return nil, err
	}
	claim, err := s.claims(ctx, s)
	return []figure{
		{Name: name + ": offered", Value: (offeredItems - fewOffered) / took.Seconds(), Unit: "items/s"},
		{Name: "  CPU of one", Value: micros(used) / (offeredItems - fewOffered), Unit: "µs"},
		(figure{Name: "  first page of one who has not looked before", Value: millis(many), Unit: "ms", Goal: "under 10"}).against("ms with 100 items", millis(few)),
		(figure{Name: "  once more", Value: millis(again), Unit: "ms", Goal: "under 10"}).against("ms with 100 items", millis(few)),
		{Name: "  a claim", Value: claim.writes, Unit: "durable writes", Goal: "at most 3"},
		(figure{Name: "    time of it", Value: micros(claim.took), Unit: "µs"}).against("µs for a durable write", micros(write)),
		{Name: "    CPU of it", Value: micros(claim.cpu), Unit: "µs"},
	}, err
}

// offer starts n instances, each for another customer, and waits until the items of all are offered at a site.
func (s *site) offer(ctx context.Context, n int64, at *site) error {
	offered := at.offered.reached(n)
	first := at.offered.count.Load()
	var next atomic.Int64
	err := parallel(64, func() error {
		for i := next.Add(1); i <= n; i = next.Add(1) {
			r := api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "bench", Input: fmt.Appendf(nil, `{"customer": %q}`, clerk(int(first+i)))}
			if err := s.node.Begin(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		<-offered
		err = at.shows(ctx, api.WorkRequest{Limit: fewOffered}, fewOffered) // each is shown a little later than it is noted
	}
	return err
}

// as is the context of a request that a clerk of the site makes.
func (s *site) as(ctx context.Context, n int) context.Context {
	return api.WithCaller(ctx, api.Caller{Name: clerk(n) + "@" + string(s.node.Name()), Person: clerk(n)})
}

// look is the median time of the first page of some people's worklists, from one on.
func (s *site) look(ctx context.Context, from int) (time.Duration, error) {
	var took []time.Duration
	for n := from; n < from+askingClerks; n++ {
		at := time.Now()
		page, err := s.node.Work(s.as(ctx, n), api.WorkRequest{Limit: pageOfItems})
		if err != nil {
			return 0, err
		}
		if len(page.Items) != pageOfItems {
			return 0, fmt.Errorf("the worklist of %s has %d items", clerk(n), len(page.Items))
		}
		took = append(took, time.Since(at))
	}
	return median(took), nil
}

// claim is what one costs.
type claim struct {
	writes float64 // at all sites that have to do with it
	took   time.Duration
	cpu    time.Duration
}

// claims has somebody of this site claim items, one after the other, at sites that are idle.
func (s *site) claims(ctx context.Context, sites ...*site) (c claim, err error) {
	var items []string
	page, err := s.node.Work(s.as(ctx, claimant), api.WorkRequest{Limit: fewOffered})
	if err != nil {
		return c, err
	}
	for i := range page.Items {
		items = append(items, page.Items[i].Item)
	}
	var took []time.Duration
	before, cpu := commits(sites), cpuTime()
	for i, item := range items {
		at := time.Now()
		if _, err := s.node.SayWork(s.as(ctx, claimant), item, api.WorkClaim, api.WorkWord{}); err != nil {
			return c, err
		}
		took = append(took, time.Since(at))
		if len(sites) > 1 { // else what home tells of one claim would share a write with what it tells of the next
			if err := s.shows(ctx, api.WorkRequest{Claimed: true, Limit: fewOffered}, i+1); err != nil {
				return c, err
			}
		}
	}
	n := len(items)
	return claim{
		writes: float64(commits(sites)-before) / float64(n), took: median(took), cpu: (cpuTime() - cpu) / time.Duration(n),
	}, nil
}

// shows waits until so many items are shown to a clerk.
func (s *site) shows(ctx context.Context, r api.WorkRequest, want int) error {
	for {
		page, err := s.node.Work(s.as(ctx, claimant), r)
		if err != nil || len(page.Items) == want {
			return err
		}
	}
}

// commits is how many durable writes there were at some sites.
func commits(sites []*site) (all uint64) {
	for _, s := range sites {
		if stats, err := s.node.Stats(); err == nil {
			all += stats.Queue.Commits
		}
	}
	return all
}

// claimedElsewhere claims what one site offers the people of another one.
func claimedElsewhere(ctx context.Context, write time.Duration) ([]figure, error) {
	return onTwoSites(ctx, offers(`role("clerk")`, ", offered_at: [B]"), func(a, b *site) ([]figure, error) {
		people, err := staffOf("B")
		if err != nil {
			return nil, err
		}
		b.node.SetStaff(people)
		if err := a.offer(ctx, fewOffered, b); err != nil {
			return nil, err
		}
		c, err := b.claims(ctx, a, b)
		return []figure{
			{Name: "a claim of another site's item", Value: c.writes, Unit: "durable writes", Goal: "at most 6"},
			(figure{Name: "  time of it", Value: micros(c.took), Unit: "µs"}).against("µs for a durable write", micros(write)),
		}, err
	})
}

func millis(d time.Duration) float64 { return micros(d) / 1000 }
