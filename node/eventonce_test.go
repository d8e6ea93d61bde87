package node

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/program"
)

const (
	taker = `
process: taker
version: 1
structures:
  Wanted: {key: string, patience: duration}
  Paid: {id: string}
events:
  paid: Paid
  refunded: Paid
input: Wanted
output: Paid
activities:
  take: {node: A, receive: {one_of: [paid, refunded], key: key}, input: Wanted, output: Paid, deadline: {after: patience}}
  late: {node: A, empty: true}
control:
  - take -> late: _TIMEOUT
data:
  - source -> take
  - take -> sink
`
	teller = `
process: teller
version: 1
structures:
  Told: {key: string, id: string}
  Paid: {id: string}
events:
  paid: Paid
input: Told
activities:
  tell: {node: A, send: {event: paid, key: key}, input: Told}
data:
  - source -> tell
`
)

// refunder sends the other event.
var refunder = strings.NewReplacer("teller", "refunder", "paid", "refunded").Replace(teller)

// mortalSite is a site that is killed between any two things that it does, and starts again.
type mortalSite struct {
	*rapid.T
	tasks   *task.World
	control *task.Site
	disk    *memory.Disk
	by      *task.Site
	node    *Node
	lives   byte
	crash   int // in so many steps of what the site does; 0: not

	sent   []sentEvent
	takers []eventTaker
}

type sentEvent struct {
	id, key string
	keep    time.Duration     // 0: as the site has it, which is longer than the story
	number  int               // of the step of the story
	outside *api.EventRequest // nil: a process has sent it
}

type eventTaker struct {
	instance api.InstanceID
	key      string
	number   int
}

// slowly is a disk on which a commit takes time, so that the site can be killed in it.
type slowly struct{}

func (slowly) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{Takes: time.Millisecond} }
func (slowly) Committed(uint64, *store.Batch)          {}
func (slowly) Read([]byte) error                       { return nil }

// step lets something happen: false if the site was killed.
func (w *mortalSite) step() bool {
	if !w.tasks.Step() {
		w.Fatal("the world stands still", w.tasks.Failure())
	}
	if w.crash == 0 {
		return true
	}
	if w.crash--; w.crash > 0 {
		return true
	}
	w.kill(rapid.Bool().Draw(w.T, "the commit under way is on disk"))
	return false
}

func (w *mortalSite) kill(kept bool) {
	w.by.Kill()
	w.disk.Crash(kept)
	w.node = nil
}

// does has the site do something: false if it was killed before it had.
func (w *mortalSite) does(f func(context.Context)) bool {
	over := false
	w.by.Go(func() {
		f(context.Background())
		over = true
	})
	for !over {
		if !w.step() {
			return false
		}
	}
	return true
}

// up starts the site, as often as that takes.
func (w *mortalSite) up() {
	for w.node == nil {
		w.lives++
		w.by = w.tasks.NewSite(0)
		w.does(func(context.Context) {
			engine, err := w.disk.Open(memory.Options{By: w.by, Faults: slowly{}})
			if err != nil {
				w.Error(err)
				return
			}
			registry, err := program.NewRegistry(nil, program.Options{})
			if err != nil {
				w.Error(err)
				return
			}
			n, err := Open(Options{Name: "A", Engine: engine, Registry: registry, Scheduler: w.by, Log: zerolog.Nop(), Random: rand.NewChaCha8([32]byte{w.lives})})
			if err != nil {
				w.Error(err)
				return
			}
			n.Launch()
			w.node = n
		})
	}
}

// surely has the site do something that may be repeated, until it has.
func (w *mortalSite) surely(f func(context.Context, *Node) error) {
	for {
		w.up()
		var err error
		if w.does(func(ctx context.Context) { err = f(ctx, w.node) }) {
			if err != nil {
				w.Fatal(err)
			}
			return
		}
	}
}

// pass lets time go by.
func (w *mortalSite) pass(d time.Duration) {
	over := false
	w.control.AfterFunc(d, func() { over = true })
	for !over {
		if !w.step() {
			w.up()
		}
	}
}

func (w *mortalSite) start(process string, input map[string]string) api.InstanceID {
	text, err := json.Marshal(input)
	if err != nil {
		w.Fatal(err)
	}
	id := uuid.UUID{15: byte(len(w.sent)), 14: byte(len(w.takers)), 13: process[2], 6: 0x70, 8: 0x80}
	w.surely(func(ctx context.Context, n *Node) error {
		_, err := n.Start(ctx, api.StartRequest{Instance: id, Process: process, Input: text})
		return err
	})
	return id
}

// send has an event sent, by a process or from outside.
func (w *mortalSite) send(e sentEvent) {
	by := rapid.SampledFrom([]string{"teller", "refunder", "paid", "refunded"}).Draw(w.T, "by")
	if by == "teller" || by == "refunder" {
		w.start(by, map[string]string{"key": e.key, "id": e.id})
	} else {
		e.outside = &api.EventRequest{Event: by, Key: e.key, ID: e.id, Data: json.RawMessage(`{"id": "` + e.id + `"}`)}
		if e.keep = time.Duration(rapid.IntRange(0, 10).Draw(w.T, "kept for minutes")) * time.Minute; e.keep > 0 {
			e.outside.Keep = e.keep.String()
		}
		w.sends(e.outside)
	}
	w.sent = append(w.sent, e)
}

// sends has an event sent from outside; nil: there is none.
func (w *mortalSite) sends(r *api.EventRequest) {
	if r == nil {
		return
	}
	w.surely(func(ctx context.Context, n *Node) error {
		_, err := n.SendEvent(ctx, *r)
		return err
	})
}

// act is one step of a story.
func (w *mortalSite) act(number int) {
	key := rapid.SampledFrom([]string{"x", "y"}).Draw(w.T, "key")
	switch rapid.IntRange(0, 7).Draw(w.T, "step") {
	case 0, 1:
		w.send(sentEvent{id: fmt.Sprint("e", len(w.sent)), key: key, number: number})
	case 2, 3:
		patience := rapid.SampledFrom([]string{"2m", "1000h"}).Draw(w.T, "patience")
		w.takers = append(w.takers, eventTaker{w.start("taker", map[string]string{"key": key, "patience": patience}), key, number})
	case 4: // somebody repeats one, which may have been taken
		if len(w.sent) == 0 {
			return
		}
		if e := rapid.SampledFrom(w.sent).Draw(w.T, "again"); e.keep == 0 { // it is remembered as long as it is kept
			w.sends(e.outside)
		}
	case 5:
		w.pass(time.Duration(rapid.IntRange(1, 300).Draw(w.T, "seconds")) * time.Second)
	default:
		w.crash = rapid.IntRange(1, 300).Draw(w.T, "is killed in")
	}
}

// took says which takers have which event, and which still wait.
func (w *mortalSite) took() (took map[string]int, waiting []eventTaker) {
	took = map[string]int{}
	for _, t := range w.takers {
		var s api.Status
		w.surely(func(ctx context.Context, n *Node) (err error) {
			s, err = n.Status(ctx, t.instance)
			return err
		})
		var paid struct{ ID string }
		switch {
		case s.State == api.InstanceRunning:
			waiting = append(waiting, t)
		case s.State != api.InstanceFinished || json.Unmarshal(s.Output, &paid) != nil:
			w.Fatalf("%s is %s with %s", t.instance, s.State, s.Output)
		case paid.ID != "": // else its deadline has come
			took[paid.ID]++
		}
	}
	return took, waiting
}

// N24: whenever the site is killed, each event is given to one receive at most, and none is lost: one that nothing has
// received is kept as long as it may be and no longer, and not beside a receive that waits for it, nor did it expire beside one.
func TestN24EachEventIsGivenOnce(t *testing.T) {
	upload := []api.UploadRequest{apitest.Upload(t, taker), apitest.Upload(t, teller), apitest.Upload(t, refunder)}
	rapid.Check(t, func(rt *rapid.T) {
		w := &mortalSite{T: rt, tasks: task.NewWorld(rapid.Uint64().Draw(rt, "seed"), dawn), disk: memory.NewDisk("A")}
		w.control = w.tasks.NewSite(0)
		defer func() { // nothing of it runs on
			if w.node != nil {
				w.kill(false)
			}
			w.control.Kill()
		}()
		for _, u := range upload {
			w.surely(func(ctx context.Context, n *Node) error {
				_, err := n.Upload(ctx, u)
				return err
			})
		}
		steps := rapid.IntRange(1, 25).Draw(rt, "steps")
		for number := range steps {
			w.act(number)
		}
		w.pass(time.Hour)
		w.crash = 0
		took, waiting := w.took()
		var list api.EventsAnswer
		w.surely(func(ctx context.Context, n *Node) (err error) {
			list, err = n.Events(ctx, api.EventsRequest{Limit: 1000})
			return err
		})
		for _, e := range w.sent {
			kept := 0
			for _, k := range list.Events {
				if k.State == api.EventStored && string(k.Data) == `{"id":"`+e.id+`"}` {
					kept++
				}
			}
			if n := took[e.id]; n > 1 || n+kept > 1 || (n+kept == 0) != (n == 0 && e.keep > 0) {
				rt.Errorf("%s was received %d times, and is kept %d times", e.id, n, kept)
			}
			beside := slices.ContainsFunc(waiting, func(t eventTaker) bool { return t.key == e.key && (kept > 0 || t.number < e.number) })
			if took[e.id] == 0 && beside {
				rt.Errorf("%s was not received (kept: %t), and a receive waits for it", e.id, kept > 0)
			}
		}
	})
}
