package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// Superseding says what a transaction has to change of the record of an activity's end that does not stand as it is
// (N30): it becomes a line of history as it is, with what it has staged, or what it says was sent gets another
// number. Nothing else may change that record meanwhile: it is of an activity that the transaction is about, in an instance
// that has not ended. It fails where there is none.
func (q *Queue) Superseding(s record.Supersede) (ops []store.Op, rewrite *record.Rewrite, err error) {
	key := record.AppendEndKey(nil, &s.Entry)
	value, err := q.records.Get(key)
	if err != nil {
		return nil, nil, fmt.Errorf("end of %s in instance %s, which is to be restarted: %w", s.Entry.Path(), s.Entry.Instance, q.records.Judge(err))
	}
	a, ref, err := record.ReadAuditHead(key, value)
	if err != nil {
		return nil, nil, q.records.Judge(err)
	}
	if s.Edition == 0 {
		past := pastKey(&a)
		value = bytes.Clone(value)
		record.Seal(past, value)
		return []store.Op{{Key: key}, {Key: past, Value: value}}, nil, nil
	}
	if a, err = q.records.Audit(key, value); err != nil {
		return nil, nil, q.records.Judge(err)
	}
	a.Sent = slices.Clone(a.Sent)
	for i := range a.Sent {
		if a.Sent[i].Kind == 0 {
			a.Sent[i].Nth = s.Edition
		}
	}
	return nil, &record.Rewrite{Key: key, Before: ref, Record: a}, nil
}

// pastKey is where an end lies that was superseded: among the events of its instance, by its clock. In the place of the commit
// and the index, which tell two events of one clock apart, stands what is of this end alone.
func pastKey(a *record.AuditRecord) []byte {
	key := append([]byte{record.ClassHistory}, a.Instance[:]...)
	key = binary.BigEndian.AppendUint64(key, a.Clock)
	sum := sha256.Sum256(append(record.AppendName(record.AppendName(nil, string(a.Scope)), string(a.Activity)), strconv.Itoa(a.Run)...))
	return append(key, sum[:8+4]...)
}
