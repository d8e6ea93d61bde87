package definition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
)

// checkEvents warns of events that nothing is done with, and of data that nothing gives.
func (p *processDraft) checkEvents() {
	for _, e := range p.result.Events {
		if !p.usedEvents[e.Name] {
			p.warn(e.Pos, codeNoEffect, fmt.Sprintf("no activity receives or sends the event %s", e.Name), "leave it out, or name it in `receive` or `send` of an activity")
		}
	}
}

// checkEventData warns of members that stay at their defaults where an event is sent or received.
func (d *draft) checkEventData(s *step) {
	if s.Send != nil {
		d.checkSent(s)
	}
	if s.Receive != nil && s.output.at.Line > 0 {
		d.checkReceived(s)
	}
}

func (d *draft) checkSent(s *step) {
	var missing []string
	event := s.Send.Event
	for _, m := range event.Type.Members {
		i, ok := s.Input.MemberIndex(m.Name)
		if !ok {
			missing = append(missing, m.Name)
		} else if t := s.Input.Members[i].Type; !container.SameType(t, m.Type) {
			d.warn(s.Send.Pos, codeEventUnset, fmt.Sprintf("nothing gives %s of %s: there it is %s, and in %s %s", m.Name, event.Name, article(m.Type), s.Input, article(t)),
				"declare both with the same type")
		}
	}
	if len(missing) > 0 {
		it := "it"
		if len(missing) > 1 {
			it = "them"
		}
		d.warn(s.Send.Pos, codeEventUnset, fmt.Sprintf("nothing gives %s of %s", strings.Join(missing, ", "), event.Name),
			fmt.Sprintf("add %s to the input of %s, or declare the event without %[1]s", it, s.Name))
	}
}

// checkReceived warns where an output takes nothing of what an event has under the name of one of its members,
// and where it takes nothing at all.
func (d *draft) checkReceived(s *step) {
	takes := false
	for _, m := range s.Output.Members {
		var other *Event
		given := slices.ContainsFunc(s.Receive.Events, func(e *Event) bool {
			i, ok := e.Type.MemberIndex(m.Name)
			if ok && !container.SameType(e.Type.Members[i].Type, m.Type) {
				other = e
				return false
			}
			return ok
		})
		if takes = takes || given || other != nil; !given && other != nil {
			_, t, _ := other.Type.Resolve(m.Name)
			d.warn(s.output.at, codeEventUnset, fmt.Sprintf("nothing gives %s of %s: there it is %s, and in the event %s %s", m.Name, s.Output, article(m.Type), other.Name, article(t)),
				"declare both with the same type")
		}
	}
	if !takes {
		d.warn(s.output.at, codeEventUnset, fmt.Sprintf("the output of %s takes nothing: no member of %s is one of %s", s.Name, s.Output, strings.Join(s.Receive.Names(), ", ")),
			"leave `output` out, or name the structure of the event")
	}
}

// neverReceived reports events that a condition or expression over the output of s asks for, and that s never
// receives.
func (d *draft) neverReceived(s *step, n *yaml.Node, text string) {
	if s == nil || s.Receive == nil || len(s.Receive.Events) == 0 || d.eventsUnknown {
		return
	}
	names := s.Receive.Names()
	for _, c := range condition.ComparedWith(text, s.scope(), condition.WordEvent) {
		if c.Text != "" && !slices.Contains(names, c.Text) {
			d.fail(d.within(n, c.Offset), codeUnknownName, fmt.Sprintf("%s never receives %s", s.Name, c.Text), "it receives "+strings.Join(names, ", "))
		}
	}
}

// asksTime says whether a condition out of a receive asks by _EVENT whether the deadline has come: it is TRUE then,
// and for no event.
func (d *draft) asksTime(s *step, c *Condition) bool {
	if s.Receive == nil || c == nil || c.Checked.Reads&condition.WordEvent == 0 || !d.overDefaults(s, c, condition.Values{RC: noCode, Timeout: true}) {
		return false
	}
	return !slices.ContainsFunc(s.Receive.Events, func(e *Event) bool {
		return d.overDefaults(s, c, condition.Values{Event: e.Name})
	})
}

// asksTimeAnywhere says that one of the conditions out of s does.
func (d *draft) asksTimeAnywhere(s *step) bool {
	return slices.ContainsFunc(s.out, func(i int) bool { return d.asksTime(s, d.Control[i].Condition) })
}

// wordsHold is what holds of the words of s however it has ended; empty: nothing that is known.
func (s *step) wordsHold() string {
	hides := s.output.hides
	switch timed := s.Deadline != nil && !hides(condition.WordTimeout); {
	case s.Bundle != nil: // these are of one execution
		return ""
	case s.Receive != nil && hides(condition.WordEvent):
		return ""
	case s.Receive != nil:
		names := make([]string, len(s.Receive.Events))
		for i, e := range s.Receive.Events {
			names[i] = strconv.Quote(e.Name)
		}
		events := "_EVENT in [" + strings.Join(names, ", ") + "]"
		switch {
		case s.Deadline == nil:
			return events
		case timed:
			return `_TIMEOUT ? _EVENT == "" : ` + events
		}
		return `_EVENT == "" || ` + events
	case timed && s.Continues && !hides(condition.WordError):
		return `!_TIMEOUT || _ERROR == ""`
	}
	return ""
}

// eventPremise is what holds of the event that a receive has got.
func (c *comparison) eventPremise(s *step) []premise {
	if s.Receive == nil {
		return nil
	}
	why := fmt.Sprintf("_EVENT of %s is %s", s.Name, strings.Join(s.Receive.Names(), " or "))
	if s.Deadline != nil {
		why += ", and empty at its deadline only"
	}
	if holds := s.wordsHold(); holds != "" {
		if claim := c.claim(s, &Condition{Written: holds}); claim != nil {
			return []premise{{claim: claim, why: why, remedy: "correct the condition"}}
		}
	}
	return nil
}

// readsForEvents says whether an expression of a receive or a send reads the input.
func (a *Activity) readsForEvents() bool {
	return a.Receive != nil && a.Receive.Key != nil ||
		a.Send != nil && (a.Send.Key != nil || a.Send.ToExpr != nil || a.Send.Keep != nil && a.Send.Keep.Expr != nil)
}
