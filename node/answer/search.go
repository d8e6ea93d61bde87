package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// AskSearch is AskFind with what instances are found by, which sites of before would pass over.
const AskSearch = "search"

// Bounds of what a list is asked for.
const (
	maxTerms = 8
	maxTerm  = 1 << 10 // bytes of one, as it is written
)

// Searched is what a site says of the members that are asked for, if it may start a process of the name. Unknown are those
// that none of its versions declares, Declared all that any does.
type Searched struct {
	Unknown  []string `json:"unknown,omitempty"`
	Declared []string `json:"declared,omitempty"`
}

// term is one as it is written: claim_id=C-17.
type term struct {
	member, value string
	is            audit.Is
	sign          string
}

// signs are the comparisons, the longer ones first.
var signs = []struct {
	sign string
	is   audit.Is
}{{"<=", audit.AtMost}, {">=", audit.AtLeast}, {"<", audit.Below}, {">", audit.Above}, {"=", audit.Equal}}

const remedyTerm = "write MEMBER=VALUE, or <, <=, > or >= with ints and timestamps, as claim_id=C-17, claim_id=C-* or due<2026-07-01"

// parseTerm reads one. The member ends at the first sign.
func parseTerm(text string) (t term, err error) {
	if len(text) > maxTerm {
		return t, api.Errorf(api.CodeUsage, fmt.Sprintf("write a shorter one: of a string the first %d bytes count", record.MaxSearchText), "search: a term has %d bytes, and at most %d are allowed", len(text), maxTerm)
	}
	at := strings.IndexAny(text, "<>=")
	if at > 0 {
		t.member = strings.TrimSpace(text[:at])
		for _, s := range signs {
			if value, is := strings.CutPrefix(text[at:], s.sign); is {
				t.sign, t.is, t.value = s.sign, s.is, value
				break
			}
		}
	}
	if t.member == "" || len(t.member) > container.MaxMemberPath || strings.Contains(t.member, "\x00") {
		return t, api.Errorf(api.CodeUsage, remedyTerm, "search: %.80q names no member and what it is to be", text)
	}
	return t, nil
}

// match gives what a value of a type is to be; false: no value of that type can be asked for so.
func (t *term) match(of container.Kind) (m audit.Match, ok bool) {
	m.Is = t.is
	plain := strings.TrimSpace(t.value)
	switch of {
	case container.String:
		beginning, begins := strings.CutSuffix(t.value, "*")
		if ok = t.is == audit.Equal; begins {
			m.Is = audit.Beginning
		}
		m.Value = record.SearchText(beginning)
	case container.Int:
		n, err := strconv.ParseInt(plain, 10, 64)
		m.Value, ok = record.SearchIntOf(n), err == nil
	case container.Bool:
		m.Value, ok = record.SearchBoolOf(plain == "true"), t.is == audit.Equal && (plain == "true" || plain == "false")
	case container.Timestamp:
		var at time.Time
		at, ok = parseMoment(plain)
		m.Value = record.SearchTimeOf(at)
	case container.Double, container.Bytes, container.Duration, container.Structure, container.List:
	}
	return m, ok
}

// parseMoment reads a time, or a day: the beginning of it, in UTC.
func parseMoment(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// written says how values of some types are asked for.
func written(kinds []container.Kind) string {
	var all []string
	for _, k := range kinds {
		all = append(all, map[container.Kind]string{
			container.String: "a string: MEMBER=VALUE, or the beginning of one: MEMBER=VALUE*", container.Int: "an int: MEMBER=17, or with <, <=, > or >=",
			container.Bool: "a bool: MEMBER=true or MEMBER=false", container.Timestamp: "a timestamp: MEMBER=2026-07-01T06:00:00Z, or a day, or with <, <=, > or >=",
		}[k])
	}
	return "it is " + strings.Join(all, "; or in another version ")
}

// terms are what the index of values is asked for, by the versions of the process that may be started here and shows lets
// through; searched is nil where there is none. What a version does not declare none of its instances is found by.
func (a *Answers) terms(q *ListQuestion, shows func(processtable.ProcessID) bool) (all []audit.Term, searched *Searched, err error) {
	if len(q.Search) == 0 {
		return nil, nil, nil
	}
	declared, may := a.declared(q, shows)
	if may {
		searched = &Searched{}
		for member := range declared {
			searched.Declared = append(searched.Declared, member)
		}
		slices.Sort(searched.Declared)
	}
	for _, text := range q.Search {
		t, err := parseTerm(text)
		if err != nil {
			return nil, nil, err
		}
		kinds := declared[t.member]
		wanted := audit.Term{Member: t.member}
		for _, k := range kinds {
			if m, ok := t.match(k); ok {
				wanted.Any = append(wanted.Any, m)
			}
		}
		switch {
		case len(kinds) == 0 && may:
			searched.Unknown = append(searched.Unknown, t.member)
		case len(kinds) > 0 && len(wanted.Any) == 0:
			return nil, nil, api.Errorf(api.CodeUsage, written(kinds), "search: %s cannot be asked for as %s%.80s", t.member, t.sign, t.value)
		}
		all = append(all, wanted)
	}
	return all, searched, nil
}

// declared gives the types of the members that instances are found by, of each version once; may: some version may be
// started here.
func (a *Answers) declared(q *ListQuestion, shows func(processtable.ProcessID) bool) (kinds map[string][]container.Kind, may bool) {
	kinds = map[string][]container.Kind{}
	for _, p := range a.Site.Processes() {
		t := p.Table()
		if !q.of(t.Process) || !t.IsStart() || !shows(t.Process) {
			continue
		}
		may = true
		for _, member := range t.Search {
			if _, of, err := t.Input.Resolve(member); err == nil && !slices.Contains(kinds[member], of.Kind) {
				kinds[member] = append(kinds[member], of.Kind)
			}
		}
	}
	return kinds, may
}

// maxDeclared is how many members one site is believed to declare: all versions together.
const maxDeclared = 100

// believedSearch gives what of another site's word about members counts: names, and answers to what it was asked. Who may not
// see the process is told nothing of it.
func believedSearch(q ListQuestion, caller api.Caller, s *Searched) *Searched {
	if s == nil || !caller.Sees(q.Process) {
		return nil
	}
	believed := &Searched{}
	for _, member := range s.Declared[:min(len(s.Declared), maxDeclared)] {
		if isPath(member) {
			believed.Declared = append(believed.Declared, member)
		}
	}
	for _, text := range q.Search {
		if t, err := parseTerm(text); err == nil && slices.Contains(s.Unknown, t.member) {
			believed.Unknown = append(believed.Unknown, t.member)
		}
	}
	return believed
}

// isPath says whether a text can be the path of a member.
func isPath(text string) bool {
	other := func(r rune) bool { return !strings.ContainsRune(pathRunes, r) }
	return text != "" && len(text) <= container.MaxMemberPath && !strings.ContainsFunc(text, other)
}

const pathRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// unsearchable refuses a list that asks for a member that no site which has answered declares, if any may start the process.
func unsearchable(process string, told []*Searched) error {
	var declared, unknown []string
	sites := 0
	for _, s := range told {
		if s == nil {
			continue
		}
		if declared = append(declared, s.Declared...); sites == 0 {
			unknown = slices.Clone(s.Unknown)
		}
		unknown = slices.DeleteFunc(unknown, func(member string) bool { return !slices.Contains(s.Unknown, member) })
		sites++
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(declared)
	if declared = slices.Compact(declared); len(declared) == 0 {
		return api.Errorf(api.CodeUsage, "ask with `where`, and declare `search: ["+unknown[0]+"]` in its next version",
			"search: no version of %s declares members that instances are found by", process)
	}
	return api.Errorf(api.CodeUsage, "ask with `where`, or for one of: "+strings.Join(declared, ", "),
		"search: no version of %s declares %s", process, strings.Join(unknown, ", "))
}
