package broker

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/faultnet"
	"fmqm/test/fleet"
)

const (
	apartFan    = 250 // messages that an instance sends to the other site
	apartThere  = 400 // instances at A: 100,000 messages for B
	apartBack   = 80  // instances at B: 20,000 messages for A
	apartBytes  = 500 // of each message
	apartMoved  = apartFan * (apartThere + apartBack)
	apartBeside = 10 // instances of other sites that have to end while A and B catch up

	// What a daemon may grow by, over one that has just begun. What waits has 60 MB.
	apartGrowth = 320 << 20
)

// apartInput is that of all instances here.
var apartInput = fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", apartBytes))

// apartDefinitions are a fan from A to B, one from B to A, and work between the others.
func apartDefinitions() string {
	fan := func(name, from, to string) string {
		var activities, control, data strings.Builder
		for i := range apartFan {
			fmt.Fprintf(&activities, "  s%d: {node: %s, empty: true, input: Note, output: Note}\n", i, from)
			fmt.Fprintf(&control, "  - s%d -> over\n", i)
			fmt.Fprintf(&data, "  - source -> s%d\n  - s%d -> over\n", i, i)
		}
		return fmt.Sprintf("process: %s\nversion: 1\nstructures:\n  Note: {text: string}\ninput: Note\noutput: Note\nactivities:\n"+
			"  over: {node: %s, program: pass, input: Note, output: Note}\n%scontrol:\n%sdata:\n  - over -> sink\n%s---\n",
			name, to, activities.String(), control.String(), data.String())
	}
	return fan("there", "A", "B") + fan("back", "B", "A") + `process: beside
version: 1
structures:
  Note: {text: string}
input: Note
output: Note
activities:
  one: {node: C, program: pass, input: Note, output: Note}
  two: {node: A, program: pass, input: Note, output: Note}
  three: {node: D, program: pass, input: Note, output: Note}
control:
  - one -> two
  - two -> three
data:
  - source -> one
  - one -> two
  - two -> three
  - three -> sink
`
}

// apart is two sites that do not meet.
type apart struct {
	*trial
	a, b, c *fleet.Site
	empty   map[*fleet.Site]int // memory of a daemon that has just begun
	most    map[*fleet.Site]int // and the most since, over that
}

// instance starts one, however often that has to be asked.
func (p *apart) instance(at *fleet.Site, process string) uuid.UUID {
	p.t.Helper()
	id := uuid.Must(uuid.NewV7())
	p.do(fleet.Until(p.ctx, func() (bool, error) {
		_, err := at.Client.Start(p.ctx, api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(apartInput)})
		if err != nil && api.CodeOf(err) == api.CodeUnreachable {
			return false, nil
		}
		return true, err
	}))
	return id
}

// finish waits until an instance has finished, with the output that it has to have.
func (p *apart) finish(at *fleet.Site, id uuid.UUID) {
	p.t.Helper()
	var status api.Status
	p.do(fleet.Until(p.ctx, func() (ended bool, err error) {
		status, err = at.Client.Wait(p.ctx, id, fleet.Patience)
		if err != nil && api.CodeOf(err) == api.CodeUnreachable {
			return false, nil
		}
		return status.State != api.InstanceRunning, err
	}))
	if status.State != api.InstanceFinished || string(status.Output) != apartInput {
		p.t.Fatalf("%s is %s %s, with the output %s", id, status.State, status.Reason, status.Output)
	}
}

// look notes how much memory A and B have of their own.
func (p *apart) look() {
	p.t.Helper()
	for _, site := range []*fleet.Site{p.a, p.b} {
		p.most[site] = max(p.most[site], rssAnon(p.t, site)-p.empty[site])
	}
}

// beside runs instances of the other sites, one after the other, as long as it is told
// to go on, and gives how many have ended in what time.
func (p *apart) beside(goOn func(ended int) bool) (ended int, took time.Duration) {
	p.t.Helper()
	began := time.Now()
	for goOn(ended) {
		p.finish(p.c, p.instance(p.c, "beside"))
		p.look()
		ended++
	}
	return ended, time.Since(began)
}

// rssAnon is the memory of a daemon that is its own: not that of mapped files.
func rssAnon(t *testing.T, s *fleet.Site) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the system says nothing of RssAnon")
	return 0
}

// Two sites that have not met for long have 100,000 messages one way and 20,000 the other
// between them. When they meet again they catch up, in frames of many messages and in
// bounded memory, while instances of the other sites, and some that pass through one of
// the two, begin and end. Half of the 200 instances begin while the two are apart.
func TestTwoSitesThatHaveNotMetForLong(t *testing.T) {
	r := newTrial(t, options{seed: 75, programs: []string{"pass: {builtin: echo}"}}, 1)
	p := &apart{trial: r, a: r.fleet.Sites["A"], b: r.fleet.Sites["B"], c: r.fleet.Sites["C"], empty: map[*fleet.Site]int{}, most: map[*fleet.Site]int{}}
	p.a.Upload(apartDefinitions())
	for _, site := range []*fleet.Site{p.a, p.b} {
		p.empty[site] = rssAnon(t, site)
	}

	r.proxies["B"].Set(faultnet.Faults{Refuse: true})
	r.proxies["B"].Cut()
	there, back := make([]uuid.UUID, apartThere), make([]uuid.UUID, apartBack)
	for i := range there {
		there[i] = p.instance(p.a, "there")
	}
	for i := range back {
		back[i] = p.instance(p.b, "back")
	}
	r.start(r.share)
	r.fleet.Until(r.ctx, "all messages wait", func() bool {
		p.look()
		return p.waiting(p.a, "B") >= apartFan*apartThere && p.waiting(p.b, "A") >= apartFan*apartBack
	})
	// Memory is looked at in daemons that have not made what waits: what they have, they hold.
	for _, site := range []*fleet.Site{p.a, p.b} {
		site.Stop()
		site.Start()
		site.Answers()
	}
	clear(p.most)
	held := map[*fleet.Site]int{p.a: p.waiting(p.a, "B"), p.b: p.waiting(p.b, "A")}
	alone, aloneTook := p.beside(func(ended int) bool { return ended < apartBeside })
	apartMost := fmt.Sprintf("A %d MiB, B %d MiB", p.most[p.a]>>20, p.most[p.b]>>20)

	before, _ := r.counted()
	r.proxies["B"].Set(faultnet.Faults{})
	r.fleet.Until(r.ctx, "the two meet", func() bool { return p.waiting(p.a, "B") < held[p.a] })
	r.faults++
	met := time.Now()
	clear(p.most)
	ended, took := p.beside(func(int) bool { return p.waiting(p.a, "B") > apartFan })
	r.fleet.Until(r.ctx, "the two have caught up", func() bool {
		p.look()
		return p.waiting(p.a, "B") == 0 && p.waiting(p.b, "A") == 0
	})
	caughtUp := time.Since(met)
	after, _ := r.counted()
	for _, id := range there {
		p.finish(p.a, id)
	}
	for _, id := range back {
		p.finish(p.b, id)
	}

	t.Logf("%d and %d messages waited, memory over that at the start at most %s; caught up in %s, %.0f a second, by %d messages at the broker, at most A %d MiB, B %d MiB; "+
		"instances beside: %.1f a second before, %.1f a second meanwhile",
		held[p.a], held[p.b], apartMost, caughtUp.Round(time.Millisecond), float64(held[p.a]+held[p.b])/caughtUp.Seconds(), after-before, p.most[p.a]>>20, p.most[p.b]>>20,
		float64(alone)/aloneTook.Seconds(), float64(ended)/took.Seconds())
	if ended < apartBeside {
		t.Errorf("%d instances of other sites ended while A and B caught up, want %d", ended, apartBeside)
	}
	for site, grown := range p.most {
		if grown > apartGrowth {
			t.Errorf("%s grew by %d MiB while A and B caught up, want at most %d", site.Name, grown>>20, apartGrowth>>20)
		}
	}
	if after-before > apartMoved/4 {
		t.Errorf("%d messages at the broker for %d between the sites: they do not travel together", after-before, apartMoved)
	}
	r.end("two sites apart")
}
