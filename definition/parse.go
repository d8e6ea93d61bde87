package definition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxFile is how many bytes a file of definitions may have.
const MaxFile = 8 << 20

// maxDiagnostics is how many diagnostics of one file are kept.
const maxDiagnostics = 100_000

// Load reads the processes of a file, one for each YAML document, and says
// everything that is wrong or doubtful with them, in the order of the text. Processes
// are returned only if no diagnostic is an error; each of them then compiles. File is
// used in positions only: Load reads no file. A YAML syntax error ends the file:
// what stands before it is still checked. What it costs grows with the text, whatever
// is wrong in it; a text over MaxFile is refused, and of over 100,000 diagnostics the
// others are counted only. Load is pure and safe for concurrent use.
func Load(file string, text []byte) ([]*Process, []Diagnostic) {
	return loadWithin(file, text, languageBounds)
}

func loadWithin(file string, text []byte, most bounds) ([]*Process, []Diagnostic) {
	if len(text) > MaxFile {
		return nil, []Diagnostic{{
			File: file, Line: 1, Column: 1, Severity: Error, Code: codeLimit,
			Message: fmt.Sprintf("the file has over %d bytes", MaxFile),
			Remedy:  "write its processes into separate files",
		}}
	}
	l := &loader{
		file:       file,
		Source:     NewSource(text),
		bounds:     most,
		conditions: map[conditionKey]checkedCondition{},
		unclean:    map[*yaml.Node]bool{},
	}
	var processes []*Process
	if l.encoding() {
		processes = l.read(text)
		l.diags = append(l.diags, shapes(processes, func(a, b *Process) bool { return true })...)
	}
	l.tooMany()
	Sort(l.diags)
	l.diags = slices.Compact(l.diags)
	if HasErrors(l.diags) {
		return nil, l.diags
	}
	return processes, l.diags
}

// loader is the reading of one file.
type loader struct {
	*Source
	file    string
	bang    string // stands for the leading "!" of a condition while YAML reads the text
	diags   []Diagnostic
	errors  int // that were reported
	dropped int // diagnostics over maxDiagnostics
	bounds  bounds

	comparisons int // of unknown names with known ones
	conditions  map[conditionKey]checkedCondition
	unclean     map[*yaml.Node]bool // documents in which something was reported before they are read
}

func (l *loader) read(text []byte) []*Process {
	var processes []*Process
	seen := map[string]Pos{}
	for _, doc := range l.documents(text) {
		p := l.process(doc)
		if p == nil {
			continue
		}
		id := fmt.Sprintf("%s@%d", p.Name, p.Version)
		if first, ok := seen[id]; ok {
			l.fail(p.Pos, codeDuplicateName, fmt.Sprintf("process %s is already defined in line %d", id, first.Line),
				"give it another name or raise the version")
		}
		seen[id] = p.Pos
		processes = append(processes, p)
	}
	if len(processes) == 0 && len(l.diags) == 0 {
		l.fail(Pos{l.file, 1, 1}, codeEmptyFile, "this file has no process", "begin with `process: NAME` and `version: 1`")
	}
	return processes
}

// documents gives the roots of the YAML documents before the first syntax error.
func (l *loader) documents(text []byte) []*yaml.Node {
	var roots []*yaml.Node
	reader, err := yaml.NewLoader(bytes.NewReader(l.hideBangs(text)))
	for err == nil {
		var doc yaml.Node
		if err = reader.Load(&doc); err != nil {
			break
		}
		for _, root := range doc.Content {
			if isNull(root) && root.Value == "" && root.Anchor == "" {
				continue // `---` with nothing behind it
			}
			before := l.errors
			l.clean(root)
			l.unclean[root] = l.errors > before
			roots = append(roots, root)
		}
	}
	if !errors.Is(err, io.EOF) {
		l.syntax(err)
	}
	return roots
}

func (l *loader) report(at Pos, s Severity, code, message, remedy string) {
	if s == Error {
		l.errors++
	}
	if len(l.diags) >= maxDiagnostics {
		l.dropped++
		return
	}
	l.diags = append(l.diags, Diagnostic{
		File: at.File, Line: at.Line, Column: at.Column,
		Severity: s, Code: code, Message: clip(message), Remedy: clip(remedy),
	})
}

// tooMany says that there is more to say than is kept.
func (l *loader) tooMany() {
	if l.dropped == 0 {
		return
	}
	severity := Warning
	if l.errors > 0 {
		severity = Error
	}
	l.diags = append(l.diags, Diagnostic{
		File: l.file, Line: 1, Column: 1, Severity: severity, Code: codeLimit,
		Message: fmt.Sprintf("%d more errors and warnings are not listed", l.dropped),
		Remedy:  "correct those that are listed, then check the file again",
	})
}

// clip shortens what repeats a text of the file that is of any length.
func clip(s string) string {
	const most = 500
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}

func (l *loader) fail(at Pos, code, message, remedy string) {
	l.report(at, Error, code, message, remedy)
}

func (l *loader) warn(at Pos, code, message, remedy string) {
	l.report(at, Warning, code, message, remedy)
}

// encoding says whether the text is UTF-8 that YAML takes, and where it is not.
func (l *loader) encoding() bool {
	if first := l.line(1); strings.HasPrefix(first, "\xff\xfe") || strings.HasPrefix(first, "\xfe\xff") {
		l.fail(Pos{l.file, 1, 1}, codeEncoding, "the file is UTF-16", "save it as UTF-8")
		return false
	} else if strings.ContainsRune(first[:min(len(first), 512)], 0) {
		l.fail(Pos{l.file, 1, 1}, codeEncoding, "this is not a text file", "name a file with a process definition, which is YAML")
		return false
	}
	for i, line := range l.lines {
		column := 1
		for j, r := range line {
			at := Pos{l.file, i + 1, column}
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(line[j:], "\uFFFD"):
				l.fail(at, codeEncoding, fmt.Sprintf("byte 0x%02x is not UTF-8", line[j]), "save the file as UTF-8")
				return false
			case !yamlTakes(r):
				l.fail(at, codeEncoding, fmt.Sprintf("character %U is not allowed in YAML", r),
					fmt.Sprintf("remove it, or write it as \"\\u%04X\" in double quotes", r))
				return false
			}
			column++
		}
	}
	return true
}

// yamlTakes is YAML's set of printable characters, less the line breaks.
func yamlTakes(r rune) bool {
	switch {
	case r == '\t', r >= 0x20 && r <= 0x7E, r >= 0xA0 && r <= 0xD7FF, r >= 0x10000:
		return true
	}
	return r >= 0xE000 && r <= 0xFFFD && r != 0xFEFF
}

// clean reports what this language does not take from YAML: anchors, aliases and
// tags. It brings back the hidden "!", and empties what was reported, so that nobody
// reports it again.
func (l *loader) clean(n *yaml.Node) {
	n.Value = l.showBangs(n.Value)
	switch {
	case n.Kind == yaml.AliasNode:
		l.unwanted(n, codeAlias, "an alias", "*"+n.Value, "write the value out here")
		n.Kind = 0
	case n.Anchor != "":
		l.unwanted(n, codeAlias, "an anchor", "&"+n.Anchor, "remove it and write the value out where it is needed")
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		l.unwanted(n, codeTag, "a tag", n.Tag, "remove it, or quote the value if it is meant as text")
	}
	for _, c := range n.Content {
		l.clean(c)
	}
}

// unwanted reports a mark of YAML's own, which in a condition was probably meant as
// part of the condition.
func (l *loader) unwanted(n *yaml.Node, code, what, text, remedy string) {
	at := l.pos(n)
	if c, ok := l.conditionAt(at); ok {
		l.failQuote(at, c)
		return
	}
	l.fail(at, code, fmt.Sprintf("%s (%s) has no meaning here", what, l.showBangs(text)), remedy)
}

// syntax reports what YAML's parser says.
func (l *loader) syntax(err error) {
	at, message := Pos{l.file, 1, 1}, err.Error()
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		l.fail(at, codeSyntax, message, "check the file with a YAML checker")
		return
	}
	message = e.Message
	if l.directive(e.Mark.Line) || l.listElement(e.Mark.Line) || l.foreignIndent(e.Mark.Line) {
		return
	}
	for _, mark := range []yaml.Mark{e.Mark, e.ContextMark} {
		for _, c := range l.conditionsIn(mark.Line) {
			if c.needsQuotes() {
				l.failQuote(Pos{l.file, mark.Line, c.column}, c)
				return
			}
		}
	}
	mark := e.Mark
	if mark.Line == 0 || mark.Line > len(l.lines) || strings.Contains(message, "end of stream") && e.ContextMark.Line > 0 {
		mark = e.ContextMark // not the end of the file, but what was begun and not ended
	}
	if mark.Line > 0 {
		at.Line, at.Column = mark.Line, max(mark.Column, 1)
	}
	if begun := e.ContextMark; strings.Contains(e.ContextMsg, "flow") && begun.Line > 0 {
		message += fmt.Sprintf(" (in the part that begins in line %d, column %d)", begun.Line, begun.Column)
	}
	l.fail(at, codeSyntax, "not YAML: "+message, syntaxRemedy(message, l.line(at.Line)))
}

// directive reports a line such as `%YAML 1.2`, which YAML's parser stumbles over.
func (l *loader) directive(number int) bool {
	line := l.line(number)
	if !strings.HasPrefix(line, "%") {
		return false
	}
	l.fail(Pos{l.file, number, 1}, codeSyntax, fmt.Sprintf("the file has the directive %s", strings.TrimSpace(line)),
		"remove the line: a definition has no directives")
	return true
}

// elementMapped finds a mapping of which one side is an element of a list, which YAML's
// parser stumbles over within braces.
var elementMapped = regexp.MustCompile(`->[^:{]*:\s*\{(?:[^{}]*[\s{,])?([A-Za-z_][\w.]*\[[^\]{},]*\])`)

func (l *loader) listElement(number int) bool {
	line := l.line(number)
	if len(line) > maxWrittenLine {
		return false
	}
	at := elementMapped.FindStringSubmatchIndex(line)
	if at == nil {
		return false
	}
	l.fail(Pos{l.file, number, utf8.RuneCountInString(line[:at[2]]) + 1}, codeForm,
		fmt.Sprintf("%s is an element of a list", line[at[2]:at[3]]), remedyElement(line[at[2]:at[3]]))
	return true
}

// elementsAfter is the type of a list as other languages have it, within braces.
var elementsAfter = regexp.MustCompile(`\b([A-Za-z_]\w*)\[\s*\]`)

func syntaxRemedy(message, line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(indent, "\t"):
		return "indent with spaces; YAML allows no tabs there"
	case strings.Contains(message, "mapping values are not allowed"):
		return "quote the value if it contains `: `, or check the indentation"
	case strings.Contains(message, "cannot start any token"):
		return "quote the value"
	case elementsAfter.MatchString(line):
		return "a list of T is written [T]: " + elementsAfter.ReplaceAllString(elementsAfter.FindString(line), "[$1]")
	case strings.Contains(message, "expected ','"):
		return "close the bracket before this place, or write the comma that is missing"
	case strings.Contains(message, "end of stream"):
		return "close the quote or bracket that begins here"
	}
	return "check indentation, brackets and quotes up to this place"
}
