package core

import (
	"cmp"
	"fmt"
	"strings"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// describe says what an effect is; empty: it is not worth a line.
func (a *actor) describe(effect Effect) string {
	switch e := effect.(type) {
	case Send:
		return fmt.Sprintf("sends over %d: %s", e.Via, describe(e.Frame))
	case Close:
		return strings.TrimRight(fmt.Sprintf("closes %d: %s", e.Via, e.Reason), ": ")
	case Read:
		if a.holds["read"] {
			return fmt.Sprintf("asks #%d: read lane %d from %d", e.Token, e.Lane, e.From)
		}
	case Load:
		return fmt.Sprintf("asks #%d: load", e.Token)
	case Accept:
		return fmt.Sprintf("asks #%d: accept lane %d: %s after %d of store %x", e.Token, e.Lane, spanOf(e.Items), e.After.Number, e.Incarnation[:1])
	case Bind:
		return fmt.Sprintf("asks #%d: bind store %x", e.Token, e.Incarnation[:1])
	case Begin:
		return fmt.Sprintf("asks #%d: begin after %d and %d", e.Token, e.At[0].Number, e.At[1].Number)
	case Rebind:
		return fmt.Sprintf("asks #%d: rebind to store %x", e.Token, e.Incarnation[:1])
	case Withdraw:
		return fmt.Sprintf("withdraws #%d", e.Token)
	case Reads:
		if !a.reads {
			return ""
		}
		lacks := e.Reads.Lacks(message.Needs{Format: 2, Kind: message.KindWord, Body: 1})
		return "has its store know that the peer lacks " + cmp.Or(lacks, "nothing") + ", for an operator's word"
	case Trim:
		return fmt.Sprintf("lets go of lane %d up to %d", e.Lane, e.Number)
	case Stopped:
		if e.Stop.Code == frame.StopByPeer {
			return "is refused: " + strings.SplitN(e.Stop.Reason, " and says", 2)[0]
		}
		return "is stopped: " + strings.SplitN(e.Stop.Reason, ":", 2)[0]
	case Resumed:
		return "goes on"
	case Decided:
		if e.Err == nil {
			return fmt.Sprintf("answers decision %d: the link goes on", e.ID)
		}
		return fmt.Sprintf("answers decision %d: %v", e.ID, e.Err)
	case Uncarried:
		return fmt.Sprintf("cannot ask query %d", e.Frame.Query.ID)
	case Way:
		if !a.ways {
			return ""
		}
		return strings.TrimRight(fmt.Sprintf("shows %d as %s: %s", e.Via, e.Stands, e.Reason), ": ")
	case Up:
		return "is connected"
	case Down:
		return "is not connected any more"
	case Deliver:
		return "delivers " + describe(e.Frame)
	}
	return ""
}

func spanOf(items []record.Item) string {
	return fmt.Sprintf("%d-%d", items[0].Number, items[len(items)-1].Number)
}

// describe says what a frame is, and what it confirms.
func describe(f *frame.Frame) string {
	text := ""
	switch f.Type {
	case frame.TypeHello:
		text = fmt.Sprintf("hello of store %x, knows %x", f.Hello.Incarnation[:1], f.Hello.Known[:1])
		if f.Answer != 0 {
			text += ", answers"
		}
	case frame.TypeData:
		text = fmt.Sprintf("data lane %d: %d-%d", f.Data.Lane, f.Data.First, f.Data.First+uint64(len(f.Data.Payloads))-1)
	case frame.TypeAck:
		text = "ack"
		if f.Challenge != 0 {
			text = "question"
		} else if f.Answer != 0 {
			text = "answer"
		}
	case frame.TypeGap:
		text = fmt.Sprintf("gap lane %d from %d", f.Gap.Lane, f.Gap.From)
	case frame.TypeQuery:
		text = fmt.Sprintf("query %d %s", f.Query.ID, f.Query.Kind)
	case frame.TypeReply:
		text = fmt.Sprintf("reply %d", f.Reply.ID)
	case frame.TypeStop:
		text = fmt.Sprintf("stop %d, final %t", f.Stop.Code, f.Stop.Final)
	}
	for l, r := range f.Receipts {
		if r.Received != 0 {
			text += fmt.Sprintf(" (lane %d: has %d, received %d)", l, r.Number, r.Received)
		}
	}
	return text
}

// show says how both sites stand: the core's view, and what its store has.
func (s *stage) show() {
	for _, a := range s.sites {
		state := "not connected"
		switch {
		case a.core.established():
			state = "connected"
		case a.core.stopped != nil:
			state = "stopped"
			if a.core.Standing().Stop.Reason != a.core.stopped.Reason {
				state += ", and goes on once nothing is under way"
			}
		case a.core.refusal != nil:
			state = "refused"
		}
		if why := a.core.hindrance(); why != "" {
			state += ": " + why
		}
		s.say("%s is %s", a.name, state)
		for l := range message.Lane(record.Lanes) {
			kept := a.lasts()[l].Number - a.trim[l]
			if a.core.in[l].received.Number != 0 || a.accepted[l].Number != 0 || len(a.items[l]) != 0 {
				s.say("  lane %d: its store has %d of the peer, it confirms %d; it keeps %d of its own %d",
					l, a.accepted[l].Number, a.core.in[l].accepted.Number, kept, len(a.items[l]))
			}
		}
		for _, token := range a.tokens() {
			s.say("  #%d is under way: %s", token, strings.TrimPrefix(a.describe(a.asked[token]), fmt.Sprintf("asks #%d: ", token)))
		}
	}
}
