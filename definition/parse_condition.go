package definition

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// YAML and conditions disagree about a leading "!": YAML begins a tag with it. So
// before YAML reads the text, each "!" that begins a condition is replaced by a
// character that YAML takes for a letter, and brought back in every scalar
// afterwards. The replacement is one character for one, so places stay as they are;
// and since it is undone everywhere, it does no harm to a text that only looks like a
// condition, in a description for example.

// beforeBang matches what stands before the "!" of a condition: the key of a
// transition condition, `exit:` or `start:`.
var beforeBang = regexp.MustCompile(`((?:\b(?:exit|start|until|failed|staff|administrator|priority)|->[^:\r\n]*)["']?[ \t]*:\s+)!`)

func (l *loader) hideBangs(text []byte) []byte {
	if !bytes.ContainsRune(text, '!') {
		return text
	}
	used := map[rune]bool{}
	for _, r := range string(text) {
		if r >= firstPrivate && r <= lastPrivate {
			used[r] = true
		}
	}
	for r := firstPrivate; r <= lastPrivate; r++ {
		if !used[r] {
			l.bang = string(r)
			return beforeBang.ReplaceAll(text, []byte("${1}"+l.bang))
		}
	}
	return text // conditions with a leading "!" are refused, with a remedy
}

// The private characters of Unicode that YAML takes for letters.
const (
	firstPrivate = '\uE000'
	lastPrivate  = '\uF8FF'
)

func (l *loader) showBangs(s string) string {
	if l.bang == "" {
		return s
	}
	return strings.ReplaceAll(s, l.bang, "!")
}

// writtenCondition is a condition as it stands in a line.
type writtenCondition struct {
	column             int // in characters, from 1
	before, text, rest string
	flow               bool // inside braces
}

// The key of a condition, or of an expression: anywhere in a line, and just before a place.
const (
	expressionKeyText = `(?:(?:^\s*(?:-\s+)?(?:\{\s*)?|\b(?:deadline|wait)["']?\s*:\s*\{\s*|\bnotify["']?\s*:\s*\[\s*\{\s*)["']?(?:after|at|for|until|every)["']?\s*:\s+|\bat["']?\s*:\s*\{\s*(?:["']?of["']?\s*:[^{}]*,\s*)?["']?node["']?\s*:\s+|` + eventKeyText + `)`
	eventKeyText      = `(?:^\s*|\b(?:receive|send)["']?\s*:\s*\{(?:[^{}]*[\s,])?)["']?(?:key|keep)["']?\s*:\s+|\bto["']?\s*:\s*\{\s*["']?node["']?\s*:\s+`
	peopleKeyText     = `\b(?:staff|administrator|priority)["']?\s*:\s+`
	titleKeyText      = `\btitle["']?\s*:\s+`
	cronKeyText       = `\bcron["']?\s*:\s+`
	conditionKeyText  = `(?:` + expressionKeyText + `|` + cronKeyText + `|` + peopleKeyText + `|` + titleKeyText + `|(?:\b(?:exit|start|until|failed)|->\s*[^\s:]+)["']?\s*:\s+)`
)

var (
	expressionKeyBefore = regexp.MustCompile(expressionKeyText + `$`)
	cronKeyBefore       = regexp.MustCompile(cronKeyText + `$`)
	peopleKeyBefore     = regexp.MustCompile(peopleKeyText + `$`)
	titleKeyBefore      = regexp.MustCompile(titleKeyText + `$`)

	workedSources = regexp.MustCompile(`(?:^\s+|[{,]\s*)["']?(?:append\([^()]*\)|[A-Za-z_][\w.]*)["']?\s*:\s+\(`)

	conditionKeys      = regexp.MustCompile(conditionKeyText)
	conditionKeyBefore = regexp.MustCompile(conditionKeyText + `$`)
)

// A condition is looked for in lines as people write them, behind a key of a connector
// or an activity; other lines were made by programs, which do not read remedies.
const (
	maxWrittenLine = 2 * condition.MaxText
	maxWrittenKey  = 2*maxName + 64
)

// conditionsIn finds the conditions in a line that YAML could not read, for the remedy.
func (l *loader) conditionsIn(number int) []writtenCondition {
	line := l.line(number)
	if len(line) > maxWrittenLine {
		return nil
	}
	var all []writtenCondition
	for _, key := range workedSources.FindAllStringIndex(line, -1) {
		if c, ok := conditionBehind(line, key[1]-1); ok {
			all = append(all, c)
		}
	}
	if len(all) > 0 { // what is behind the connector is no condition
		return all
	}
	for _, key := range conditionKeys.FindAllStringIndex(line, -1) {
		if c, ok := conditionBehind(line, key[1]); ok {
			all = append(all, c)
		}
	}
	return all
}

// conditionAt finds the condition that begins at a place.
func (l *loader) conditionAt(at Pos) (writtenCondition, bool) {
	line := l.line(at.Line)
	if len(line) > maxWrittenLine || !conditionKeyBefore.MatchString(l.before(at.Line, at.Column, maxWrittenKey)) {
		return writtenCondition{}, false
	}
	return conditionBehind(line, l.offset(at.Line, at.Column))
}

// conditionBehind is the condition that begins at a byte of a line, if there is anything.
func conditionBehind(line string, at int) (writtenCondition, bool) {
	before, after := line[:at], line[at:]
	c := writtenCondition{
		column: utf8.RuneCountInString(before) + 1,
		before: before,
		flow:   strings.Count(before, "{") > strings.Count(before, "}"),
	}
	c.text = strings.TrimRight(after[:conditionEnd(after, c.flow)], " \t")
	c.rest = after[len(c.text):]
	return c, c.text != ""
}

// conditionEnd is where a comment begins, or where the braces around it go on.
func conditionEnd(s string, flow bool) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case quote != 0:
			if ch == '\\' {
				i++
			} else if ch == quote {
				quote = 0
			}
		case ch == '"', ch == '\'':
			quote = ch
		case ch == '#' && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'):
			return i
		case ch == '(', ch == '[', ch == '{':
			depth++
		case flow && depth == 0 && (ch == ',' || ch == '}'):
			return i
		case ch == ')', ch == ']', ch == '}':
			depth--
		}
	}
	return len(s)
}

var (
	wholeQuoted = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')$`)
	blockHeader = regexp.MustCompile(`^[|>][-+0-9]*$`)
)

// needsQuotes says whether YAML cannot carry the condition as it is written.
func (c writtenCondition) needsQuotes() bool {
	switch {
	case wholeQuoted.MatchString(c.text), blockHeader.MatchString(c.text):
		return false
	case strings.ContainsRune("\"'[{*&@%>|`,]}?", rune(c.text[0])):
		return true
	case c.flow && strings.ContainsAny(c.text, "[]{},"):
		return true
	}
	return strings.Contains(c.text, ": ") || strings.Contains(c.text, ":\t") || strings.HasSuffix(c.text, ":")
}

// cutByComment says whether a condition that was misunderstood had been cut short:
// ` #` begins a comment, also inside quotes of the condition.
func (l *loader) cutByComment(n *yaml.Node) (writtenCondition, bool) {
	c, ok := l.conditionAt(l.pos(n))
	plain := n.Style&^yaml.FlowStyle == 0
	return c, ok && plain && len(c.text) > len(n.Value) && strings.HasPrefix(c.text, n.Value)
}

// cutInBraces says whether a key is the rest of a condition, which a comma within braces has cut off: the
// condition is reported.
func (l *loader) cutInBraces(before *yaml.Node, e entry) bool {
	if before == nil || before.Kind != yaml.ScalarNode || e.value.Tag != "!!null" || strings.Count(e.key.Value, ")") <= strings.Count(e.key.Value, "(") {
		return false
	}
	c, ok := l.conditionAt(l.pos(before))
	return ok && c.flow && strings.Count(before.Value, "(") > strings.Count(before.Value, ")")
}

// failCondition reports the problems of a condition at their places.
func (l *loader) failCondition(n *yaml.Node, code string, problems []condition.Problem) {
	if len(problems) == 0 {
		return
	}
	if c, ok := l.cutByComment(n); ok {
		l.failQuote(l.pos(n), c)
		return
	}
	for _, p := range problems {
		l.fail(l.within(n, p.Offset), code, p.Message, p.Remedy)
	}
}

// failQuote shows the line as YAML would take it.
func (l *loader) failQuote(at Pos, c writtenCondition) {
	line := strings.TrimSpace(c.before + quoteYAML(c.text) + c.rest)
	what := "condition"
	switch {
	case titleKeyBefore.MatchString(c.before):
		what = "title"
	case expressionKeyBefore.MatchString(c.before), peopleKeyBefore.MatchString(c.before), strings.HasPrefix(c.text, "(") && !conditionKeyBefore.MatchString(c.before):
		what = "expression"
	case cronKeyBefore.MatchString(c.before):
		what = "cron expression"
	}
	l.fail(at, codeQuote, fmt.Sprintf("YAML cannot carry this %s as it is written", what),
		fmt.Sprintf("quote it: %s", line))
}

// quoteYAML quotes a text on one line, with the quotes that need no escapes if it can.
func quoteYAML(s string) string {
	if !strings.ContainsAny(s, `"\`) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// within gives the place of a byte of a scalar's value. Where the text and the value
// differ in ways that it does not follow, it is the beginning of the scalar.
func (l *loader) within(n *yaml.Node, offset int) Pos {
	at := l.pos(n)
	offset = min(max(offset, 0), len(n.Value))
	switch n.Style &^ yaml.FlowStyle {
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		rest := l.from(at.Line, at.Column)
		if skipped, ok := throughQuotes(rest, n.Value[:offset]); ok {
			at.Column += skipped
		}
	case yaml.LiteralStyle:
		before := n.Value[:offset]
		line := at.Line + 1 + strings.Count(before, "\n")
		text := l.line(line)
		indent := len(text) - len(strings.TrimLeft(text, " "))
		at.Line, at.Column = line, indent+1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	case yaml.FoldedStyle:
		return l.throughFolds(n, Pos{l.file, at.Line + 1, 1}, offset)
	default:
		return l.throughFolds(n, at, offset)
	}
	return at
}

// throughFolds follows a value whose lines are joined by spaces.
func (l *loader) throughFolds(n *yaml.Node, at Pos, offset int) Pos {
	value := n.Value
	for {
		rest := l.from(at.Line, at.Column)
		text := strings.TrimLeft(rest, " \t")
		at.Column += len(rest) - len(text)
		if strings.HasPrefix(text, value[:offset]) {
			at.Column += utf8.RuneCountInString(value[:offset])
			return at
		}
		text = strings.TrimRight(text, " \t")
		if text == "" || len(text) >= offset || !strings.HasPrefix(value, text+" ") {
			return l.pos(n)
		}
		value, offset = value[len(text)+1:], offset-len(text)-1
		at.Line, at.Column = at.Line+1, 1
	}
}

// throughQuotes counts the characters that a quoted scalar takes for the beginning
// of its value. Escapes other than of one character are not followed.
func throughQuotes(quoted, value string) (int, bool) {
	if quoted == "" {
		return 0, false
	}
	quote, rest, n := quoted[0], quoted[1:], 1
	for _, r := range value {
		if quote == '"' && strings.HasPrefix(rest, `\`) && len(rest) > 1 || quote == '\'' && strings.HasPrefix(rest, "''") {
			rest, n = rest[1:], n+1
		}
		next, size := utf8.DecodeRuneInString(rest)
		if size == 0 || next != r {
			return 0, false
		}
		rest, n = rest[size:], n+1
	}
	return n, true
}
