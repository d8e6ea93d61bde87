package behaviour

import (
	"reflect"
	"testing"

	"fmqm/message"
)

// Whoever waits has nothing to be done: whatever field a behaviour sets, it is not waiting, also
// where it sets no other. A field that is added later has to be in the list.
func TestOnlyTheZeroEffectsWait(t *testing.T) {
	if !(&Effects{}).Waits() {
		t.Error("the zero effects do not wait")
	}
	one := Effects{
		Invoke: &Invoke{}, Put: []message.Message{{}}, Timers: []Timer{{}}, Takes: []message.Key{{}}, Untimed: []Timer{{}},
		Ends: true, Lines: []Outcome{{What: Withdrawn}}, Outcome: Outcome{What: Failed}, Recall: &RecallEnd{},
	}
	of := reflect.ValueOf(one)
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		if of.Field(i).IsZero() {
			t.Fatalf("the test says nothing of %s", name)
		}
		var e Effects
		reflect.ValueOf(&e).Elem().Field(i).Set(of.Field(i))
		if e.Waits() {
			t.Errorf("effects with nothing but %s wait: they would be dropped", name)
		}
	}
}
