package ldap

import (
	"slices"
	"strings"

	goldap "github.com/go-ldap/ldap/v3"

	"fmqm/staff"
)

// place is the name of an entry (DN) in a form in which two names of one entry are equal: the
// parts from the entry upwards, in small letters, white space as one space. What an escape
// stands for cannot be taken for the end of a part.
type place string

const (
	nextPart = "\x00" // ends a part
	nextName = "\x01" // between the names of a part that has several
	endType  = "\x02"
)

// maxDN bounds the name of an entry, in bytes.
const maxDN = 4 << 10

// placeOf reads a DN; false: it is none.
func placeOf(dn string) (place, *goldap.DN, bool) {
	if len(dn) > maxDN || strings.ContainsAny(dn, nextPart+nextName+endType) {
		return "", nil, false
	}
	parsed, err := goldap.ParseDN(dn)
	if err != nil || len(parsed.RDNs) == 0 {
		return "", nil, false
	}
	var b strings.Builder
	for _, part := range parsed.RDNs {
		names := make([]string, len(part.Attributes))
		for i, a := range part.Attributes {
			value := strings.ToLower(strings.Join(strings.Fields(a.Value), " "))
			if strings.ContainsAny(value, nextPart+nextName+endType) { // they were escaped
				return "", nil, false
			}
			names[i] = strings.ToLower(strings.TrimSpace(a.Type)) + endType + value
		}
		slices.Sort(names)
		b.WriteString(strings.Join(names, nextName) + nextPart)
	}
	return place(b.String()), parsed, true
}

// above is the entry above; empty: there is none.
func (p place) above() place {
	_, rest, _ := strings.Cut(string(p), nextPart)
	return place(rest)
}

// entry is what was found, with what was asked for.
type entry struct {
	at     place
	dn     string // as the directory writes it
	parsed *goldap.DN
	values map[string][]string // by the attribute, in small letters
}

// of gives the values of an attribute.
func (e *entry) of(attribute string) []string { return e.values[strings.ToLower(attribute)] }

// called gives what an entry is called: the one value of the attribute, or of several the one
// that the entry's own name has. why: it has no name that it can have here.
func (e *entry) called(attribute string) (name, why string) {
	all := e.of(attribute)
	switch len(all) {
	case 0:
		return "", "it has no " + attribute
	case 1:
		name = all[0]
	default:
		for _, a := range e.parsed.RDNs[0].Attributes {
			if strings.EqualFold(a.Type, attribute) && slices.Contains(all, a.Value) {
				name = a.Value
			}
		}
		if name == "" {
			return "", "it has several " + attribute
		}
	}
	if !staff.Valid(name) {
		return "", "“" + shown(name) + "”, its " + attribute + ", has more than letters, digits, _ . and -, or over 64 of them"
	}
	return name, ""
}

// isDN says whether a value is the name of an entry: names of people, roles and organisations
// have no `=`.
func isDN(value string) bool { return strings.Contains(value, "=") }
