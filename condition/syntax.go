package condition

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// foreign finds operators of other languages, before the parser stumbles over them
// with words that do not help.
func foreign(text string) []Problem {
	var problems []Problem
	add := func(at int, message, remedy string) {
		problems = append(problems, Problem{Offset: at, Message: message, Remedy: remedy})
	}
	for i := 0; i < len(text); i++ {
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = endOfString(text, i)
		case c == '/' && next == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == next && strings.IndexByte("=&|", c) >= 0, next == '=' && strings.IndexByte("!<>", c) >= 0:
			i++
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			if ours := foreignSigns[r]; ours != "" {
				add(i, fmt.Sprintf("%c (%U) is not a sign of the language", r, r), "write "+ours)
			}
			i += size - 1
		case c == '=' && next == '<', c == '=' && next == '>':
			add(i, fmt.Sprintf("%c%c is not an operator", c, next), fmt.Sprintf("write %c=", next))
			i++
		case c == '<' && next == '>':
			add(i, "<> is not an operator", "write !=")
			i++
		case c == '=':
			add(i, "= does not compare", "write ==")
		case c == '&' || c == '|':
			add(i, fmt.Sprintf("a single %c is not an operator", c), fmt.Sprintf("write %c%c", c, c))
		}
	}
	return problems
}

// foreignSigns are those that word processors and books have, and what is written here.
var foreignSigns = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '«': `"`, '»': `"`, '‘': "'", '’': "'", '‚': "'",
	'≤': "<=", '≥': ">=", '≠': "!=", '×': "*", '·': "*", '÷': "/", '−': "-", '–': "-", '—': "-", '¬': "!", '∧': "&&", '∨': "||",
	'\u00a0': "a plain space", '\u202f': "a plain space",
}

// endOfString gives the offset of the quote that ends the string beginning at i, or
// the end of the text.
func endOfString(text string, i int) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], triple) {
		quote = triple
	}
	raw := i > 0 && (text[i-1] == 'r' || text[i-1] == 'R')
	for j := i + len(quote); j < len(text); j++ {
		switch {
		case text[j] == '\\' && !raw:
			j++
		case strings.HasPrefix(text[j:], quote):
			return j + len(quote) - 1
		}
	}
	return len(text)
}

// otherWords are what people write who think of another language.
var otherWords = regexp.MustCompile(`(?i)\b(and|or|not|is|like|between)\b`)

// bareDuration is a duration as keys of the language take it.
var bareDuration = regexp.MustCompile(`\b(\d{1,9})(ms|s|m|h|d)\b`)

// celDuration is a duration as CEL has it, which knows no days.
func celDuration(number, unit string) string {
	if unit != "d" {
		return number + unit
	}
	days, _ := strconv.Atoi(number) // digits, and few
	return strconv.Itoa(24*days) + "h"
}

var wordRemedies = map[string]string{
	"and": "write && for and", "or": "write || for or", "not": "write ! for not",
	"is": "write == for is", "like": `write name.matches("...") or name.startsWith("...")`,
	"between": "write n >= 1 && n <= 9",
}

var word = regexp.MustCompile(`^\w+`)

// syntaxProblem puts what the parser says into the reader's words.
func syntaxProblem(text string, err *common.Error, f form) Problem {
	p := Problem{
		Offset:  offset(text, err.Location.Line(), err.Location.Column()),
		Message: "not understood: " + cleaned(err.Message, f),
		Remedy:  fmt.Sprintf("correct the %s here", f),
	}
	here := word.FindString(text[p.Offset:])
	if here == "if" || here == "then" {
		p.Message, p.Remedy = here+" is not part of "+forms[f].any, forms[f].without
		return p
	}
	if strings.HasPrefix(text[p.Offset:], "$") {
		p.Message = "$ is not part of " + forms[f].any
		p.Remedy = "write a member by its name alone, without $ and braces"
		return p
	}
	if IsReserved(here) {
		p.Message = fmt.Sprintf("%s is a word of the language and cannot be a name", here)
		p.Remedy = "use the name of a member"
		return p
	}
	if m := bareDuration.FindStringSubmatch(unquoted(text)); m != nil {
		p.Message, p.Remedy = fmt.Sprintf("%s is no duration in %s", m[0], forms[f].any), fmt.Sprintf(`write duration("%s")`, celDuration(m[1], m[2]))
		return p
	}
	if m := otherWords.FindString(unquoted(text)); m != "" {
		p.Remedy = wordRemedies[strings.ToLower(m)]
		return p
	}
	switch open := balance(text); {
	case strings.Contains(err.Message, "invalid int"):
		p.Message, p.Remedy = here+" does not fit into an int of 64 bits", "use a smaller number"
	case strings.Contains(err.Message, "recursion limit"):
		p.Message, p.Remedy = fmt.Sprintf("the %s is nested too deep", f), "make it shorter, or let the program compute a member"
	case strings.Contains(err.Message, "unterminated") || endsInString(text):
		p.Message, p.Remedy = "a string does not end", "close it with the quote that it begins with"
	case open > 0:
		p.Remedy = "close what is open: ( [ {"
	case open < 0:
		p.Remedy = "open what is closed: ) ] }"
	case p.Offset >= len(strings.TrimRight(text, " \t\n")):
		p.Message, p.Remedy = fmt.Sprintf("the %s ends too soon", f), "write what follows the last operator"
	case strings.Contains(err.Message, "after expression"):
		p.Remedy = "join the two with && or ||"
	}
	return p
}

// cleaned takes the parser's way of speaking out of a message.
func cleaned(message string, f form) string {
	message = strings.TrimPrefix(message, "Syntax error: ")
	if message == "unexpected token after expression" {
		return fmt.Sprintf("the %s is already complete before this", f)
	}
	return message
}

// unquoted blanks the strings of text.
func unquoted(text string) string {
	b := []byte(text)
	for i := 0; i < len(text); i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		end := min(endOfString(text, i), len(text)-1)
		for ; i <= end; i++ {
			b[i] = ' '
		}
		i--
	}
	return string(b)
}

func endsInString(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == '"' || text[i] == '\'' {
			if i = endOfString(text, i); i == len(text) {
				return true
			}
		}
	}
	return false
}

// balance says how many brackets are open at the end.
func balance(text string) int {
	n := 0
	for _, c := range unquoted(text) {
		switch c {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}

// offset turns a line from 1 and a column from 0, in characters, into bytes.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	for ; column > 0 && at < len(text); column-- {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return at
}

// unsupported finds what CEL has and the language has not.
func unsupported(text string, a *ast.AST, f form) []Problem {
	var problems []Problem
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		message, remedy := "", ""
		switch e.Kind() {
		case ast.StructKind:
			message = forms[f].any + " cannot build a structure"
			remedy = "compare the members one by one"
		case ast.MapKind:
			message = "there are no maps { }"
			remedy = "use a list [ ], or compare one by one with ||"
		case ast.CallKind:
			if name := e.AsCall().FunctionName(); macros[name] {
				message, remedy = name+" is not written like this", "write it as in "+functions[name]
			}
		case ast.IdentKind:
			if strings.HasPrefix(e.AsIdent(), ".") {
				message, remedy = "a name cannot begin with a dot", "remove the dot"
			}
		case ast.LiteralKind:
			switch e.AsLiteral().(type) {
			case types.Null:
				message = "there is no null: every member has a value, its default if nothing was assigned"
				remedy = `compare with the default, as in name == ""`
			case types.Uint:
				message, remedy = "there are no unsigned numbers", "write the number without u"
			}
		default:
		}
		if message != "" {
			problems = append(problems, Problem{Offset: place(text, a, e), Message: message, Remedy: remedy})
		}
	}))
	return problems
}

// place gives the offset of e in the text.
func place(text string, a *ast.AST, e ast.Expr) int {
	l := a.SourceInfo().GetStartLocation(e.ID())
	return offset(text, l.Line(), l.Column())
}
