package world

import (
	"time"

	"github.com/google/uuid"

	"fmqm/sim/generate"
)

// Plan is a world before it runs, as data: what is there, and what happens when. What the
// plan leaves open (how long a frame takes, which task runs first) comes from its Seed.
type Plan struct {
	Seed      uint64
	Sites     []name
	Broker    bool // there is a broker: a second route between all sites
	BothCall  bool // each site calls all others; else of two the one whose name comes first
	Cache     int  // entries that a node keeps in memory beside those in execution
	Processes []Process
	Instances []Instance
	Events    []Event       // by their times
	Clear     time.Duration // when the weather clears
}

// Process is a random definition, and who uploads it.
type Process struct {
	Name    string
	Kind    Kind
	Number  int // of the case among those of its kind and sites
	At      time.Duration
	Through name
	Sites   []name // that it may use
}

// Kind is how a process is drawn.
type Kind string

// The kinds of package generate.
const (
	Drawn    Kind = "drawn"
	Steady   Kind = "steady"
	DeadWood Kind = "deadwood"
)

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
	Reload    Deed = "reload"     // it is read again, with other routes: see routesOf
	Clock     Deed = "clock"      // the clock is stepped by For
	Backup    Deed = "backup"     // the site is backed up
	Lose      Deed = "lose"       // its disk is lost: it goes on with an empty one
	Restore   Deed = "restore"    // the same, with what the last backup had
	Ask       Deed = "ask"        // somebody asks question Number, of instance Instance
	Terminate Deed = "terminate"  // an operator ends instance Instance
	Retry     Deed = "retry"      // an operator retries whatever of instance Instance is in error
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

// names gives sites as package generate wants them.
func names(sites []name) []string {
	all := make([]string, len(sites))
	for i, s := range sites {
		all[i] = string(s)
	}
	return all
}

// drawn gives the case of a process.
func (p *Process) drawn() *generate.Case {
	switch p.Kind {
	case Steady:
		return generate.SteadyAt(names(p.Sites)).Example(p.Number)
	case DeadWood:
		return generate.DeadWoodAt(names(p.Sites)).Example(p.Number)
	case Drawn:
	}
	return generate.CasesAt(names(p.Sites)).Example(p.Number)
}

// Deeds are all of them.
var Deeds = []Deed{
	Crash, CrashAt, CrashIn, Stop, FailWrite, FailRead, Low, Full, Cut, Stall, Slow, Lossy, Drowsy, BrokerOff, BrokerNew,
	Astray, Reload, Clock, Backup, Lose, Restore, Ask, Terminate, Retry, Wrong,
}
