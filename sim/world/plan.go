package world

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store/memory"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// Plan is a world before it runs, as data: what is there, and what happens when. What the
// plan leaves open (how long a frame takes, which task runs first) comes from its Seed.
type Plan struct {
	Seed     uint64
	Sites    []name
	Broker   bool   // there is a broker: a second route between all sites
	Apart    bool   `json:",omitempty"` // it is the only one
	BothCall bool   // each site calls all others; else of two the one whose name comes first
	Narrow   bool   // few changes fit into a commit: most transactions take several
	Cache    int    // entries that a node keeps in memory beside those in execution
	Brisk    bool   `json:",omitempty"` // no program takes long
	Before   []name `json:",omitempty"` // sites of the version before, until they are upgraded
	// Behind is by how much messages of each lane come later on the wires (L2).
	Behind    lag `json:",omitzero"`
	Processes []Process
	Instances []Instance
	Events    []Event       // by their times
	Clear     time.Duration // when the weather clears
	// Retired is how long a version is retired before a site gives its final word; 0: none is retired.
	Retired time.Duration `json:",omitempty"`
}

// lag is by how much each lane comes later than what is not data.
type lag [record.Lanes]time.Duration

// Process is a random definition, and who uploads it.
type Process struct {
	Name    string
	Kind    Kind
	Number  int    // of the case among those of its kind and sites
	Body    string `json:",omitempty"` // of the kind Given: its definition, without its name
	Large   bool   `json:",omitempty"` // its programs give large texts
	Retired bool   `json:",omitempty"` // in the end it is retired, and its tables go
	Now     bool   `json:",omitempty"` // its upload says that it is current at once
	At      time.Duration
	Through name
	Sites   []name // that it may use
}

// Kind is how a process is drawn, or Given.
type Kind string

// The kinds of package generate.
const (
	Given     Kind = "given"
	Drawn     Kind = "drawn"
	Steady    Kind = "steady"
	DeadWood  Kind = "deadwood"
	Joins     Kind = "joins"
	Racing    Kind = "racing"
	Parent    Kind = "parent" // it begins instances of the one before it in the plan, where these finish
	Bundling  Kind = "bundling"
	Signals   Kind = "signals"
	Timed     Kind = "timed"
	People    Kind = "people"    // of which people do activities
	Scheduled Kind = "scheduled" // a schedule starts its instances, and nobody else
)

// Has says whether a process of the plan is of that kind.
func (p *Plan) Has(k Kind) bool {
	return slices.ContainsFunc(p.Processes, func(of Process) bool { return of.Kind == k })
}

// Does says whether something of that name is done in the plan.
func (p *Plan) Does(d Deed) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.Do == d })
}

// Instance is one that a client starts, and starts again.
type Instance struct {
	ID      uuid.UUID
	Process int // of the plan
	At      time.Duration
	Again   []time.Duration // the same start once more
}

// Deed is what an Event does.
type Deed string

// What can happen. Most of it is over after a while (Event.For), or when the weather clears.
const (
	Crash     Deed = "crash"      // the site dies where it stands, and is started again
	CrashAt   Deed = "crash-at"   // the same at its commit number Number from now; Kept: it is on disk
	CrashIn   Deed = "crash-in"   // the same while that commit is under way
	Stop      Deed = "stop"       // the daemon is stopped in order, and started again
	FailWrite Deed = "fail-write" // commit number Number from now fails; Kept: it is on disk all the same
	FailRead  Deed = "fail-read"  // read number Number from now fails
	Sluggish  Deed = "sluggish"   // its disk is slow: a commit takes seconds at times, a read of a process queue a moment
	Cold      Deed = "cold"       // a read of a whole process queue takes seconds at times
	Low       Deed = "low"        // room on the disk is low
	Full      Deed = "full"       // there is none
	Cut       Deed = "cut"        // the wire to Peer is cut
	Stall     Deed = "stall"      // what goes to Peer waits
	Slow      Deed = "slow"       // what goes to Peer takes seconds
	Lossy     Deed = "lossy"      // the broker loses, repeats, reorders and replays
	Drowsy    Deed = "drowsy"     // it delivers late
	BrokerOff Deed = "broker-off" // it is down
	BrokerNew Deed = "broker-new" // it is started again, and has lost everything
	Astray    Deed = "astray"     // the configuration is read again, with a wrong address for Peer
	Reload    Deed = "reload"     // it is read again, with other routes: see site.peers
	Detour    Deed = "detour"     // Astray, and right again, while accept number Number from Peer takes For to be committed
	Decide    Deed = "decide"     // an operator lets the stopped links of the site go on
	Clock     Deed = "clock"      // the clock is stepped by For
	Backup    Deed = "backup"     // the site is backed up
	Lose      Deed = "lose"       // its disk is lost: it goes on with an empty one
	Restore   Deed = "restore"    // the same, with what the last backup had
	Image     Deed = "image"      // its disk is copied
	CopyOn    Deed = "copy-on"    // its disk is lost, and it goes on from that copy, without `restore`
	Twice     Deed = "twice"      // a clone of its disk is started as well, beside it
	Upgrade   Deed = "upgrade"    // a site of the version before is stopped, and started as one of this
	Ask       Deed = "ask"        // somebody asks question Number, of instance Instance
	Terminate Deed = "terminate"  // an operator ends instance Instance
	Suspend   Deed = "suspend"    // an operator suspends instance Instance, or, with Number, one of its activities; with For, until then
	Resume    Deed = "resume"     // an operator lets instance Instance go on
	Retry     Deed = "retry"      // an operator retries whatever of instance Instance is in error
	Hand      Deed = "hand"       // an operator finishes (Number 1), or skips, what of instance Instance is under way
	Restart   Deed = "restart"    // an operator restarts what of instance Instance has terminated, as Number says; Kept: and gives it up where not all have answered
	Work      Deed = "work"       // somebody of the site deals with what he is offered; Number says who, and how
	Signal    Deed = "signal"     // somebody outside sends event Number to instance Instance, under an identifier of these
	Erase     Deed = "erase"      // an administrator has data of instance Instance overwritten
	Expedite  Deed = "expedite"   // an operator gives instance Instance the priority Number
	Retire    Deed = "retire"     // an operator retires process Number of the plan, or with Kept takes that back
	Wrong     Deed = "wrong"      // somebody asks for what is refused, in way Number
)

// Event is something that happens at a moment.
type Event struct {
	At       time.Duration
	Do       Deed
	Site     name          `json:",omitempty"`
	Peer     name          `json:",omitempty"`
	For      time.Duration `json:",omitempty"`
	Number   int           `json:",omitempty"`
	Instance int           `json:",omitempty"`
	Kept     bool          `json:",omitempty"`
}

// A Narrow disk takes no more at once than a node needs, and each change counts as a wide one:
// thirteen of them fill a commit, and two hundred the largest transaction, so that a cascade
// still fits; where there is a bundle four hundred, so that one of a long list can be cancelled at once, as it can
// be where changes are as small as they are.
const (
	narrowBatch = 1 << 20
	wide        = 80_000
)

// disk is how the disks of a plan are opened.
func (p *Plan) disk(o memory.Options) memory.Options {
	if p.Narrow {
		o.MaxBatch, o.Overhead = narrowBatch, wide
		if p.Has(Bundling) {
			o.Overhead = wide / 2
		}
	}
	return o
}

// names gives sites as package generate wants them.
func names(sites []name) []string {
	all := make([]string, len(sites))
	for i, s := range sites {
		all[i] = string(s)
	}
	return all
}

// drawn gives the case of a process, which may begin instances of those before it.
func (p *Process) drawn(before []*prepared) *generate.Case {
	c := p.ofKind()
	if p.Kind == Parent {
		c = p.parentOf(before)
	}
	c.Large = p.Large
	return c
}

func (p *Process) ofKind() *generate.Case {
	switch p.Kind {
	case Given:
		return generate.Given(p.Body)
	case Steady:
		return generate.SteadyAt(names(p.Sites)).Example(p.Number)
	case DeadWood:
		return generate.DeadWoodAt(names(p.Sites)).Example(p.Number)
	case Bundling:
		return generate.BundlingAt(names(p.Sites)).Example(p.Number)
	case Racing:
		return generate.RacingAt(names(p.Sites)).Example(p.Number)
	case Signals:
		return generate.SignalsAt(names(p.Sites)).Example(p.Number)
	case Scheduled:
		return generate.ScheduledAt(names(p.Sites)).Example(p.Number)
	case Timed:
		return generate.TimedAt(names(p.Sites)).Example(p.Number)
	case People:
		return generate.PeopleAt(names(p.Sites)).Example(p.Number)
	case Joins:
		return generate.JoinsAt(names(p.Sites)).Example(p.Number)
	case Drawn, Parent:
	}
	return generate.CasesAt(names(p.Sites)).Example(p.Number)
}

// Deeds are all of them.
var Deeds = []Deed{
	Crash, CrashAt, CrashIn, Stop, FailWrite, FailRead, Sluggish, Cold, Low, Full, Cut, Stall, Slow, Lossy, Drowsy, BrokerOff, BrokerNew,
	Astray, Reload, Detour, Decide, Clock, Backup, Lose, Restore, Image, CopyOn, Twice, Upgrade, Ask, Terminate, Suspend, Resume, Retry, Hand, Restart, Work, Signal, Erase, Expedite, Retire, Wrong,
}
