package tables

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/navigator"
	"fmqm/node/question"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
	"fmqm/schedule"
)

// Tables says what becomes of process tables at a site. Its methods are safe for concurrent use.
type Tables struct {
	Options
	definers atomic.Pointer[trust.Definers]

	wake *task.Bell   // of Run
	turn *task.Places // one: who has it compares what is said of retiring versions, and puts it on disk

	retiring *task.Bell // of RunRetired

	mu      sync.Mutex
	refused map[processtable.ProcessID]refusal // tables that came and were refused, since the start
	// has are, of each version that is pending, the other sites of which it is known that they have it; turned
	// are those that have become current, of which the others are still to be told.
	has    map[processtable.ProcessID]map[processtable.NodeID]bool
	turned []processtable.ProcessID
	// told is up to which number other sites know what is said of retiring a version, as they have answered.
	told map[processtable.ProcessID]map[processtable.NodeID]telling
	// again is when it is looked once more whether the table of a version may go of which all have given their final word;
	// needless are the sites that are known to need it for nothing of their own.
	again    map[processtable.ProcessID]time.Time
	needless map[processtable.ProcessID]map[processtable.NodeID]bool
}

// Options make Tables. All but Behaviours, Definers and Reads are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	// Behaviours are those that rows of tables may name; nil: all rows are FlowMark's.
	Behaviours behaviour.Registry
	Definers   trust.Definers // whose tables are accepted; see SetDefiners
	// Reads is the newest format of tables that other sites are told this one reads; 0: what this
	// program does. Tests have it say less.
	Reads uint8
}

// Site is the node whose tables they are.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not taken up here.
	Process(processtable.ProcessID) behaviour.Process
	Processes() []behaviour.Process // by name and version
	// TakeUp starts the process thread of a table that is on disk, if it has none.
	TakeUp(behaviour.Process)
	// TurnedCurrent: a version is current that was not. The committer may call it.
	TurnedCurrent(processtable.ProcessID)
	// TurnedRetired: a version begins nothing new from now on, or may again.
	TurnedRetired(_ processtable.ProcessID, retired bool)
	// GaveFinal: this site has given its final word about a version, which it keeps for ever.
	GaveFinal(processtable.ProcessID)
	// LetGo ends the process thread of a version whose table was removed.
	LetGo(processtable.ProcessID)
	// Absorbed: so many messages were taken out that had come late for a version whose table was removed.
	Absorbed(_ processtable.ProcessID, messages int)
	// Stranded: a peer has removed the table of a version of which instances that were started here have not ended.
	Stranded(_ processtable.ProcessID, peer processtable.NodeID, instances int)
	// WroteOff: an operator has written a node off of a version, or that is over.
	WroteOff(*record.WriteOff)
	// RetiredFor is how long a version has to be retired before this site gives its final word: so long it can be taken back.
	RetiredFor() time.Duration
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error
	// TableLimit is what one table may have here, in bytes; 0: no limit but the language's.
	TableLimit() int

	Programs() []processtable.ProgramID // that are registered
	Staffed() bool                      // there is somebody to whom work can be offered
	Peers() []processtable.NodeID       // to which there are links, sorted
	// LinkTo says how the link to a peer is; false: there is none.
	LinkTo(peer processtable.NodeID) (link.Status, bool)
	// Reaches says whether there is a link to a peer, or Meet would make one.
	Reaches(peer processtable.NodeID) bool
	// ReachesAll says whether sites are reached that are not listed.
	ReachesAll() bool
	// Meet makes the link to a site that is not listed, if it is known how to reach it.
	Meet(peer processtable.NodeID)
}

// New makes Tables. It reads nothing: see Load.
func New(o Options) *Tables {
	t := &Tables{
		Options: o, wake: o.Scheduler.Bell(), turn: task.NewPlaces(o.Scheduler, 1),
		retiring: o.Scheduler.Bell(), again: map[processtable.ProcessID]time.Time{},
		needless: map[processtable.ProcessID]map[processtable.NodeID]bool{},
		told:     map[processtable.ProcessID]map[processtable.NodeID]telling{},
		refused:  map[processtable.ProcessID]refusal{}, has: map[processtable.ProcessID]map[processtable.NodeID]bool{},
	}
	t.definers.Store(&o.Definers)
	return t
}

// Load makes every table of the store ready, by name and version. A table that cannot be made
// ready keeps its process from running, and the node from starting: it was accepted once.
func (t *Tables) Load() ([]behaviour.Process, error) {
	var all []behaviour.Process
	for _, id := range slices.SortedFunc(maps.Keys(t.Queue.Tables()), processtable.ProcessID.Compare) {
		encoded, _, _, err := t.Queue.Table(id)
		if err != nil {
			return nil, fmt.Errorf("read the table of %s: %w", id, err)
		}
		table, err := t.read(encoded)
		if err != nil {
			return nil, err
		}
		p, err := t.ready(table)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// ready makes the rows of a table ready for its process thread: it loads every condition, so
// it is done for tables that are stored, or are about to be. Here alone a site knows whose
// behaviour a process has: FlowMark's, and what Behaviours adds for rows that name another.
func (t *Tables) ready(table *processtable.Table) (behaviour.Process, error) {
	return navigator.Prepare(table, t.Behaviours)
}

// read reads a table and checks that it is for this site.
func (t *Tables) read(encoded []byte) (*processtable.Table, error) {
	table, err := processtable.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	if table.Format > processtable.NodeFormat {
		return nil, fmt.Errorf("table of %s is of format %d, and this node takes formats up to %d: upgrade it", table.Process, table.Format, processtable.NodeFormat)
	}
	if table.Node != t.Self {
		return nil, fmt.Errorf("table of %s is for node %s, this is %s", table.Process, table.Node, t.Self)
	}
	return table, nil
}

// Judge says whether a table may be stored here, and makes it ready. New is false if it is
// there already. It changes nothing: who stores it commits what [Add] adds, and then calls Install.
// Now: it comes to be current at once. Who brings it may say so if he could have stored it: also of what is
// here already its definer has to be one whom this site trusts.
func (t *Tables) Judge(encoded []byte, now bool) (p behaviour.Process, isNew bool, err error) {
	if err := t.fits(encoded); err != nil {
		return nil, false, err
	}
	table, err := t.read(encoded)
	if err != nil {
		return nil, false, err
	}
	if isNew, err = t.mayStore(table); err != nil {
		return nil, false, err
	}
	if now && !isNew {
		if err := t.trusts(table); err != nil {
			return nil, false, err
		}
	}
	p, err = t.ready(table)
	return p, isNew && err == nil, err
}

func (t *Tables) fits(encoded []byte) error {
	if limit := t.Site.TableLimit(); limit > 0 && len(encoded) > limit {
		return fmt.Errorf("the table has %d bytes, %s takes %d: raise limits.table there, or split the process", len(encoded), t.Self, limit)
	}
	return nil
}

// mayStore says whether a table of this site may be stored: name@version is bound to one
// definition for ever (N3), and its definer is one whom this site trusts with it (invariant
// 11). New is false if it is there already. It changes nothing and prepares nothing.
func (t *Tables) mayStore(table *processtable.Table) (isNew bool, err error) {
	if stone, gone := t.Queue.Tombstone(table.Process); gone {
		return false, t.errGone(&stone, table.Definition)
	}
	bound, found := t.Queue.Bound(table.Process)
	if found && bound != table.Definition {
		return false, errBound(table.Process, t.Self)
	}
	if found {
		return false, nil
	}
	if err := t.trusts(table); err != nil {
		return false, err
	}
	if reason := strange(table, t.Behaviours.Names()); reason != "" {
		return false, errors.New(reason)
	}
	return true, nil
}

// trusts says why the definer of a table may not have it stored here; nil: he may.
func (t *Tables) trusts(table *processtable.Table) error {
	definers := t.definers.Load()
	reason := definers.Untrusted(t.Self, table.Process, trust.SignerOf(table))
	if reason == "" {
		reason = definers.Overreaches(t.Self, table)
	}
	if reason != "" {
		return errors.New(reason)
	}
	return nil
}

func errBound(id processtable.ProcessID, node processtable.NodeID) error {
	return fmt.Errorf("%s has another definition at %s: raise the version", id, node)
}

// strange says which row of a table has a behaviour that its node does not know, or which schedule
// cannot be read here, or nothing.
func strange(t *processtable.Table, known []processtable.BehaviourID) string {
	for _, row := range t.Activities {
		if reason := behaviour.Unknown(row, known); reason != "" {
			return fmt.Sprintf("activity %s of %s: %s: upgrade %s to a version that has it", row.Name, t.Process, reason, t.Node)
		}
	}
	for i := range t.Schedules {
		if _, err := schedule.Parse(t.Schedules[i].Rule); err != nil {
			return fmt.Sprintf("schedule %d of %s: %v", i+1, t.Process, err)
		}
	}
	return ""
}

// Record is what is stored of a table: it is pending, unless no other site has to store one (N19).
func Record(p behaviour.Process, encoded []byte) record.TableRecord {
	return record.TableRecord{Process: p.Table().Process, Definition: p.Table().Definition, Encoded: encoded, Pending: !alone(p.Table())}
}

// Named says whether a table is of the process that the message says which brings it: who decides about that goes by it.
func Named(p behaviour.Process, said processtable.ProcessID) error {
	if of := p.Table().Process; of != said {
		return fmt.Errorf("it carries a table of %s, and says that it is of %s", of, said)
	}
	return nil
}

// Add adds a table that was judged to a transaction. Now: its version is current, whatever the transaction,
// or the store q, has of it; what is current already stays so. Who has committed it calls NowCurrent with tx.Current.
func Add(tx *record.Tx, q *queue.Manager, p behaviour.Process, encoded []byte, isNew, now bool) {
	if isNew {
		tx.Tables = append(tx.Tables, Record(p, encoded))
	}
	if !now {
		return
	}
	id := p.Table().Process
	turns := q.IsPending(id)
	for i := range tx.Tables {
		if t := &tx.Tables[i]; t.Process == id {
			t.Pending, turns = false, true
		}
	}
	if turns && !slices.Contains(tx.Current, id) {
		tx.Current = append(tx.Current, id)
	}
}

// Install takes up a table that is on disk. What waited for the table (N3) is found by its
// process thread's browse. It reads nothing and does not wait: the committer may call it.
func (t *Tables) Install(p behaviour.Process) {
	t.mu.Lock()
	delete(t.refused, p.Table().Process)
	t.mu.Unlock()
	t.Site.TakeUp(p)
	t.wake.Ring()
	t.retiring.Ring()
}

// SetDefiners sets whose tables are accepted from now on. Stored tables stay, whoever
// signed them, because instances of them may run.
func (t *Tables) SetDefiners(d trust.Definers) {
	t.definers.Store(&d)
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.refused) // what was refused may be taken now
}

// refusal is of a table that came and was refused.
type refusal struct {
	sum    string // SHA-256 of the table, in hexadecimal digits
	reason string
}

// refusalsKept bounds how many processes are remembered of which a table was refused.
const refusalsKept = 1000

// Refused remembers, for whoever has sent a table, why it was refused.
func (t *Tables) Refused(id processtable.ProcessID, table []byte, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.refused) >= refusalsKept {
		clear(t.refused) // who still asks is told that it is not here
	}
	t.refused[id] = refusal{sumOf(table), why.Error()}
}

func (t *Tables) refusal(id processtable.ProcessID) refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused[id]
}

func sumOf(table []byte) string {
	sum := sha256.Sum256(table)
	return hex.EncodeToString(sum[:])
}
