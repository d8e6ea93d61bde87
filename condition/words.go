package condition

import (
	"math/bits"
	"strings"

	"fmqm/container"
)

// Words is a set of words of the engine: names that stand beside the members of a
// container, where no member of the same name hides them. _RC is not among them, because
// no member can be called so. The numbers are part of the stored format.
type Words uint16

// The words of the engine.
const (
	WordTimeout  Words = 1 << iota // bool: the deadline has ended the activity
	WordError                      // string: why the last attempt failed; empty if it did not
	WordEvent                      // string: the event that came; empty at a deadline
	WordBy                         // string: who did it, or started the instance
	WordInstance                   // string: this instance
	WordResults                    // list of structures: the outputs of a bundle's elements
	WordErrors                     // list of strings: their errors
	WordRCs                        // list of ints: their return codes
	WordCount                      // int: how many elements there are
	WordDone                       // int: how many of them have returned
	WordFailed                     // int: how many of these have failed
)

// Values are the return code and what the words say. It may say more than a scope has.
// The lists are only read.
type Values struct {
	RC                         int64
	Timeout                    bool
	Error, Event, By, Instance string
	Results, Errors, RCs       []container.Value
	Count, Done, Failed        int64
}

var aBool, aString, anInt = container.Scalar(container.Bool), container.Scalar(container.String), container.Scalar(container.Int)

const (
	bundle  = "an activity with for_each"
	outside = "use it where all its elements have ended"
	counted = outside + ", or in its until"
)

// words are all there are, in the order of their bits: of what each is, and where to use
// it, for who reads it elsewhere.
var words = [...]struct {
	name    string
	typ     *container.Type // nil: a list of the scope's Results
	of, use string
}{
	{"_TIMEOUT", aBool, "an activity with a deadline", "write `deadline: {after: …}` at it"},
	{"_ERROR", aString, "an activity that goes on after errors", "write `on_error: continue` at it"},
	{"_EVENT", aString, "an activity with receive", "use it where one has ended"},
	{"_BY", aString, "a manual activity, and of source", "use it where one has ended"},
	{"_INSTANCE", aString, "source, and of expressions over an input", "map it into a member, as in `- source -> ACTIVITY: {instance: _INSTANCE}`"},
	{"_RESULTS", nil, bundle, outside},
	{"_ERRORS", container.NewList(aString), bundle, outside},
	{"_RCS", container.NewList(anInt), bundle, outside},
	{"_COUNT", anInt, bundle, counted},
	{"_DONE", anInt, bundle, counted},
	{"_FAILED", anInt, bundle, counted},
}

// WordNamed gives the word of that name.
func WordNamed(name string) (Words, bool) {
	if !strings.HasPrefix(name, "_") { // most are members
		return 0, false
	}
	for i := range words {
		if words[i].name == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// each gives the words of the set, one by one.
func (w Words) each() []Words {
	var all []Words
	for w &= 1<<len(words) - 1; w != 0; w &= w - 1 {
		all = append(all, w&-w)
	}
	return all
}

// Single says whether it is one word, of those that there are.
func (w Words) Single() bool { return bits.OnesCount16(uint16(w)) == 1 && w.index() < len(words) }

// index is where in words a single one is.
func (w Words) index() int { return bits.TrailingZeros16(uint16(w)) }

func (w Words) names() []string {
	var names []string
	for _, word := range w.each() {
		names = append(names, words[word.index()].name)
	}
	return names
}

// String names the words of the set.
func (w Words) String() string { return strings.Join(w.names(), ", ") }

// TypeOf gives the type of one word.
func (s Scope) TypeOf(word Words) *container.Type {
	t := words[word.index()].typ
	if t != nil {
		return t
	}
	if s.Results == nil {
		return container.NewList(container.Empty)
	}
	return container.NewList(s.Results)
}

// Of gives the value of one word. It is not a copy.
func (v *Values) Of(word Words) container.Value {
	switch word {
	case WordTimeout:
		return v.Timeout
	case WordError:
		return v.Error
	case WordEvent:
		return v.Event
	case WordBy:
		return v.By
	case WordInstance:
		return v.Instance
	case WordResults:
		return v.Results
	case WordErrors:
		return v.Errors
	case WordRCs:
		return v.RCs
	case WordCount:
		return v.Count
	case WordDone:
		return v.Done
	case WordFailed:
		return v.Failed
	}
	return nil
}

// seen are the words of the scope that no member hides.
func (s Scope) seen() Words {
	seen := s.Words
	for _, word := range s.Words.each() {
		if _, hidden := s.Members.MemberIndex(words[word.index()].name); hidden {
			seen &^= word
		}
	}
	return seen
}

// wordsOf are the words of the scope among names.
func (s Scope) wordsOf(names []string) Words {
	var found Words
	for _, name := range names {
		word, _ := WordNamed(name)
		found |= word
	}
	return found & s.seen()
}
