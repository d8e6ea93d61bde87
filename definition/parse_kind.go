package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// kinds are what an activity can be, as a set.
type kinds uint8

const (
	kindProgram kinds = 1 << iota
	kindEmpty
	kindBlock
	kindWait
	kindProcess
	kindReceive
	kindSend
	kindManual
)

func (a *Activity) kind() kinds {
	switch {
	case a.Block != nil:
		return kindBlock
	case a.Wait != nil:
		return kindWait
	case a.Child != nil:
		return kindProcess
	case a.Receive != nil:
		return kindReceive
	case a.Send != nil:
		return kindSend
	case a.Staff != nil:
		return kindManual
	case a.Empty:
		return kindEmpty
	}
	return kindProgram
}

// notHere are keys that some kinds do not have, with what is said of one there.
var notHere = []struct {
	key           string
	of            kinds
	whose, remedy string
}{
	{"retry", kindBlock, "retry is of programs and subprocesses", "give it to those inside"},
	{"retry", kindWait, "retry is of programs and subprocesses, and a wait cannot fail", "leave it out"},
	{"on_rc", kindBlock, "on_rc is of programs, and the _RC of a block is always 0", "give it to those inside"},
	{"on_rc", kindWait, "on_rc is of programs, and the _RC of a wait is always 0", "leave it out"},
	{"on_rc", kindProcess, "on_rc is of programs, and the _RC of a subprocess is 0", "leave it out; what goes wrong inside is an error: write `on_error: continue` if that takes a path"},
	{"again", kindBlock, "again is of activities with an _RC, and that of a block is always 0", "leave it out, or give it to those inside"},
	{"again", kindProcess, "again is of activities with an _RC, and that of a subprocess is 0", "leave it out"},
	{"again", kindWait, "again is of activities with an exit condition, and a wait has none", "leave it out"},
	{"exit", kindWait, "a wait ends when its time has come, and has no exit condition", "leave it out; to repeat it, put it into a block with `exit`"},
	{"max_iterations", kindWait, "max_iterations is of activities with an exit condition, and a wait has none", "leave it out"},
	{"on_error", kindEmpty | kindWait, "on_error is of programs, subprocesses and blocks: nothing else fails", "leave it out"},
	{"at", kindBlock, "at is of programs and subprocesses", "give it to those inside, or make the block a process"},
	{"at", kindEmpty, "at is of programs and subprocesses, and an empty activity does nothing at any site", "leave it out"},
	{"at", kindWait, "at is of programs and subprocesses, and a wait does nothing at any site", "leave it out"},
	{"at", kindReceive | kindSend, "at is of programs and subprocesses, and events are received and sent at home", "leave it out; for a site from the data a send has `to: {node: EXPRESSION, of: [B, C]}`"},
	{"autonomy", kindProgram | kindEmpty | kindBlock | kindWait | kindReceive | kindSend, "autonomy is of subprocesses, and this has no `process`", "leave it out"},
	{"notify", kindEmpty, "an empty activity ends at once, and has nobody to notify", "give it to what takes time"},
	{"notify", kindWait, "a wait does no work of which to notify anybody", "write an activity behind another wait"},
	{"deadline", kindEmpty, "an empty activity ends at once, and has no deadline", "give it to what takes time, or write `wait` instead of `empty`"},
	{"deadline", kindWait, "a wait ends when its time has come, and has no deadline", "leave it out; to end it before, let another activity have `cancels`"},
	{"retry", kindReceive | kindSend, "retry is of programs and subprocesses, and events do not fail", "leave it out"},
	{"on_rc", kindReceive | kindSend, "on_rc is of programs, and the _RC of what receives or sends is 0", "leave it out"},
	{"on_error", kindReceive | kindSend, "on_error is of programs, subprocesses and blocks: nothing else fails", "leave it out"},
	{"again", kindReceive, "again is of activities with an _RC, and that of a receive is 0", "leave it out"},
	{"again", kindSend, "again is of activities with an exit condition, and a send has none", "leave it out"},
	{"exit", kindSend, "a send ends at once, and has no exit condition", "leave it out; to repeat it, put it into a block with `exit`"},
	{"max_iterations", kindSend, "max_iterations is of activities with an exit condition, and a send has none", "leave it out"},
	{"title", ^kindManual, "title is of manual activities", "write it as `description`"},
	{"offered_at", ^kindManual, "offered_at is of manual activities", "for a program or a subprocess at a site from the data write `at`"},
	{"retry", kindManual, "retry is of programs and subprocesses, and what a person does is not repeated by itself", "leave it out; to have it done again write `exit: CONDITION`"},
	{"on_rc", kindManual, "on_rc is of programs, and the _RC of a manual activity is always 0", "leave it out, and let a member of the output say how it went"},
	{"on_error", kindManual, "on_error is of programs, subprocesses and blocks: what a person gives that is wrong is refused at once", "leave it out"},
	{"again", kindManual, "again is of activities with an _RC, and that of a manual activity is always 0", "leave it out"},
	{"at", kindManual, "at is of programs and subprocesses", "for a manual activity that is offered at several sites write `offered_at`"},
	{"autonomy", kindManual, "autonomy is of subprocesses, and this has no `process`", "leave it out"},
	{"deadline", kindSend, "a send ends at once, and has no deadline", "leave it out; how long the event is kept says `keep`"},
}

// keysHere reports keys that the kind of activity does not have.
func (d *draft) keysHere(s *step, f map[string]*yaml.Node) {
	if s.Block == nil {
		for _, key := range []string{"control", "data"} {
			if n := f[key]; n != nil {
				d.fail(d.pos(n), codeKeyNotHere, fmt.Sprintf("%s is of blocks, and %s has no `activities`", key, s.Name),
					fmt.Sprintf("write connectors between activities under `%s` of %s", key, d.owner))
			}
		}
	}
	for _, k := range notHere {
		if n := f[k.key]; n != nil && k.of&s.kind() != 0 {
			d.fail(d.pos(n), codeKeyNotHere, k.whose, k.remedy)
		}
	}
}
