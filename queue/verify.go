package queue

import (
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// VerifyReport says what Verify has read, and what is wrong.
type VerifyReport struct {
	Node     processtable.NodeID `json:"node"`
	Commit   uint64              `json:"commit"`
	Records  map[string]uint64   `json:"records"` // by kind of record
	Problems []string            `json:"problems"`
}

// classNames is what the kinds of records are called.
var classNames = map[byte]string{
	classMeta: "meta", classTable: "process table", classMessage: "message", classRecord: "instance record",
	classMarker: "marker", classTransmission: "transmission item", classLow: "trimmed position", classAccepted: "accepted position",
	classPeer: "peer", classPart: "incoming part", classSetAside: "set aside", classTimer: "timer", classChunk: "body chunk",
	classStaged: "staged body", classLarge: "large transaction", classParked: "parked message", classLeft: "left by a peer", classInstance: "instance", classStart: "start", classEnd: "activity end", classHistory: "event", classRemoved: "removed instance",
}

// Verify reads every record of a store at rest: checksums, contents, bodies, and the
// running hashes of the links. It changes nothing. An error means that the store
// could not be read on; what is wrong with records is in the report.
func Verify(engine store.Engine) (VerifyReport, error) {
	v := &verifier{
		m:      newManager(engine, Options{}),
		report: VerifyReport{Commit: engine.Last(), Records: map[string]uint64{}, Problems: []string{}},
		lanes:  map[laneKey]Position{},
	}
	if _, err := engine.Get(keyLarge); err == nil {
		v.large = true
	}
	err := engine.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		if err := v.record(key, value); err != nil {
			v.report.Problems = append(v.report.Problems, err.Error())
		}
		return len(v.report.Problems) < maxProblems
	})
	if err != nil {
		return v.report, fmt.Errorf("verify: %w", err)
	}
	if v.report.Node == "" {
		v.report.Problems = append(v.report.Problems, "the store does not say to which node it belongs")
	}
	return v.report, nil
}

// maxProblems ends a Verify: more say nothing new.
const maxProblems = 1000

type verifier struct {
	m      *Manager // for its readers; nothing of it runs
	report VerifyReport
	lanes  map[laneKey]Position // of transmission queues, as far as they are read
	large  bool                 // a large transaction is half made: records do not fit each other until the next start
}

func (v *verifier) record(key, value []byte) error {
	if len(key) == 0 {
		return errors.New("a record has no key")
	}
	name, known := classNames[key[0]]
	if !known {
		return fmt.Errorf("record %q: this program does not know its kind", readable(key))
	}
	v.report.Records[name]++
	content, err := openRecord(key, value)
	if err != nil {
		return err
	}
	if string(key) == string(keyNode) {
		v.report.Node = processtable.NodeID(content)
	}
	if v.large {
		return nil
	}
	switch key[0] {
	case classTable:
		return v.table(key, value)
	case classMessage, classRecord, classMarker:
		return v.message(key, value)
	case classLow:
		peer, lane, low, err := readLow(key, value)
		if err == nil {
			v.lanes[laneKey{peer, lane}] = low.Position
		}
		return err
	case classTransmission:
		return v.item(key, value)
	case classAccepted:
		_, _, err := readAccepted(key, value)
		return err
	case classSetAside:
		_, err := v.m.readSetAside(key, value)
		return err
	case classParked:
		_, err := v.m.records().readParked(key, value)
		return err
	case classInstance, classEnd, classHistory:
		_, err := v.m.readAudit(key, value)
		return err
	case classRemoved:
		_, err := readRemoved(key, value)
		return err
	case classStaged:
		_, _, _, err := readStaged(key, value)
		return err
	}
	return nil // chunks are read with what names them; the others have no content
}

func (v *verifier) table(key, value []byte) error {
	encoded, hash, err := v.m.readTable(key, value)
	if err != nil {
		return err
	}
	t, err := processtable.Decode(encoded)
	if err != nil {
		return damaged(key, err.Error())
	}
	if t.Definition != hash {
		return damaged(key, "it names another definition than its table has")
	}
	return nil
}

func (v *verifier) message(key, value []byte) error {
	s, err := readMessage(key, value)
	if err != nil {
		return err
	}
	if _, err := v.m.body(s.place); err != nil {
		return fmt.Errorf("record %q: %w", readable(key), err)
	}
	entry := s.message.Entry()
	if string(appendMessageKey(nil, s.message.Queue.Process, &entry, s.message.Key())) != string(key) {
		return damaged(key, "its message belongs under another key")
	}
	return nil
}

// item verifies that the running hash goes on from the item before (L1).
func (v *verifier) item(key, value []byte) error {
	k := keyReader{rest: key[1:]}
	lane := laneKey{processtable.NodeID(k.name()), message.Lane(k.bytes(1)[0])}
	item, err := readItem(key, value)
	if err != nil {
		return err
	}
	payload, err := v.m.body(item.place)
	if err != nil {
		return fmt.Errorf("record %q: %w", readable(key), err)
	}
	before := v.lanes[lane]
	v.lanes[lane] = item.at.Position
	switch {
	case item.at.Number != before.Number+1:
		return damaged(key, fmt.Sprintf("item %d comes directly before it: items between are missing", before.Number))
	case item.at.Hash != HashNext(before.Hash, payload):
		return damaged(key, "its running hash does not continue that of the item before")
	}
	return nil
}
