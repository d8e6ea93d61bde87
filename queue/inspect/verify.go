package inspect

import (
	"fmt"
	"maps"
	"slices"

	"fmqm/internal/store"
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
	// Unfinished says what the next start finishes before anything else is read. Until then
	// records need not fit each other, and only each by itself is judged.
	Unfinished []string `json:"unfinished,omitempty"`
}

// classNames is what the kinds of records are called.
var classNames = map[byte]string{
	record.ClassMeta: "meta", record.ClassTable: "process table", record.ClassMessage: "message", record.ClassRecord: "instance record",
	record.ClassMarker: "marker", record.ClassTransmission: "transmission item", record.ClassLow: "trimmed position", record.ClassAccepted: "accepted position",
	record.ClassPeer: "peer", record.ClassPart: "incoming part", record.ClassRefused: "set aside", record.ClassTimer: "timer", record.ClassChunk: "body chunk",
	record.ClassStaged: "staged body", record.ClassLarge: "large transaction", record.ClassParked: "parked message", record.ClassApart: "item apart", record.ClassUsage: "left by a peer", record.ClassInstance: "instance", record.ClassStart: "start", record.ClassListed: "index", record.ClassSearch: "value", record.ClassEnd: "activity end", record.ClassHistory: "event", record.ClassRemoved: "removed instance",
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
	for _, u := range unfinished {
		if _, err := engine.Get(u.key); err == nil {
			v.report.Unfinished = append(v.report.Unfinished, u.what)
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

// unfinished is what may be half made, and the record that says so.
var unfinished = []struct {
	key  []byte
	what string
}{
	{record.KeyLarge, "a large transaction is half made: the next start finishes it"},
	{record.KeyMigrating, "the store is on its way to another format: the next start goes on with it"},
}

// maxProblems ends a Verify: more say nothing new.
const maxProblems = 1000

type verifier struct {
	read   read.Records
	report Report
	lanes  map[record.LaneKey]record.Position // of transmission queues, as far as they are read
}

func (v *verifier) record(key, value []byte) error {
	if len(key) == 0 {
		return errKeyless
	}
	name, known := classNames[key[0]]
	if !known {
		return errUnknown(key)
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
	if len(v.report.Unfinished) > 0 {
		return nil
	}
	switch key[0] {
	case record.ClassLow:
		peer, lane, low, err := record.ReadLow(key, value)
		if err == nil {
			v.lanes[record.LaneKey{Peer: peer, Lane: lane}] = low.Position
		}
		return err
	case record.ClassTransmission:
		return v.item(key, value)
	}
	return alone(v.read, key, value)
}

// item verifies that the running hash goes on from the item before (L1).
func (v *verifier) item(key, value []byte) error {
	lane, item, payload, err := item(v.read, key, value)
	if err != nil {
		return err
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
