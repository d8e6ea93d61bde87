package file

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"fmqm/staff"
)

// Format writes a draft as a staff file: each person a line, everything in the order of names, so
// that what says the same is the same. Each line of comment stands before it, behind a `#`.
func Format(d staff.Draft, comment ...string) []byte {
	var b bytes.Buffer
	for _, line := range comment {
		b.WriteString("# " + strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, line) + "\n")
	}
	b.WriteString("roles: " + list(d.Roles) + "\n")
	if len(d.Organisations) > 0 {
		b.WriteString("organisations:\n")
	}
	for _, o := range byName(d.Organisations, func(o staff.DraftOrganisation) staff.Word { return o.Name }) {
		b.WriteString("  " + quoted(o.Name) + ": " + flow(pair{"manager", o.Manager}, pair{"part_of", o.PartOf}) + "\n")
	}
	b.WriteString("people:\n")
	for _, p := range byName(d.People, func(p staff.DraftPerson) staff.Word { return p.Name }) {
		b.WriteString("  " + quoted(p.Name) + ": " + person(p) + "\n")
	}
	return b.Bytes()
}

// pair is a key with its value: a word, words, or what is written already.
type pair struct {
	key   string
	value any
}

func person(p staff.DraftPerson) string {
	pairs := []pair{
		{"name", p.Full},
		{"roles", p.Roles},
		{"organisation", p.Organisation},
		{"substitute", p.Substitute},
		{"same", p.Same},
		{"not", p.Not},
	}
	if p.HasLogins {
		pairs = append(pairs, pair{"logins", list(p.Logins)})
	}
	if p.Always {
		pairs = append(pairs, pair{"absent", "true"})
	} else if len(p.Absent) > 0 {
		times := make([]string, len(p.Absent))
		for i, a := range p.Absent {
			times[i] = flow(pair{"from", a.From}, pair{"until", a.Until})
		}
		pairs = append(pairs, pair{"absent", "[" + strings.Join(times, ", ") + "]"})
	}
	return flow(pairs...)
}

// flow writes those of the pairs that have a value as {key: value}.
func flow(pairs ...pair) string {
	var all []string
	for _, p := range pairs {
		switch value := p.value.(type) {
		case string:
			all = append(all, p.key+": "+value)
		case staff.Word:
			if value.Text != "" {
				all = append(all, p.key+": "+quoted(value))
			}
		case []staff.Word:
			if len(value) > 0 {
				all = append(all, p.key+": "+list(value))
			}
		}
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// list writes words in their order: of roles and logins it is no matter.
func list(words []staff.Word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = quoted(w)
	}
	slices.Sort(all)
	return "[" + strings.Join(all, ", ") + "]"
}

// quoted writes a word so that it is a text, whatever it looks like. JSON's texts are YAML's.
func quoted(w staff.Word) string {
	text, err := json.Marshal(w.Text)
	if err != nil { // a string always can
		panic(err)
	}
	return string(text)
}

func byName[T any](all []T, name func(T) staff.Word) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return strings.Compare(name(a).Text, name(b).Text) })
}
