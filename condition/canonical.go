package condition

import (
	"regexp"
	"strings"
)

// token is one word or sign of a condition, or a comment.
var token = regexp.MustCompile(`^(?://[^\n]*` +
	`|0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?` +
	`|[A-Za-z_][A-Za-z0-9_]*` +
	`|&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]])`)

// Canonical is the text with one space where its sense has any, and without comments: two
// texts that differ in nothing else are the same definition (N3). It changes no token, and
// gives a text that it does not understand as it is, without the white space around it.
func Canonical(text string) string {
	var b strings.Builder
	before, unary := "", true // unary: a - or ! that comes now has no left side
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n\f\v") {
		next := take(rest)
		if next == "" {
			return strings.TrimSpace(text)
		}
		rest = rest[len(next):]
		if strings.HasPrefix(next, "//") {
			continue
		}
		sign := next
		if unary && (next == "-" || next == "!") {
			sign = "unary"
		}
		if spaced(before, sign) {
			b.WriteByte(' ')
		}
		b.WriteString(next)
		before, unary = sign, operator(sign) || strings.Contains("([,", next) || next == "in"
	}
	return b.String()
}

// take gives the token at the beginning of text.
func take(text string) string {
	quote := strings.IndexAny(text, `"'`)
	if quote >= 0 && quote <= 2 && strings.Trim(text[:quote], "rRbB") == "" {
		return text[:min(endOfString(text, quote)+1, len(text))]
	}
	return token.FindString(text)
}

// operator says whether a token stands between two values or before one.
func operator(t string) bool {
	switch t {
	case "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "?", ":", "!", "unary", "in":
		return true
	}
	return false
}

// spaced says whether a space stands between two tokens.
func spaced(before, after string) bool {
	switch {
	case before == "" || before == "unary" || before == "(" || before == "[" || before == "." ||
		after == ")" || after == "]" || after == "," || after == ".":
		return false
	case after == "(" || after == "[":
		return operator(before) || before == ","
	}
	return true
}
