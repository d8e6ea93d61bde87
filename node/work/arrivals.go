package work

import (
	"context"
	"sync"
	"time"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/worklist"
)

// Who claims an item of another node is told that it is his once this node has that on disk as well (N27): home tells it in a
// message, which follows its answer. Else this node, which does not know it yet or was started anew, would take his next
// word for that of somebody who has nothing, and have what it gives up given back. On a slow line the message may stand behind much
// else: then he is told before, and until it comes this node has it in memory that he has the item.

// arrivalPatience is how long it is waited for what home has said already.
const arrivalPatience = 2 * time.Second

// arrivals are those who wait for that, and those who were told before. It is safe for concurrent use.
type arrivals struct {
	mu   sync.Mutex
	of   map[worklist.Key]map[*arrival]bool
	told map[worklist.Key]*arrival
}

// arrival is what one waits for: that he has the item, by his word or under a later claim than he saw.
type arrival struct {
	person string
	word   message.WordID
	claim  uint64
	came   *task.Answer[struct{}]
}

// tell says how an item is now; nil: it is gone, and nobody can lose it any more.
func (x *arrivals) tell(key worklist.Key, i *worklist.Item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for a := range x.of[key] {
		if a.isIn(i) {
			a.came.Give(struct{}{})
		}
	}
	if a := x.told[key]; a != nil && a.isIn(i) {
		delete(x.told, key)
	}
}

func (a *arrival) isIn(i *worklist.Item) bool {
	return i == nil || i.By.Person == a.person && (i.Asked == a.word || i.Claim > a.claim)
}

// holds says whether somebody was told that he has an item, and it has not come yet.
func (x *arrivals) holds(key worklist.Key, person string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.told[key]
	return a != nil && a.person == person
}

// forget: home has done what somebody here has said of an item, who may have had it.
func (x *arrivals) forget(key worklist.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.told, key)
}

// expect begins to wait, before home is asked: what it says may come before its answer.
func (d *Desk) expect(i *worklist.Item, o *command.WorkOrder) (a *arrival, end func()) {
	a = &arrival{person: o.Person, word: o.Word, claim: i.Claim, came: task.NewAnswer[struct{}](d.Scheduler)}
	x := &d.arrivals
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == nil {
		x.of = map[worklist.Key]map[*arrival]bool{}
	}
	if x.of[i.Key] == nil {
		x.of[i.Key] = map[*arrival]bool{}
	}
	x.of[i.Key][a] = true
	return a, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.of[i.Key], a)
		if len(x.of[i.Key]) == 0 {
			delete(x.of, i.Key)
		}
	}
}

// arrived waits until it has come, or has it in memory that it will.
func (d *Desk) arrived(ctx context.Context, i *worklist.Item, a *arrival) {
	if now, there := d.list.Of(i.Key); there {
		d.arrivals.tell(i.Key, &now)
	} else {
		d.arrivals.tell(i.Key, nil)
	}
	ctx, cancel := d.Scheduler.WithTimeout(ctx, arrivalPatience)
	defer cancel()
	_, _, _ = a.came.Wait(ctx)
	x := &d.arrivals
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, came := a.came.Get(); came {
		return
	}
	if x.told == nil {
		x.told = map[worklist.Key]*arrival{}
	}
	x.told[i.Key] = a
}
