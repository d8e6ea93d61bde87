package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
)

func (l *loader) pos(n *yaml.Node) Pos { return Pos{l.file, n.Line, n.Column} }

// The forms of YAML nodes. A node of kind 0 was reported before: nothing more is said.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func formOf(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

// is says whether a node has the kind that is expected, and reports it if not.
func (l *loader) is(n *yaml.Node, kind yaml.Kind, what, remedy string) bool {
	if n == nil || n.Kind == 0 {
		return false
	}
	if n.Kind != kind || isNull(n) {
		l.fail(l.pos(n), codeForm, fmt.Sprintf("expected %s, found %s", what, formOf(n)), remedy)
		return false
	}
	return true
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries gives the keys of a mapping in file order, without duplicates, which are
// reported: as duplicate names if what is a name, such as "activity".
func (l *loader) entries(n *yaml.Node, code, what string) []entry {
	var all []entry
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" && value.Kind == 0 {
			continue // its alias was reported
		}
		if !l.is(key, yaml.ScalarNode, "the name of the "+what, "write a plain name before the colon") {
			continue
		}
		if before, ok := first[key.Value]; ok {
			l.fail(l.pos(key), code, fmt.Sprintf("%s %s is already in line %d", what, key.Value, before.Line),
				"remove one of the two")
			continue
		}
		first[key.Value] = key
		all = append(all, entry{key, value})
	}
	return all
}

// fields reads a mapping with fixed keys. Owner is for messages: "an activity".
func (l *loader) fields(n *yaml.Node, owner string, keys []string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	var (
		meant  []entry
		before *yaml.Node // the value in front
	)
	for _, e := range l.entries(n, codeDuplicateKey, "key") {
		last := before
		before = e.value
		if slices.Contains(keys, e.key.Value) {
			values[e.key.Value] = e.value
			continue
		}
		if l.cutInBraces(last, e) {
			continue
		}
		if key, rest, ok := strings.Cut(e.key.Value, ":"); ok && slices.Contains(keys, key) {
			l.fail(l.pos(e.key), codeForm, fmt.Sprintf("there is no space after the colon of %q", e.key.Value), fmt.Sprintf("write %s: %s", key, rest))
			meant = append(meant, entry{&yaml.Node{Line: e.key.Line, Column: e.key.Column, Value: key}, nil})
			continue
		}
		f, known := foreignKeys[owner][strings.ToLower(e.key.Value)]
		remedy := f.text()
		if !known {
			remedy = l.oneOf(e.key.Value, keys)
			f.key, _ = l.nearest(e.key.Value, keys)
		}
		l.fail(l.pos(e.key), codeUnknownKey, fmt.Sprintf("unknown key %q of %s", e.key.Value, owner), remedy)
		meant = append(meant, entry{&yaml.Node{Line: e.key.Line, Column: e.key.Column, Value: f.key}, nil})
	}
	for _, e := range meant { // so that a misspelt key is not also reported as missing
		if e.key.Value != "" && values[e.key.Value] == nil {
			values[e.key.Value] = &yaml.Node{Line: e.key.Line, Column: e.key.Column}
		}
	}
	return values
}

// maxComparisons is how many comparisons with known names a file's unknown ones may cost
// in all: enough for every error that somebody makes by hand, and a bound for files of
// which every line is wrong.
const maxComparisons = 1_000_000

// nearest is the known name that was probably meant; very short names resemble too
// many.
func (l *loader) nearest(name string, known []string) (string, bool) {
	if l.comparisons += len(known); len(name) < 3 || l.comparisons > maxComparisons {
		return "", false
	}
	return container.Nearest(name, known)
}

// oneOf is the remedy for a name that is none of those known.
func (l *loader) oneOf(name string, known []string) string {
	if near, ok := l.nearest(name, known); ok {
		return fmt.Sprintf("did you mean %s", near)
	}
	return oneOfThese(known)
}

func oneOfThese(known []string) string {
	switch {
	case len(known) == 0:
		return "declare it first"
	case len(known) > 24: // the keys of a process are fewer
		return "use one that is declared, such as " + strings.Join(known[:5], ", ")
	}
	return "use one of " + strings.Join(known, ", ")
}

// oneOfMembers is oneOf for the members of a structure.
func (l *loader) oneOfMembers(name string, t *container.Type) string {
	if l.comparisons > maxComparisons {
		return "name a member of " + t.String()
	}
	return l.oneOf(name, t.MemberNames())
}

// scalar gives the text of a scalar as it is written.
func (l *loader) scalar(n *yaml.Node, what string) (string, bool) {
	remedy := "write it after the colon, or leave the key out"
	if n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode {
		remedy = "write it without brackets: " + n.Content[0].Value
	} else if n != nil && n.Kind != yaml.ScalarNode {
		remedy = "write one value"
	}
	if !l.is(n, yaml.ScalarNode, what, remedy) {
		return "", false
	}
	return n.Value, true
}

// integer reads a number between least and most.
func (l *loader) integer(n *yaml.Node, key string, least, most int) (int, bool) {
	what := fmt.Sprintf("a whole number from %d to %d", least, most)
	text, ok := l.scalar(n, what)
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least || v > most {
		l.fail(l.pos(n), codeValue, fmt.Sprintf("%s cannot be %s", key, strconv.Quote(text)), "write "+what)
		return 0, false
	}
	return v, true
}

// isWait says whether a text is a duration above 0.
func isWait(text string) bool {
	v, err := container.ParseDuration(text)
	return err == nil && v > 0
}

const remedyDuration = "write a duration above 0, such as 500ms, 10s, 1h30m or 14d"

// wait reads a duration above 0.
func (l *loader) wait(n *yaml.Node, key string, preset time.Duration) time.Duration {
	if n == nil {
		return preset
	}
	text, ok := l.scalar(n, "a duration such as 10s")
	if !ok {
		return preset
	}
	v, err := container.ParseDuration(text)
	if err != nil || v <= 0 {
		l.fail(l.pos(n), codeValue, fmt.Sprintf("%s cannot be %s", key, strconv.Quote(text)), remedyDuration)
		return preset
	}
	return v
}

const maxName = 64

// nameKind is what a name is of ("a node"); it decides the characters and words allowed.
type nameKind struct {
	what     string
	dash     bool     // "-" is allowed
	words    bool     // _RC and CEL's words are reserved
	reserved []string // further words
}

var (
	processName   = nameKind{what: "a process", dash: true}
	nodeName      = nameKind{what: "a node", dash: true}
	setName       = nameKind{what: "a set of nodes", dash: true}
	programName   = nameKind{what: "a program", dash: true}
	eventName     = nameKind{what: "an event", dash: true}
	structureName = nameKind{what: "a structure", reserved: []string{
		"bool", "int", "double", "string", "bytes", "timestamp", "duration",
	}}
	memberName   = nameKind{what: "a member", words: true}
	activityName = nameKind{what: "an activity", words: true, reserved: []string{
		"source", "sink", "all", "any", "first", "otherwise", "at_least",
	}}
)

// near is a name that a text which is none may become; empty if there is none.
func (k nameKind) near(text string) string {
	sign := "_"
	if k.dash {
		sign = "-"
	}
	name := betweenWords.ReplaceAllString(strings.TrimSpace(text), sign)
	if !condition.ValidName(strings.ReplaceAll(name, "-", "_")) || strings.HasPrefix(name, "-") || len(name) > maxName || k.words && condition.IsReserved(name) {
		return ""
	}
	return name
}

// betweenWords stands between the words of a name elsewhere.
var betweenWords = regexp.MustCompile(`[ ./-]+`)

// name reads a name and says what is wrong with it.
func (l *loader) name(n *yaml.Node, k nameKind) (string, bool) {
	text, ok := l.scalar(n, "the name of "+k.what)
	if !ok {
		return "", false
	}
	return text, l.checkName(text, l.pos(n), k)
}

func (l *loader) checkName(text string, at Pos, k nameKind) bool {
	plain := text
	if k.dash {
		plain = strings.ReplaceAll(text, "-", "_")
		if strings.HasPrefix(text, "-") {
			plain = "-"
		}
	}
	switch {
	case utf8.RuneCountInString(text) > maxName:
		l.fail(at, codeLimit, fmt.Sprintf("the name of %s has %d characters", k.what, utf8.RuneCountInString(text)),
			fmt.Sprintf("use at most %d", maxName))
	case !condition.ValidName(plain):
		chars := "letters, digits and _"
		if k.dash {
			chars = "letters, digits, _ and -"
		}
		remedy := "use " + chars + ", beginning with a letter or _"
		if near := k.near(text); near != "" {
			remedy += ", such as " + near
		}
		l.fail(at, codeBadName, fmt.Sprintf("%q cannot be the name of %s", text, k.what), remedy)
	case k.words && (text == condition.RC || condition.IsReserved(text)), slices.Contains(k.reserved, text):
		l.fail(at, codeReservedName, fmt.Sprintf("%s is reserved and cannot be the name of %s", text, k.what),
			fmt.Sprintf("choose another name, such as %s_", text))
	default:
		return true
	}
	return false
}
