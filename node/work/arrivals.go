package work

import (
	"context"
	"sync"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/worklist"
)

// Who claims an item of another node is told that it is his once this node has that on disk as well (N27): home tells it in a
// message, which follows its answer. Else he could be told so, and this node, which does not know it yet or was started
// anew, would take his next word for that of somebody who has nothing, and have what it gives up given back.

// arrivalPatience is how long it is waited for what home has said already.
const arrivalPatience = 10 * time.Second

// arrivals are those who wait for that. It is safe for concurrent use.
type arrivals struct {
	mu sync.Mutex
	of map[worklist.Key]map[*arrival]bool
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
		if i == nil || i.By.Person == a.person && (i.Asked == a.word || i.Claim > a.claim) {
			a.came.Give(struct{}{})
		}
	}
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

// arrived waits until it has come; an error says that it has not.
func (d *Desk) arrived(ctx context.Context, i *worklist.Item, a *arrival) error {
	if now, there := d.list.Of(i.Key); there {
		d.arrivals.tell(i.Key, &now)
	} else {
		d.arrivals.tell(i.Key, nil)
	}
	ctx, cancel := d.Scheduler.WithTimeout(ctx, arrivalPatience)
	defer cancel()
	if _, _, err := a.came.Wait(ctx); err == nil {
		return nil
	}
	return api.Errorf(api.CodeUnreachable, "see fmqm work list, and ask again",
		"%s has said that it gives it to %s, and is not heard since: not claimed; if it gives the item all the same, that is given back", i.Home.Node, a.person)
}
