package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// scope is what conditions at this end, or expressions over it, can see besides.
func (e dataEnd) scope() condition.Scope {
	if e.outside {
		return condition.Scope{Members: e.members}
	}
	if e.step != nil && e.key == "output" {
		return e.step.scope()
	}
	words := condition.WordInstance
	if e.started {
		words |= condition.WordBy
	}
	return condition.Scope{Members: e.members, Words: words}
}

// hides says whether a member at this end has the name of a word.
func (e dataEnd) hides(word condition.Words) bool {
	_, hidden := e.members.MemberIndex(word.String())
	return hidden
}

// word says whether a source of a mapping is a word of the engine, and which: none where it is not
// one of that end, which is reported as it would be in a condition.
func (d *draft) word(n *yaml.Node, from dataEnd) (condition.Words, bool) {
	word, is := condition.WordNamed(n.Value)
	if !is || from.hides(word) {
		return 0, false
	}
	scope := from.scope()
	if scope.Words&word != 0 {
		return word, true
	}
	if from.outside { // which says what it is of
		return 0, false
	}
	_, problems := condition.Check(n.Value, scope)
	for _, p := range problems {
		d.fail(d.pos(n), codeUnknownName, p.Message, p.Remedy)
	}
	return 0, true
}

// wordsMean says what each of the words is that an end of a graph can have.
var wordsMean = []struct {
	word  condition.Words
	means string
}{
	{condition.WordTimeout, "whether the deadline has ended it"},
	{condition.WordError, "why its last attempt failed"},
	{condition.WordInstance, "the instance"},
	{condition.WordEvent, "the event that came"},
	{condition.WordBy, "the person"},
}

// checkHidden warns of members that hide words where those could be read.
func (d *draft) checkHidden() {
	d.hidden(d.input)
	for _, s := range d.steps {
		d.hidden(s.output)
		if s.Deadline != nil && s.Deadline.Expr != nil || s.Wait != nil && s.Wait.Expr != nil || s.Call != nil && s.Call.Node != nil || s.readsForEvents() {
			d.hidden(s.input)
		}
	}
}

func (d *draft) hidden(end dataEnd) {
	for _, w := range wordsMean {
		if end.scope().Words&w.word != 0 && end.hides(w.word) {
			d.warn(end.at, codeHidesWord,
				fmt.Sprintf("the member %s of %s hides the word of that name: at the %s of %s it means this member, not %s", w.word, end.members, end.key, end.owner, w.means),
				"rename the member if you want to read the word")
		}
	}
}
