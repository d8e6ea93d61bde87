package container

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error says what is wrong with a value, where in it, and what to do.
type Error struct {
	Path   string // such as "order.lines[3].quantity"; empty: the whole value
	What   string
	Remedy string
	// Token is which token of the JSON it is about, from 1, in the order of the text; 0: none.
	// It is the same for each text that means the same, however it is laid out: TokenAt finds
	// its place.
	Token int

	final bool // nothing can be said of what follows
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.What)
	if e.Remedy != "" {
		b.WriteString(": " + e.Remedy)
	}
	return b.String()
}

// Errors is everything that is wrong with a value, in the order of the text: two or more.
type Errors []*Error

func (es Errors) Error() string {
	all := make([]string, len(es))
	for i, e := range es {
		all[i] = e.Error()
	}
	return strings.Join(all, "; ")
}

// Unwrap gives them one by one.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

// All gives everything that err says of a value: nothing if it is no error of this room.
func All(err error) []*Error {
	var many Errors
	var one *Error
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return []*Error{one}
	}
	return nil
}

// fault makes an Error about the value at hand; callers put the path before it.
func fault(remedy, format string, args ...any) error {
	return &Error{What: fmt.Sprintf(format, args...), Remedy: remedy}
}

// inMember and inElement say where an error is, from the inside out.
func inMember(name string, err error) error { return inside(name, err) }

func inElement(i int, err error) error { return inside(fmt.Sprintf("[%d]", i), err) }

func inside(step string, err error) error {
	all := All(err)
	if all == nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	for _, e := range all {
		switch {
		case e.Path == "":
			e.Path = step
		case e.Path[0] == '[':
			e.Path = step + e.Path
		default:
			e.Path = step + "." + e.Path
		}
	}
	return err
}

// unknownMember is the error for a name that t does not have.
func unknownMember(t *Type, name string) error {
	remedy := "remove it or correct its name"
	switch {
	case len(t.Members) == 0:
		remedy = "remove it"
	case len(t.Members) <= mostCompared:
		if near, ok := Nearest(name, t.MemberNames()); ok {
			remedy = "did you mean " + near
		}
	}
	owner := t.Name
	if owner == "" {
		owner = "the container"
	}
	return inMember(shown(name), fault(remedy, "unknown member; %s has %s", owner, t.listed()))
}

// A structure with more members than these was made by a program. Whatever its size, an
// error about it costs the same.
const (
	mostCompared = 1000
	mostListed   = 20
)

// listed names the members of a structure, or the first ones of many.
func (t *Type) listed() string {
	if len(t.Members) == 0 {
		return "no members"
	}
	var names []string
	for _, m := range t.Members[:min(len(t.Members), mostListed)] {
		names = append(names, m.Name)
	}
	if more := len(t.Members) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// shown writes a name that could be anything for an error text.
func shown(name string) string {
	quoted := strconv.Quote(name)
	if name == "" || quoted[1:len(quoted)-1] != name {
		return shorten(quoted)
	}
	return shorten(name)
}

// Nearest gives the one of names that name was probably meant to be: the one that
// takes the fewest changes of a letter, if that is few for its length. It costs a
// comparison with each of names; a text that is far longer than any name is none of them.
func Nearest(name string, names []string) (string, bool) {
	if len(name) > longestName {
		return "", false
	}
	best, least := "", max(1, len(name)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n), least); d < least {
			best, least = n, d
		}
	}
	return best, best != ""
}

// longestName is how many bytes a name may have to be compared with others.
const longestName = 256

// distance counts the changes of a letter between two names, where two neighbours that
// changed places are one change (Damerau), or gives limit if they are not fewer.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost = 1 + min(row[j], row[j+1], next[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			next[j+1] = cost
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
