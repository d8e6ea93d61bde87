package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// MaxPerson is how long the name of a person is, at most, with its node: name@node.
const MaxPerson = 2*processtable.MaxName + 1

// Doer is who did a manual activity, or has started an instance (N27). The zero one is nobody.
type Doer struct {
	Person string // name@node
	For    string // whom that person stood in for, name@node; empty: nobody
}

// Doers are who did activities, by activity. Of what is not there nothing is known: it was skipped, or ended by hand,
// or has not ended where an activity is decided with the first connectors.
type Doers map[processtable.ActivityID]Doer

// String is the text that hidden connectors carry: the person, and behind a space whom that one stood in for.
func (d Doer) String() string {
	if d.For == "" {
		return d.Person
	}
	return d.Person + " " + d.For
}

// ParseDoer reads what String gives.
func ParseDoer(s string) (Doer, error) {
	if s == "" {
		return Doer{}, nil
	}
	var d Doer
	var stands bool
	d.Person, d.For, stands = strings.Cut(s, " ")
	if !ValidPerson(d.Person) || stands && !ValidPerson(d.For) {
		return Doer{}, fmt.Errorf("%w: %.300q is no person, and no two: want name@node", ErrFormat, s)
	}
	return d, nil
}

// ValidPerson says whether s has the form of name@node: a name of letters, digits, `_`, `.` and `-`, at most
// processtable.MaxName bytes.
func ValidPerson(s string) bool {
	name, node, sited := strings.Cut(s, "@")
	return sited && processtable.ValidNode(node) && validPersonName(name)
}

func validPersonName(s string) bool {
	if s == "" || len(s) > processtable.MaxName {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return true
}

func readDoer(r *cbor.Reader) Doer {
	d, err := ParseDoer(r.Text(2*MaxPerson + 1))
	if err != nil {
		r.Fail("%w", err)
	}
	return d
}

// writeDoers writes a field with who did what, by activity; nothing if there are none.
func writeDoers(w *cbor.Map, key byte, all Doers) {
	w.Array(key, len(all))
	for _, a := range slices.Sorted(maps.Keys(all)) {
		d := all[a]
		w.B = cbor.AppendText(cbor.AppendText(cbor.AppendArray(w.B, 2), string(a)), d.String())
	}
}

func readDoers(f *cbor.Fields) Doers {
	var last processtable.ActivityID
	var all Doers
	for range f.Items(maxCounted) {
		f.Tuple(2)
		a := processtable.ActivityID(f.Text(processtable.MaxName))
		d := readDoer(f.Reader)
		if a <= last || d == (Doer{}) {
			f.Fail("who did %q is nobody, or not in its place", a)
		}
		if all == nil {
			all = Doers{}
		}
		last, all[a] = a, d
	}
	return all
}
