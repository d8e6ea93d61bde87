package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/format"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Report says what Verify has read, and what is wrong.
type Report struct {
	Node     processtable.NodeID `json:"node"`
	Commit   uint64              `json:"commit"`
	Records  map[string]uint64   `json:"records"` // by kind of record
	Problems []string            `json:"problems"`
}

// classNames is what the kinds of records are called.
var classNames = map[byte]string{
	record.ClassMeta: "meta", record.ClassTable: "process table", record.ClassMessage: "message", record.ClassRecord: "instance record",
	record.ClassMarker: "marker", record.ClassTransmission: "transmission item", record.ClassLow: "trimmed position", record.ClassAccepted: "accepted position",
	record.ClassPeer: "peer", record.ClassPart: "incoming part", record.ClassRefused: "set aside", record.ClassTimer: "timer", record.ClassChunk: "body chunk",
	record.ClassStaged: "staged body", record.ClassLarge: "large transaction", record.ClassParked: "parked message", record.ClassApart: "item apart", record.ClassUsage: "left by a peer", record.ClassInstance: "instance", record.ClassStart: "start", record.ClassEnd: "activity end", record.ClassHistory: "event", record.ClassRemoved: "removed instance",
}

// Kinds are what the kinds of records are called that a store can hold, in order.
func Kinds() []string { return slices.Sorted(maps.Values(classNames)) }

// Verify reads every record of a store at rest: checksums, contents, bodies, and the
// running hashes of the links. It changes nothing. An error means that the store
// could not be read on; what is wrong with records is in the report.
func Verify(engine store.Engine) (Report, error) {
	v := &verifier{
		read:   read.Records{Reader: engine},
		report: Report{Commit: engine.Last(), Records: map[string]uint64{}, Problems: []string{}},
		lanes:  map[record.LaneKey]record.Position{},
	}
	for _, key := range [][]byte{record.KeyLarge, record.KeyMigrating} {
		if _, err := engine.Get(key); err == nil {
			v.halfway = true
		}
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
	read   read.Records
	report Report
	lanes  map[record.LaneKey]record.Position // of transmission queues, as far as they are read

	// halfway: a large transaction, or a step to another format, is half made. Records do not
	// fit each other until the next start.
	halfway bool
}

func (v *verifier) record(key, value []byte) error {
	if len(key) == 0 {
		return errors.New("a record has no key")
	}
	name, known := classNames[key[0]]
	if !known {
		return fmt.Errorf("record %q: this program does not know its kind", record.Readable(key))
	}
	v.report.Records[name]++
	content, err := record.Open(key, value)
	if err != nil {
		return err
	}
	switch string(key) {
	case string(record.KeyNode):
		v.report.Node = processtable.NodeID(content)
	case string(record.KeyFormat):
		_, err := format.Of(content, format.Newest(format.Steps))
		return err
	}
	if v.halfway {
		return nil
	}
	switch key[0] {
	case record.ClassTable:
		return v.table(key, value)
	case record.ClassMessage, record.ClassRecord, record.ClassMarker:
		return v.message(key, value)
	case record.ClassLow:
		peer, lane, low, err := record.ReadLow(key, value)
		if err == nil {
			v.lanes[record.LaneKey{Peer: peer, Lane: lane}] = low.Position
		}
		return err
	case record.ClassTransmission:
		return v.item(key, value)
	case record.ClassApart:
		a, err := record.ReadApart(key, value)
		if err == nil {
			_, err = v.read.Body(a.Place)
		}
		return err
	case record.ClassAccepted:
		_, _, err := record.ReadAccepted(key, value)
		return err
	case record.ClassRefused:
		_, err := v.read.Refused(key, value)
		return err
	case record.ClassParked:
		_, err := v.read.Parked(key, value)
		return err
	case record.ClassPart:
		_, err := v.read.Whole(key, value)
		return err
	case record.ClassInstance, record.ClassEnd, record.ClassHistory:
		_, err := v.read.Audit(key, value)
		return err
	case record.ClassRemoved:
		_, err := record.ReadRemoved(key, value)
		return err
	case record.ClassStaged:
		_, _, _, err := record.ReadStaged(key, value)
		return err
	case record.ClassTimer:
		_, err := record.ReadTimer(key, value)
		return err
	}
	return nil // chunks are read with what names them; the others have no content
}

func (v *verifier) table(key, value []byte) error {
	encoded, hash, err := v.read.Table(key, value)
	if err != nil {
		return err
	}
	t, err := processtable.Decode(encoded)
	if err != nil {
		return record.Damaged(key, err.Error())
	}
	if t.Definition != hash {
		return record.Damaged(key, "it names another definition than its table has")
	}
	return nil
}

func (v *verifier) message(key, value []byte) error {
	s, err := record.ReadMessage(key, value)
	if err != nil {
		return err
	}
	if _, err := v.read.Body(s.Place); err != nil {
		return fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	entry := s.Message.Entry()
	if string(record.AppendMessageKey(nil, s.Message.Queue.Process, &entry, s.Message.Key())) != string(key) {
		return record.Damaged(key, "its message belongs under another key")
	}
	return nil
}

// item verifies that the running hash goes on from the item before (L1).
func (v *verifier) item(key, value []byte) error {
	k := record.KeyReader{Rest: key[1:]}
	lane := record.LaneKey{Peer: processtable.NodeID(k.Name()), Lane: message.Lane(k.Bytes(1)[0])}
	item, err := record.ReadItem(key, value)
	if err != nil {
		return err
	}
	payload, err := v.read.Body(item.Place)
	if err != nil {
		return fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	before := v.lanes[lane]
	v.lanes[lane] = item.At.Position
	switch {
	case item.At.Number != before.Number+1:
		return record.Damaged(key, fmt.Sprintf("item %d comes directly before it: items between are missing", before.Number))
	case item.At.Hash != record.HashNext(before.Hash, payload):
		return record.Damaged(key, "its running hash does not continue that of the item before")
	}
	return nil
}
