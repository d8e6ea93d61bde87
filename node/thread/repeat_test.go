package thread

import (
	"testing"

	"fmqm/message"
	"fmqm/queue/record"
)

// N7, S4: a repeat says what a message said that the entry was ended with; another truth
// value, data where there were none, or another source is no repeat.
func TestWhatIsARepeat(t *testing.T) {
	said := message.Message{Header: message.Header{
		Kind: message.KindConnector, Source: "a", Control: message.True, Data: message.DataPresent,
	}}
	ended := record.AuditRecord{Consumed: []record.Consumed{
		{Key: message.Key{Kind: message.KindConnector, Source: "z"}, Control: message.True},
		{Key: said.Key(), Control: message.True, Data: message.DataPresent, Clock: 7},
	}}
	for name, tc := range map[string]struct {
		change func(*message.Message)
		want   bool
	}{
		"the same":       {func(*message.Message) {}, true},
		"another clock":  {func(m *message.Message) { m.Clock = 99 }, true},
		"another truth":  {func(m *message.Message) { m.Control = message.False }, false},
		"no data":        {func(m *message.Message) { m.Data = message.DataAbsent }, false},
		"another source": {func(m *message.Message) { m.Source = "b" }, false},
	} {
		m := said
		tc.change(&m)
		if got := repeats(ended, m); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
