package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fmqm/link/frame"
	"fmqm/queue/record"
)

// A store that fails is not a disagreement: the connection ends with the reason, and
// the next one goes on where the disk is.
func TestFailingStoreEndsTheConnectionOnly(t *testing.T) {
	items := func(e Items) func(a, b *site) Event {
		return func(a, _ *site) Event {
			a.put(0, "sixth")
			a.core.Step(Woken{Last: a.lasts()})
			e.Token, e.From = a.core.out[0].reading, 6
			return e
		}
	}
	tests := []struct {
		name  string
		event func(a, b *site) Event
		want  string
	}{
		{"read", items(Items{Err: errors.New("checksum of record 6 does not match")}), "cannot read the transmission queue for site B: checksum of record 6 does not match"},
		{"read nothing", items(Items{}), "cannot read the transmission queue for site B: no item 6 in lane 0"},
		{"read another", items(Items{Items: []record.Item{{Number: 8}}}), "cannot read the transmission queue for site B: item 8 in lane 0 where 6 was expected"},
		{"read too large", items(Items{Items: []record.Item{{Number: 6, Payload: make([]byte, frame.MaxItem+1)}}}), "cannot read the transmission queue for site B: item 6 in lane 0 has 2097153 bytes: at most 2097152"},
		{"accept", func(a, b *site) Event {
			b.put(0, "sixth")
			a.core.Step(Received{Via: a.via, Frame: b.data(a, 6, 6)})
			return Accepted{Token: a.core.in[0].under.token, Lane: 0, At: a.accepted[0], Err: errDisk}
		}, "cannot put messages of site B: no space left"},
		{"accept less", func(a, b *site) Event {
			b.put(0, "sixth")
			a.core.Step(Received{Via: a.via, Frame: b.data(a, 6, 6)})
			return Accepted{Token: a.core.in[0].under.token, Lane: 0, At: a.accepted[0]}
		}, "cannot put messages of site B: the store has them up to 5, and 6 was expected"},
		{"unreadable frame", func(*site, *site) Event { return Unreadable{Via: 1, Err: errors.New("malformed frame: x")} }, "site B sent something that this version cannot read: malformed frame: x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, a, b := exchanged(t)
			effects := a.core.Step(tt.event(a, b))
			want := Close{Via: a.via, Reason: tt.want}
			if !slices.Contains(effects, Effect(want)) {
				t.Fatalf("got %+v, expected %+v", effects, want)
			}
			if a.core.stopped != nil {
				t.Fatal("the link is stopped")
			}
		})
	}
}

// What a peer chose to be complained of does not fill what is kept and said.
func TestALongReasonIsCut(t *testing.T) {
	_, a, _ := exchanged(t)
	for _, e := range a.core.Step(Unreadable{Via: 1, Err: errors.New(strings.Repeat("x", 1<<20))}) {
		switch e := e.(type) {
		case Send:
			if n := len(e.Frame.Stop.Reason); n > frame.MaxReason {
				t.Errorf("%d bytes are said to the peer", n)
			}
		case Close:
			if n := len(e.Reason); n > frame.MaxReason {
				t.Errorf("%d bytes are kept", n)
			}
		}
	}
}

// The items came whole, and are not what the sender's store said of them.
func TestItemsThatDoNotMatchTheirHashAreNotAccepted(t *testing.T) {
	w, a, b := exchanged(t)
	a.put(0, "sixth")
	a.items[0][5].Payload = []byte("rotten")
	w.woken(a)
	p := w.packets[len(w.packets)-1]
	f, err := frame.Decode(p.data)
	if err != nil {
		t.Fatal(err)
	}
	effects := b.core.Step(Received{Via: b.via, Frame: &f})
	if len(effects) != 3 || effects[2] != Effect(Way{Via: b.via, Stands: Standby}) {
		t.Fatalf("got %+v", effects)
	}
	if told := effects[0].(Send).Frame.Stop; told.Final || !strings.Contains(told.Reason, "check the disk of A") {
		t.Fatalf("the peer was told %+v", told)
	}
	closed, ok := effects[1].(Close)
	if !ok || !strings.Contains(closed.Reason, "the messages 6 to 6 in lane 0 from site A differ from those that were sent") || !strings.Contains(closed.Reason, "check the disk of A") {
		t.Fatalf("got %+v", effects[0])
	}
	if b.core.in[0].received.Number != 5 {
		t.Fatal("something of it was taken")
	}
}
