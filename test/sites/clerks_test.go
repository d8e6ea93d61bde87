package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/test/fleet"
)

// Three manual activities, each of another home, all offered at all four sites. What somebody gives is a text
// of his own, so that the end says whose it was.
const counters = `process: counter
version: 1
structures: {Slip: {open: string, check: string, seal: string}}
input: Slip
output: Slip
starts: [A, B, C]
activities:
  open:  {node: A, staff: role("clerk"), offered_at: [A, B, C, D], input: Slip, output: Slip}
  check: {node: B, staff: role("clerk") && !did(open), offered_at: [A, B, C, D], input: Slip, output: Slip}
  seal:  {node: C, staff: role("clerk"), offered_at: [A, B, C, D], input: Slip, output: Slip}
control: [open -> check, check -> seal]
data: [source -> open, open -> check, check -> seal, seal -> sink]
`

// hands are the clerks of each site. No name is twice: four eyes would bar it in doubt.
var hands = map[string][]string{"A": {"ann", "abe"}, "B": {"bob", "bea"}, "C": {"cleo", "carl"}, "D": {"dora", "dan"}}

// office is clerks at four sites who take work from each other, in a storm.
type office struct {
	*storm
	begun    []uuid.UUID // instances, by their order
	at       []string    // where each was started
	restored []string    // the sites that have an older copy of their store
	home     lapse       // what a home has forgotten that is one of them

	mu     sync.Mutex
	said   []saying
	claims map[string]map[uint64]string // who has each claim of an item, as any site showed it
	before map[uuid.UUID]bool           // instances that had begun before a home was restored
	done   atomic.Int64                 // words that were answered with `done`
}

// saying is something that a clerk said about an item, in the order in which he did.
type saying struct {
	person          string
	about           piece
	verb            api.WorkVerb
	text            string // of complete: what he gave
	asked, answered time.Time
	told            told
}

// piece is what an item is of.
type piece struct {
	instance uuid.UUID
	activity string
}

func (p piece) String() string { return p.activity + " of " + p.instance.String() }

// told is what somebody was told of his word.
type told int

const (
	unknown told = iota // whether it was done nobody has said
	yes                 // it was done
	no                  // it was not, and has changed nothing
)

// Clerks at four sites claim, complete, release and pass on the same items at once, while a seeded schedule kills
// daemons with kill -9, homes among them, cuts links, and restores the stores of two, of which one only offers and one is a home. Of each claim one
// person at most is told that it is his; who completed an item had it, and what he gave is what the instance ends with;
// nobody loses what he was told is his, but by the home that has lost it with its store; and at the end all is done,
// and nothing is left on any list nor in any queue.
//
// With FMQM_STORM it is a longer one after the other, as of TestStorm.
func TestStormOfClerks(t *testing.T) {
	fleet.ForLong(t, "FMQM_STORM", 40, func(t *testing.T, seed int) {
		crowd(t, weather{seed: seed, instances: 24, killings: 6, killEvery: 10, limit: fleet.Patience})
	}, func(t *testing.T, seed int) {
		crowd(t, weather{seed: seed, instances: 300, killings: 30, killEvery: 60, limit: 5 * fleet.Patience})
	})
}

// crowd lets a storm go over the clerks, and then looks at what they were told.
func crowd(t *testing.T, w weather) {
	o := newOffice(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), w.limit)
	defer cancel()
	working, home := context.WithCancel(ctx)
	var all sync.WaitGroup
	for site, people := range hands {
		for _, person := range people {
			all.Go(func() { o.works(working, site, person) })
		}
	}
	o.rages(ctx)
	o.network.Connected(ctx)
	ends := o.ended(ctx)
	home()
	all.Wait()
	yours := o.judge(ctx, ends)
	t.Logf("seed %d: %d kills, %d stops, %d cuts; %d words, %d of them done, %d times somebody was told that it is his; %d lost with the store of a home", w.seed, o.kills, o.stops, o.cuts, len(o.said), o.done.Load(), yours, o.lost())
	if yours < 3*w.instances || o.kills < w.killings || len(o.restored) < 2 || o.lost() == 0 {
		t.Error("the storm was too mild")
	}
	o.network.Empty(ctx)
	o.network.Whole()
}

func newOffice(t *testing.T, w weather) *office {
	t.Helper()
	dir, staff := t.TempDir(), map[string]string{}
	for site, people := range hands {
		staff[site] = filepath.Join(dir, site+".yaml")
		text := "roles: [clerk]\npeople:\n"
		for _, person := range people {
			text += "  " + person + ": {roles: [clerk]}\n"
		}
		if err := os.WriteFile(staff[site], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &office{
		storm:  &storm{weather: w, t: t, rand: rand.New(rand.NewPCG(uint64(w.seed), 1)), inRow: map[*site]int{}, network: newNetworkOf(t, setup{staff: staff})},
		claims: map[string]map[uint64]string{}, before: map[uuid.UUID]bool{},
	}
	o.network.Sites["A"].Upload(counters)
	return o
}

// rages starts the instances over the whole of the storm, and goes by what clerks have done meanwhile.
func (o *office) rages(ctx context.Context) {
	for round := 1; o.kills < o.killings && ctx.Err() == nil; round++ {
		o.starts(ctx, o.instances*(o.kills+1)/o.killings)
		o.until(ctx, o.done.Load()+int64(1+o.rand.IntN(o.killEvery)))
		if len(o.down) > 1 || len(o.down) > 0 && o.rand.IntN(2) == 0 {
			o.bringBack()
		} else {
			o.kill()
		}
		if round%2 == 0 {
			o.cutOrMend()
		}
		switch {
		case o.kills >= o.killings/3 && len(o.restored) == 0:
			o.restores(ctx, "D", func() {
				for range 3 {
					o.until(ctx, o.done.Load()+10)
				}
			})
		case o.kills >= 2*o.killings/3 && len(o.restored) == 1:
			o.restoresHome(ctx, "C", "seal")
		}
	}
	o.calms()
	o.starts(ctx, o.instances)
}

// calms has all sites up, and no link cut.
func (o *office) calms() {
	for len(o.down) > 0 {
		o.bringBack()
	}
	for len(o.cut) > 0 {
		o.mend()
	}
}

// restores puts an older copy in the place of the store of a site, and has the others send it what the copy lacks. Its
// people see meanwhile what was offered long ago. It says when the copy was made at the earliest, and until when that went on
// which it lacks: that is what happens meanwhile.
func (o *office) restores(ctx context.Context, name string, meanwhile func()) (copied, stopped time.Time) {
	o.t.Helper()
	o.calms()
	o.restored = append(o.restored, name)
	o.network.Connected(ctx)
	site := o.network.Sites[name]
	copied = time.Now()
	backup := site.Backup(o.t.TempDir())
	meanwhile()
	site.Stop()
	stopped = time.Now()
	if err := os.RemoveAll(site.File("data")); err != nil {
		o.t.Fatal(err)
	}
	fleet.Must(o.t, "fmqmd", "restore", backup, "--data", site.File("data"))
	site.Start()
	site.Answers()
	for _, peer := range fleet.Names {
		if peer != name {
			at := o.network.Sites[peer]
			o.network.Until(ctx, peer+" stops its link to "+name+" because of its store", func() bool {
				l := at.Link(ctx, name)
				if l.State == string(link.StateStopped) && l.Store == "" { // the other side was first to say so, and an operator has it found out here
					_, _ = at.Client.RetryLink(ctx, name)
				}
				return l.State == string(link.StateStopped) && l.Store != ""
			})
		}
	}
	o.rebuilds(name)
	o.network.Connected(ctx)
	return copied, stopped
}

func (o *office) rebuilds(name string) {
	o.t.Helper()
	fleet.Must(o.t, "fmqm", "rebuild", name, "--all", "--yes", "--to", o.network.Sites["A"].To())
}

// restoresHome does that to the home of an activity. Whoever has started instances there repeats that, and they are sent
// what there is of these: see `Rebuild a site` in docs/links.md.
func (o *office) restoresHome(ctx context.Context, name, activity string) {
	o.t.Helper()
	lapse := lapse{activity: activity}
	o.lapses(lapse)
	lapse.copied, lapse.stopped = o.restores(ctx, name, func() {
		before := o.doneOf(activity)
		o.starts(ctx, len(o.begun)+6)
		o.lapses(lapse)                                                                           // these as well
		_ = fleet.Until(ctx, func() (bool, error) { return o.doneOf(activity) >= before+6, nil }) // else the storm is too mild
	})
	o.lapses(lapse)
	for n, id := range o.begun {
		if o.at[n] == name {
			if _, err := o.network.sites[name].Client.Start(ctx, api.StartRequest{Instance: id, Process: "counter@1"}); err != nil {
				o.t.Fatalf("start %s again at %s: %v", id, name, err)
			}
		}
	}
	o.rebuilds(name)
	o.network.Connected(ctx)
}

// lapses notes what a home forgets, as far as that is known, and which instances have begun.
func (o *office) lapses(l lapse) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.home = l
	for _, id := range o.begun {
		o.before[id] = true
	}
}

// starts starts instances until there are so many, at sites that are up.
func (o *office) starts(ctx context.Context, want int) {
	o.t.Helper()
	for len(o.begun) < want {
		name := fleet.Names[o.rand.IntN(3)] // not the one whose store is lost
		site := o.network.sites[name]
		if !site.Up() {
			continue
		}
		id := uuid.Must(uuid.NewV7())
		err := fleet.Until(ctx, func() (bool, error) {
			_, err := site.Client.Start(ctx, api.StartRequest{Instance: id, Process: "counter@1"})
			return err == nil, nil // a daemon that was just started answers in a moment
		})
		if err != nil {
			o.t.Fatalf("start at %s: %v", name, err)
		}
		o.begun, o.at = append(o.begun, id), append(o.at, name)
	}
}

// doneOf is how many words about an activity were done.
func (o *office) doneOf(activity string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.said {
		if s.told == yes && s.about.activity == activity {
			n++
		}
	}
	return n
}

// until waits until so many words were done, or for a while.
func (o *office) until(ctx context.Context, words int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = fleet.Until(ctx, func() (bool, error) { return o.done.Load() >= words, nil })
}

// works has somebody look at his list and do something about what is there, until he goes home.
func (o *office) works(ctx context.Context, site, person string) {
	client := o.network.sites[site].Client
	r := rand.New(rand.NewPCG(uint64(o.seed), uint64(person[0])<<8|uint64(person[1])))
	for ctx.Err() == nil {
		list, err := o.list(ctx, client, api.WorkRequest{As: person, Limit: 30})
		if err != nil || len(list) == 0 {
			pause(ctx) // the site is down, or there is nothing for him
			continue
		}
		i := list[r.IntN(min(3, len(list)))] // most want the same
		// What is said of a claim names it: a word that comes late is about no other one.
		verb, word := api.WorkClaim, api.WorkWord{As: person, Claim: i.Claim, Word: uuid.Must(uuid.NewV7())}
		switch n := r.IntN(10); {
		case i.State == api.ItemOffered && n < 7:
			word.Claim = 0
		case i.State == api.ItemOffered || n < 5:
			if verb = api.WorkComplete; i.State == api.ItemOffered {
				word.Claim = 0
			}
			word.Output = json.RawMessage(fmt.Sprintf(`{"%s": "%s %s"}`, i.Activity, person, word.Word))
		case n < 7:
			verb = api.WorkRelease
		case n == 7:
			verb, word.To = api.WorkTransfer, hands[site][r.IntN(2)]
		default:
			verb, word.Output = api.WorkSave, json.RawMessage(fmt.Sprintf(`{"%s": "draft"}`, i.Activity))
		}
		o.says(ctx, client, &i, verb, word)
	}
}

// pause is what somebody does who can do nothing.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// list is what a site shows, and notes who it says has what.
func (o *office) list(ctx context.Context, client *api.Client, r api.WorkRequest) ([]api.WorkItem, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	page, err := client.Work(ctx, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range page.Items {
		if i.State != api.ItemClaimed || i.Activity == o.home.activity && o.before[i.Instance] {
			continue // home counts claims on from the copy, and others may show one that is lost
		}
		if o.claims[i.Item] == nil {
			o.claims[i.Item] = map[uint64]string{}
		}
		if other := o.claims[i.Item][i.Claim]; other != "" && other != i.ClaimedBy || i.Claim == 0 {
			o.t.Errorf("claim %d of %s is of %s, and of %s", i.Claim, i.Item, other, i.ClaimedBy)
		}
		o.claims[i.Item][i.Claim] = i.ClaimedBy
	}
	return page.Items, err
}

// says says something, and says it again where nobody answers: twice is done once.
func (o *office) says(ctx context.Context, client *api.Client, i *api.WorkItem, verb api.WorkVerb, word api.WorkWord) {
	s := saying{person: word.As, about: piece{i.Instance, i.Activity}, verb: verb, asked: time.Now()}
	if verb == api.WorkComplete {
		s.text = fmt.Sprintf("%s %s", word.As, word.Word)
	}
	for range 3 {
		asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		done, err := client.SayWork(asked, i.Item, verb, word)
		cancel()
		s.answered = time.Now()
		switch code := api.CodeOf(err); {
		case err == nil && done.Result == api.WordDone:
			s.told = yes
			o.done.Add(1)
		case code == api.CodeRefused && s.told == unknown:
			s.told = no
			o.explained(s, err)
		case code == api.CodeUsage:
			o.t.Errorf("%s: %s by %s: %v", s.about, verb, word.As, err)
		}
		if s.told != unknown || api.CodeOf(err) == api.CodeNotFound {
			break
		}
		pause(ctx) // a home that is not heard is not heard a moment later either
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, s)
}

// explained holds a refusal to what people are to be told: who has it, or who may have it, or why it is too late; of a home
// that was restored, that it does not know yet what others offer for it, or has offered it anew.
func (o *office) explained(s saying, err error) {
	reasons := []string{"has claimed it", "may not have it", "nobody has claimed it", "has ended", "was given up", "is not offered any more", "has been given to somebody"}
	o.mu.Lock()
	if s.about.activity == o.home.activity {
		reasons = append(reasons, "it has not begun at ", "it is not offered to anybody", "overtaken: you saw iteration 1, run 0 of it") // it is offered anew (R49)
	}
	o.mu.Unlock()
	for _, why := range reasons {
		if strings.Contains(err.Error(), why) {
			return
		}
	}
	o.t.Errorf("%s is refused to %s without a reason that helps: %v", s.verb, s.person, err)
}

// ended waits until all instances have, and gives what each has come to.
func (o *office) ended(ctx context.Context) (ends map[uuid.UUID]api.Status) {
	o.t.Helper()
	ends = map[uuid.UUID]api.Status{}
	for n, id := range o.begun {
		var last api.Status
		err := fleet.Until(ctx, func() (bool, error) {
			var err error
			last, err = o.network.sites[o.at[n]].Client.Status(ctx, id)
			return err == nil && last.State == api.InstanceFinished, nil
		})
		if err != nil {
			o.t.Fatalf("instance %s of %s has not ended: %v: %+v", id, o.at[n], err, last)
		}
		ends[id] = last
	}
	return ends
}
