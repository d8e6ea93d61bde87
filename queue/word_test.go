package queue_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/record"
)

// visits counts what is read of a store's history. What the manager looks for beside its first
// commits is not counted: it goes on while the test does.
type visits struct {
	kept
	scanned, got atomic.Int64
}

func (v *visits) Get(key []byte) ([]byte, error) {
	v.got.Add(1)
	return v.kept.Get(key)
}

func (v *visits) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return v.kept.Scan(o, func(key, value []byte) bool {
		if key[0] == record.ClassHistory {
			v.scanned.Add(1)
		}
		return visit(key, value)
	})
}

// since gives what was read since it was last asked.
func (v *visits) since() (scanned, got int64) { return v.scanned.Swap(0), v.got.Swap(0) }

// What came of a word is found from the end of its instance's history, without what else stands
// there: a loop may have written thousands of outputs before somebody asked, and will after.
func TestN15AWordIsFoundFromTheEndOfTheHistory(t *testing.T) {
	const rounds, after = 50, 5
	h := &historian{t: t, engine: newEngine(t)}
	v := &visits{kept: kept{h.engine}}
	var err error
	h.m, err = queue.Open(v, queue.Options{Node: "A"})
	h.must(err)
	defer func() { h.close(); h.must(h.engine.Close()) }()

	id, here, there := message.InstanceID{1}, uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	loop := make([]record.AuditRecord, rounds)
	for i := range loop {
		loop[i] = record.AuditRecord{Instance: id, Activity: "x", Event: record.EventIterated, Output: make([]byte, 40_000)}
	}
	words := []record.AuditRecord{
		{Instance: id, Activity: "y", Event: record.EventAsked, Word: &record.Word{ID: there, Wish: message.WishRetry, Home: "B"}},
		{Instance: id, Activity: "y", Event: record.EventAnswered, Word: &record.Word{ID: there, Wish: message.WishRetry, Result: message.WordRefused, Home: "B"}},
		{Instance: id, Activity: "x", Event: record.EventRetried, Word: &record.Word{ID: here, Wish: message.WishRetry, Result: message.WordDone}},
	}
	h.audit(append(append(loop, words...), loop[:after]...)...)

	v.since()
	asked, answered, err := h.m.Word(message.Entry{Instance: id, Activity: "x"}, "", here)
	if err != nil || asked != nil || answered == nil || answered.Word.Result != message.WordDone {
		t.Errorf("of the word here: asked %+v, answered %+v, %v", asked, answered, err)
	}
	if scanned, got := v.since(); scanned != after+1 || got != 0 {
		t.Errorf("for the word here %d records and %d bodies were read, want %d and none", scanned, got, after+1)
	}

	asked, answered, err = h.m.Word(message.Entry{Instance: id, Activity: "y"}, "B", there)
	if err != nil || asked == nil || answered == nil || answered.Word.Result != message.WordRefused {
		t.Errorf("of the word to B: asked %+v, answered %+v, %v", asked, answered, err)
	}
	if scanned, got := v.since(); scanned != after+3 || got != 0 {
		t.Errorf("for the word to B %d records and %d bodies were read, want %d and none", scanned, got, after+3)
	}

	if asked, answered, err = h.m.Word(message.Entry{Instance: id, Activity: "x"}, "B", there); err != nil || asked != nil || answered != nil {
		t.Errorf("of another activity's word: asked %+v, answered %+v, %v", asked, answered, err)
	}
	if _, got := v.since(); got != 0 {
		t.Errorf("for a word that there is not %d bodies were read, want none", got)
	}

	skipped := uuid.Must(uuid.NewV7())
	h.audit(record.AuditRecord{Instance: id, Activity: "z", Event: record.EventSkipped, Word: &record.Word{ID: skipped, Wish: message.WishSkip, Result: message.WordDone}})
	for word, found := range map[message.WordID]bool{skipped: true, here: false} { // it is in the activity's end
		if asked, answered, err = h.m.Word(message.Entry{Instance: id, Activity: "z"}, "", word); err != nil || asked != nil || (answered != nil) != found {
			t.Errorf("of the word of an end: asked %+v, answered %+v, %v", asked, answered, err)
		}
	}
}
