package program

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/failpoint"
	"fmqm/processtable"
)

// Bounds of the ledger.
const (
	// suspectAfter is at how many unclean stops in a row a program must have been running
	// to be suspected of causing them.
	suspectAfter = 3
	// carefully is how long after an unclean stop notes are synced before the program
	// starts: if a program takes the machine down, its note must survive that. Before any
	// unclean stop notes cost no durable write.
	carefully = time.Minute
	// compactAt is the size at which the ledger drops what has ended; so much is reserved.
	compactAt = 1 << 20
)

// ErrLedger is wrapped where a note could not be written. Nothing may be started then,
// since it would not be found after a crash: the node stops.
var ErrLedger = errors.New("the ledger of running programs cannot be written")

var errClosed = fmt.Errorf("%w: it is closed", ErrLedger)

// ErrSuspect is wrapped where an execution is not started because it was running at
// three unclean stops in a row.
var ErrSuspect = errors.New("may have brought this machine down")

// Ledger notes which exec programs a node has started and not seen end (P2), in a file
// that is not synced: the kernel outlives the daemon. It is safe for concurrent use. A
// nil *Ledger notes nothing.
type Ledger struct {
	node   string
	path   string
	where  string // see where
	groups *Groups

	mu       sync.Mutex
	file     *os.File
	size     int64
	limit    int64 // size at which it is compacted
	standing map[string]*standing
	loose    map[string]bool // keys that running processes carried at open
	found    Found
	careful  time.Time // until then notes are synced
	failed   error
}

// standing is what the ledger holds of one key.
type standing struct {
	record
	started bool // since the ledger was opened
}

// Found is what OpenLedger came upon.
type Found struct {
	Unclean int // how many stops in a row were unclean, of daemons that had started programs
	Running int // executions that were noted as running
	Killed  int // processes of them that had outlived the daemon
	Suspect int // executions that will not be started again
	Damaged int // lines that could not be read, after a power cut for example
}

// OpenLedger opens the ledger of a node in dir, making it where it is missing, and
// kills, in groups and elsewhere, what has outlived the daemon that had it open before. Nobody else may have it
// open: the caller holds the node's store.
func OpenLedger(dir string, node processtable.NodeID, groups *Groups) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the ledger of programs: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, fs.ErrPermission) { // an older version's, or a copy
		return nil, fmt.Errorf("open the ledger of programs: %w", err)
	}
	l := &Ledger{node: string(node), where: where(), groups: groups, path: filepath.Join(dir, "programs"), standing: map[string]*standing{}, loose: map[string]bool{}}
	before, err := readLedger(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open the ledger of programs: %w", err)
	default:
		l.takeOver(before)
		l.careful = time.Now().Add(carefully)
	}
	if err := l.clear(before); err != nil {
		return nil, fmt.Errorf("open the ledger of programs: %w", err)
	}
	if err := l.compact(); err != nil {
		return nil, fmt.Errorf("open the ledger of programs: %w", err)
	}
	return l, nil
}

// takeOver counts an unclean stop against all that was running then. What was not is
// forgotten, unless it is suspect; but a daemon that had started nothing says nothing.
func (l *Ledger) takeOver(before contents) {
	l.found = Found{Unclean: before.head.Unclean, Damaged: before.damaged}
	if before.begun {
		l.found.Unclean++
	}
	for key, s := range before.standing {
		if s.started {
			s.Stood++
			l.found.Running++
		}
		if s.Stood >= suspectAfter {
			l.found.Suspect++
		} else if before.begun && !s.started {
			continue
		}
		l.standing[key] = &standing{record: s.record}
	}
}

// clear kills whatever runs of what stood in the ledger, and remembers the other keys of
// this node that processes carry: of work that had ended with children left, or whose
// note is lost. Those are killed before their key runs again.
func (l *Ledger) clear(before contents) error {
	var groups func(*process) bool
	if here := l.where; here != "" {
		groups = before.noted(here)
	}
	s := sieve{node: l.node, key: func(k string) bool { return l.standing[k] != nil }, group: groups}
	// What cannot be ended is loose: its key waits for it, other work does not.
	killed, loose, err := l.groups.endAll(l.node, func(k string) bool { return l.standing[k] != nil })
	if err != nil {
		return err
	}
	for _, key := range loose {
		l.loose[key] = true
	}
	l.found.Killed, _ = s.end()
	l.found.Killed += killed
	all := sieve{node: l.node, key: func(k string) bool { l.loose[k] = true; return true }}
	_, err = all.alive()
	return err
}

// Found says what the ledger came upon when it was opened.
func (l *Ledger) Found() Found { return l.found }

// Close is the clean stop, once no program is started any more: it empties the ledger,
// unless something still runs.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.release()
	for _, s := range l.standing {
		if s.started {
			return err
		}
	}
	failpoint.Hit("ledger.closing")
	return errors.Join(err, os.Remove(l.path), syncDir(filepath.Dir(l.path)))
}

// Release closes the ledger and leaves it as it is: the node did not start, or is to
// look as after a crash.
func (l *Ledger) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.release()
}

func (l *Ledger) release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.failed = nil, errClosed
	return err
}

// begin notes that an attempt is about to start, once nothing runs any more of those
// before it.
func (l *Ledger) begin(c *Call, program string) error {
	if err := l.alone(c); err != nil {
		return err
	}
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.standing[c.Key]
	if s == nil {
		s = &standing{}
	}
	if s.Stood >= suspectAfter {
		return fmt.Errorf("it was running at the last %d unclean stops of this node and %w, so it is not started again: read its log and the machine's, mend it, then retry the activity", s.Stood, ErrSuspect)
	}
	s.started = true
	s.record = record{
		Event: eventBegin, Key: c.Key, Stood: s.Stood, Program: program,
		Process: c.Process, Instance: c.Instance, Activity: c.Activity, Attempt: c.Attempt,
	}
	l.standing[c.Key] = s
	if err := l.append(&s.record); err != nil {
		return err
	}
	if time.Now().Before(l.careful) {
		if err := l.file.Sync(); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// alone kills what may be left of older attempts of the same key.
func (l *Ledger) alone(c *Call) error {
	if c.Key == "" {
		return nil
	}
	older := c.Attempt > 1
	var groups *Groups
	if l != nil {
		groups = l.groups
		l.mu.Lock()
		older = older || l.loose[c.Key] || groups.has(c.Node, c.Key)
		delete(l.loose, c.Key)
		l.mu.Unlock()
	}
	if !older {
		return nil
	}
	_, err := groups.end(c.Node, c.Key)
	if err != nil && l != nil {
		l.mu.Lock()
		l.loose[c.Key] = true
		l.mu.Unlock()
	}
	return err
}

// runs notes the process of an attempt. That it cannot be noted is told by the next
// begin: this process is found by its environment as well.
func (l *Ledger) runs(c *Call, pid int) {
	if l == nil {
		return
	}
	p, err := readProcess(pid)
	if err != nil {
		return // it has ended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.standing[c.Key]; s != nil {
		s.PID, s.Session, s.Start, s.Where = p.pid, p.session, p.start, l.where
		_ = l.append(&record{Event: eventRuns, Key: c.Key, PID: s.PID, Session: s.Session, Start: s.Start, Where: s.Where})
	}
}

// end notes that an attempt has ended, and that nothing of it runs any more.
func (l *Ledger) end(c *Call) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.standing, c.Key)
	_ = l.append(&record{Event: eventEnd, Key: c.Key}) // told by the next begin
}

// append writes a record. l.mu is held.
func (l *Ledger) append(r *record) error {
	if l.failed != nil {
		return l.failed
	}
	n, err := l.file.Write(r.line())
	l.size += int64(n)
	if err != nil {
		return l.fail(err)
	}
	if l.size >= l.limit {
		if err := l.compact(); err != nil {
			l.limit = l.size + compactAt // the old one still serves
		}
	}
	return nil
}

func (l *Ledger) fail(err error) error {
	l.failed = fmt.Errorf("%w: %w: check the disk of %s, and start the node again", ErrLedger, err, filepath.Dir(l.path))
	return l.failed
}

// compact writes the ledger anew, with what stands in it, and puts it in the place of
// the old one. It is synced, about once in five thousand programs.
func (l *Ledger) compact() error {
	var b strings.Builder
	head := record{Event: eventLedger, Version: ledgerVersion, Node: l.node, Where: l.where, Unclean: l.found.Unclean}
	b.Write(head.line())
	for _, key := range slices.Sorted(maps.Keys(l.standing)) {
		s := l.standing[key]
		s.Event = eventBegin
		if !s.started {
			s.Event = eventStood
		}
		b.Write(s.line())
	}
	fresh, err := os.OpenFile(l.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	size := int64(b.Len())
	limit := max(compactAt, 2*size)
	// Reserved, so that a full disk does not keep a note from being written; where the
	// file system cannot, that is told when it happens.
	_ = unix.Fallocate(int(fresh.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, limit)
	_, err = fresh.WriteString(b.String())
	if err == nil {
		err = fresh.Sync()
	}
	failpoint.Hit("ledger.written")
	if err == nil {
		err = os.Rename(l.path+".new", l.path)
	}
	if err != nil {
		return errors.Join(err, fresh.Close())
	}
	if l.file != nil {
		_ = l.file.Close() // it was replaced
	}
	l.file, l.size, l.limit = fresh, size, limit
	failpoint.Hit("ledger.replaced")
	return syncDir(filepath.Dir(l.path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
