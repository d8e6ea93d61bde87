package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
)

// resolveRC decides for each activity whether a return code other than 0 is data.
func (d *draft) resolveRC() {
	for _, s := range d.steps {
		switch s.OnRC {
		case OnRCContinue:
			s.RCIsData = true
		case OnRCError:
			s.RCIsData = false
		case OnRCDefault:
			s.RCIsData = s.readsRC && !s.Continues
		}
	}
}

// checkUse warns of containers and settings that have no effect. An input container
// that no connector sets is none of them: its defaults are how a definition gives a
// program constants.
func (d *draft) checkUse() {
	d.checkHidden()
	d.checkEnds()
	d.checkCancels()
	d.checkAsked()
	for _, s := range d.steps {
		d.checkEffect(s)
		d.checkBundle(s)
		d.checkEventData(s)
		if s.output.at.Line > 0 && !s.outputRead && s.Child == nil { // that of a subprocess is as its process has it
			remedy := "map it, or leave `output` out: then what the program prints goes to the log"
			switch {
			case s.Receive != nil || s.Send != nil:
				remedy = "map it, or leave `output` out"
			case s.Block != nil:
				remedy = "map it, or leave `output` out, with what is mapped to sink inside"
			}
			d.warn(s.output.at, codeUnread, fmt.Sprintf("no condition or data connector reads the output of %s", s.Name), remedy)
		}
		if s.OnRC == OnRCContinue && !s.readsRC && !s.Empty {
			d.warn(s.onRCAt, codeOnRCUnread, fmt.Sprintf("no condition or data connector of %s reads _RC, so its failures go unseen", s.Name),
				"read _RC in a condition or mapping, or leave `on_rc` out")
		}
	}
	under := "`data`"
	if d.of != nil {
		under = "its `data`"
	}
	if d.input.at.Line > 0 && !d.inputRead {
		d.warn(d.input.at, codeUnread, "no data connector reads the input of "+d.owner, fmt.Sprintf("add `- source -> ACTIVITY` under %s, or leave `input` out", under))
	}
	if !d.exitConstant() && d.output.at.Line > 0 && !d.outputSet {
		d.warn(d.output.at, codeUnset, "no data connector sets the output of "+d.owner, fmt.Sprintf("add `- ACTIVITY -> sink` under %s, or leave `output` out", under))
	}
}

// exitConstant warns of a block whose exit condition reads only what nothing inside sets: it is
// then the same after each iteration.
func (d *draft) exitConstant() bool {
	if d.of == nil || d.of.Exit == nil {
		return false
	}
	s := d.of
	reads := condition.ReadsOf(s.Exit.Written, s.scope())
	for _, k := range d.Data {
		if k.Target == sinkEnd && slices.ContainsFunc(k.Mappings, func(m Mapping) bool {
			return slices.Contains(reads, s.Output.Members[m.To[0]].Name)
		}) {
			return false
		}
	}
	if len(reads) == 0 {
		return false
	}
	which := "it"
	if len(reads) > 1 {
		which = "one of them"
	}
	d.warn(s.Exit.Pos, codeExitConstant, fmt.Sprintf("nothing inside %s sets %s, so every iteration gives the same", s.Name, strings.Join(reads, " or ")),
		fmt.Sprintf("map %s, `- %s -> sink: {%[3]s: %[3]s}`", which, d.giverOf(reads[0]), reads[0]))
	return true
}

// giverOf names the last activity whose output has a member as what the graph is of has it.
func (d *draft) giverOf(member string) string {
	_, want, _ := d.output.members.Resolve(member)
	for _, s := range slices.Backward(d.topology) {
		if _, t, err := s.Output.Resolve(member); err == nil && container.SameType(t, want) {
			return s.Name
		}
	}
	return "ACTIVITY"
}

// checkEffect warns of keys that say how something is done which is not done at all.
func (d *draft) checkEffect(s *step) {
	warn := func(key string, why, remedy string) {
		if at := s.keys[key]; at != nil {
			d.warn(d.pos(at), codeNoEffect, fmt.Sprintf("%s of %s has no effect: %s", key, s.Name, why), remedy)
		}
	}
	if s.Exit == nil {
		const why, remedy = "without `exit` it runs once", "write `exit: CONDITION`, or leave this out"
		warn("max_iterations", why, remedy)
		warn("again", why, remedy)
	}
	if ways := len(s.out); ways < 2 || ways == 2 && s.otherwise != nil {
		warn("choice", "fewer than two control connectors, besides `otherwise`, lead out of it", "leave it out, or add the connectors that it is to choose from")
	}
	switch {
	case s.Empty:
		const why, remedy = "an empty activity runs no program that could fail", "leave it out, or name a program"
		warn("retry", why, remedy)
		warn("on_rc", why, remedy)
	case s.RetryAttempts == 1:
		warn("retry", "attempts counts all tries, also the first, so 1 means no retry", "write the number of all tries, such as {attempts: 3}, or leave it out")
	}
}
