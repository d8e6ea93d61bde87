package admission

import (
	"testing"

	"fmqm/message"
)

// N19: a table that comes is pending where other sites have to store theirs, until one comes that is current at
// once: before it, with it, or behind it. That it is current is told once, however often it comes.
func TestATableThatIsCurrentAtOnce(t *testing.T) {
	for name, kinds := range map[string][][]message.Kind{
		"alone":                  {{message.KindCurrent}},
		"behind the table":       {{message.KindTable}, {message.KindCurrent}},
		"before the table":       {{message.KindCurrent}, {message.KindTable}},
		"in one batch":           {{message.KindTable, message.KindCurrent}},
		"in one batch, before":   {{message.KindCurrent, message.KindTable}},
		"in one batch, and late": {{message.KindTable}, {message.KindTable, message.KindCurrent}},
		"twice":                  {{message.KindCurrent}, {message.KindCurrent}},
		"twice in one batch":     {{message.KindCurrent, message.KindCurrent}},
		"again with its table":   {{message.KindTable}, {message.KindCurrent}, {message.KindTable, message.KindCurrent}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			for i, batch := range kinds {
				var sent []message.Message
				for _, kind := range batch {
					m := w.to(kind)
					m.Body = w.encoded
					sent = append(sent, m)
				}
				w.sends("B", sent...)
				if id := w.table.Process; i < len(kinds)-1 && batch[0] == message.KindTable && !w.Queue.IsPending(id) {
					t.Errorf("the table of %s is not pending", id)
				}
			}
			id := w.table.Process
			if _, stored := w.Queue.Bound(id); !stored || w.Queue.IsPending(id) || len(w.current) != 1 || w.current[0] != id || len(w.refused) > 0 {
				t.Errorf("stored %t, pending %t, told of %v, refused %v", stored, w.Queue.IsPending(id), w.current, w.refused)
			}
		})
	}
}
