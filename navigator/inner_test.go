package navigator

import (
	"strings"
	"testing"

	"fmqm/message"
	"fmqm/processtable"
)

// Invariant 11: who may cancel an activity here, or tell a block of an error inside of it.
func TestWhoMayCancelOrReturn(t *testing.T) {
	p := catching(t) // j alone lives at N
	i := p.activities.Get(processtable.RowID{Name: "i", Inside: "b"})
	i.CancelledBy = []processtable.ActivityID{"j"}
	p.table.Starts = append(p.table.Starts, origin)
	says := func(kind message.Kind, source processtable.ActivityID, from message.Scope, to processtable.ActivityID, in message.Scope) message.Header {
		return message.Header{
			Queue: message.Queue{Process: p.table.Process, Node: here}, Instance: instance, Origin: origin,
			Kind: kind, Source: source, SourceScope: from, Activity: to, Scope: in,
		}
	}
	ofHere := func(h message.Header) message.Header {
		h.Origin = here
		return h
	}
	const back, cancel = message.KindReturn, message.KindCancel
	for _, tc := range []struct {
		name string
		peer processtable.NodeID
		h    message.Header
		want string
	}{
		{"an error inside", "N", says(back, "j", "b#1", "b", ""), ""},
		{"of another site's activity", "M", says(back, "j", "b#1", "b", ""), "activity j of p@1 is hosted at N, and the message came from M"},
		{"of what is here", "N", says(back, "i", "b#1", "b", ""), "is hosted at H"},
		{"to a block that it is not inside of", "N", says(back, "j", "b#1", "x", ""), "has x catch none there"},
		{"to one that catches nothing", "N", says(back, "j", "b#1", "c", "b#1"), "has c catch none there"},
		{"from a scope that nothing is in", "N", says(back, "j", "c#1/b#1", "b", ""), `p@1 has no activity j in the scope "c#1/b#1"`},
		{"from another block's scope", "N", says(back, "j", "b#1/c#1", "b", ""), `p@1 has no activity j in the scope "b#1/c#1"`},
		{"from an iteration that cannot be", "N", says(back, "j", "b#1", "b", "x#1"), "activity b of p@1: "},
		{"what the table lets it cancel", "N", says(cancel, "j", "b#1", "i", "b#1"), ""},
		{"what it may not cancel", "N", says(cancel, "j", "b#1", "c", "b#1"), "it says that j cancels c, which the table of p@1 here does not allow"},
		{"as the block around", "N", says(cancel, "b", "", "i", "b#1"), "activity b of p@1 is hosted at H, and the message came from N"},
		{"as another block", "H", says(cancel, "x", "", "i", "b#1"), "it says that x cancels i, and that is not inside of it"},
		{"what is not here", "N", says(cancel, "j", "b#1", "j", "b#1"), "it says that j cancels j, which the table of p@1 here does not allow"},
		{"the sink of the process", "N", ofHere(says(cancel, "j", "b#1", "sink", "")), "it says that j cancels sink"},
		{"the sink that is elsewhere", "N", says(cancel, "j", "b#1", "sink", ""), "activity sink of p@1 is hosted where the instance was started, and it says that this was at O"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.Refuses(tc.peer, &tc.h); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}
