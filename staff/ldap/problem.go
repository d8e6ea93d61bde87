package ldap

import (
	"strings"

	"fmqm/internal/text"
)

// Problem is one thing in an answer that refuses all of it.
type Problem struct {
	DN     string // the entry, made fit to be shown; empty: it is none in particular
	What   string
	Remedy string
}

// String gives "DN: what: remedy".
func (p Problem) String() string {
	s := p.What + ": " + p.Remedy
	if p.DN != "" {
		s = p.DN + ": " + s
	}
	return s
}

// Problems are an error: what is wrong with an answer.
type Problems []Problem

func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// Unanswered is the error of a directory that gave no answer, or refused one.
type Unanswered struct {
	URL          string
	What, Remedy string
}

func (u *Unanswered) Error() string { return u.URL + ": " + u.What + ": " + u.Remedy }

// Left is what of an entry is left out: the staff is without it.
type Left struct{ DN, What string }

func (l Left) String() string { return l.DN + ": " + l.What }

// maxShown bounds what is shown of a name from the directory, in bytes.
const maxShown = 200

// shown makes a text from the directory fit to be shown.
func shown(s string) string {
	if cut := text.Cut(s, maxShown); cut != s {
		return text.Line(cut) + "…"
	}
	return text.Line(s)
}
