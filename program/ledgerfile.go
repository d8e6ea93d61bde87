package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// The ledger is a file of lines: eight hexadecimal digits, the CRC-32C of what follows
// the blank behind them, and a record as JSON.
const ledgerVersion = 1

// maxLine bounds a line when it is read, in bytes.
const maxLine = 64 << 10

// Events of records.
const (
	eventLedger = "ledger" // the first line: version, node, where, unclean
	eventStood  = "stood"  // at an unclean stop; it has not been started since
	eventBegin  = "begin"  // an attempt is about to start
	eventRuns   = "runs"   // its process
	eventEnd    = "end"    // nothing of it runs any more
)

// record is a line of the ledger.
type record struct {
	Event string `json:"event"`

	Version int    `json:"version,omitempty"`
	Node    string `json:"node,omitempty"`
	Where   string `json:"where,omitempty"`   // the kernel and the process numbers in it; see where. Also beside a PID: the first line may be damaged
	Unclean int    `json:"unclean,omitempty"` // stops in a row before this ledger was begun

	Key      string `json:"key,omitempty"`
	Stood    int    `json:"stood,omitempty"` // at how many unclean stops in a row it was running
	Program  string `json:"program,omitempty"`
	Process  string `json:"process,omitempty"`
	Instance string `json:"instance,omitempty"`
	Activity string `json:"activity,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`

	PID     int    `json:"pid,omitempty"` // also its process group's
	Session int    `json:"session,omitempty"`
	Start   uint64 `json:"start,omitempty"` // in the kernel's ticks since boot
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *record) line() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("a record of the ledger cannot be encoded: %v", err)) // it has texts and numbers only
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

func parseRecord(line []byte) (record, error) {
	var r record
	sum, text, ok := bytes.Cut(line, []byte{' '})
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) {
		return r, errors.New("the checksum does not match")
	}
	return r, json.Unmarshal(text, &r)
}

// contents is what a ledger said when it was opened.
type contents struct {
	head     record
	standing map[string]*standing
	begun    bool // something was started
	damaged  int
}

// readLedger folds the lines of a ledger. Damaged ones, such as a power cut leaves of
// what is not synced, are counted and passed over: what matters most, the processes
// that run, is seen without them.
func readLedger(path string) (contents, error) {
	c := contents{standing: map[string]*standing{}}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return c, nil
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			c.damaged++ // torn, or zeros
			continue
		case err != nil:
			return c, err
		}
		r, err := parseRecord(line[:len(line)-1])
		if err != nil {
			c.damaged++
			continue
		}
		if r.Event == eventLedger && r.Version > ledgerVersion {
			return c, fmt.Errorf("a newer version of fmqmd wrote %s: use that version, or remove the file when no program of it runs any more", path)
		}
		c.fold(r)
	}
}

func (c *contents) fold(r record) {
	switch r.Event {
	case eventLedger:
		c.head = r
	case eventStood, eventBegin:
		c.here(&r)
		c.standing[r.Key] = &standing{record: r, started: r.Event == eventBegin}
		c.begun = c.begun || r.Event == eventBegin
	case eventRuns:
		s := c.standing[r.Key]
		if s == nil { // the line before is damaged
			s = &standing{record: r, started: true}
			c.standing[r.Key], c.begun = s, true
		}
		c.here(&r)
		s.PID, s.Session, s.Start, s.Where = r.PID, r.Session, r.Start, r.Where
	case eventEnd:
		delete(c.standing, r.Key)
	}
}

// here says where a process was noted, for lines of older versions.
func (c *contents) here(r *record) {
	if r.PID != 0 && r.Where == "" {
		r.Where = c.head.Where
	}
}

// noted picks processes by the groups that were noted here: children that have cleared
// their environment. The number of a group can have been given to another one meanwhile,
// so its session and the time must fit as well.
func (c *contents) noted(here string) func(p *process) bool {
	return func(p *process) bool {
		for _, s := range c.standing {
			if s.started && s.PID != 0 && s.Where == here && s.PID == p.group && s.Session == p.session && s.Start <= p.start {
				return true
			}
		}
		return false
	}
}

// where names the running kernel and the space of process numbers that this process
// sees: a noted number means nothing after a boot, or in another container. Empty if
// it cannot be told.
func where() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}
