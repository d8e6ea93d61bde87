package condition

import "slices"

// MaxName is the longest name of a member, structure or activity, in bytes.
const MaxName = 64

// reserved are CEL's words and RC: no activity and no member can be called so.
var reserved = []string{
	RC, "as", "break", "const", "continue", "else", "false", "for", "function", "if",
	"import", "in", "let", "loop", "namespace", "null", "package", "return", "true",
	"var", "void", "while",
}

// IsReserved says whether s has a meaning of its own in conditions.
func IsReserved(s string) bool { return slices.Contains(reserved, s) }

// ValidName says whether s has the form of a name of a member, structure or
// activity: [A-Za-z_][A-Za-z0-9_]{0,63}. Whether it is free is for IsReserved to say.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
