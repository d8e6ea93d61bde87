package processtable

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// MaxName is the longest name of a process, node, program or activity, in bytes.
const MaxName = 64

// MaxVersion is the highest version of a process.
const MaxVersion = 1<<31 - 1

// ValidProcess says whether s can name a process: [A-Za-z_][A-Za-z0-9_-]{0,63}.
func ValidProcess(s string) bool { return validName(s, true) }

// ValidNode says whether s can name a node: [A-Za-z_][A-Za-z0-9_-]{0,63}.
func ValidNode(s string) bool { return validName(s, true) }

// ValidProgram says whether s can name a program: [A-Za-z_][A-Za-z0-9_-]{0,63}.
func ValidProgram(s string) bool { return validName(s, true) }

// ValidBehaviour says whether s can name a behaviour: [A-Za-z_][A-Za-z0-9_-]{0,63}.
func ValidBehaviour(s string) bool { return validName(s, true) }

// ValidNetwork says whether s can name a network of sites: [A-Za-z_][A-Za-z0-9_-]{0,63}.
func ValidNetwork(s string) bool { return validName(s, true) }

// ValidActivity says whether s has the form of an activity's name:
// [A-Za-z_][A-Za-z0-9_]{0,63}. Source and Sink have it; that they are reserved, like
// the words of the language, is for the language to say.
func ValidActivity(s string) bool { return validName(s, false) }

func validName(s string, hyphen bool) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		later := '0' <= c && c <= '9' || c == '-' && hyphen
		if !letter && (i == 0 || !later) {
			return false
		}
	}
	return true
}

// Compare orders by name, then by version.
func (p ProcessID) Compare(other ProcessID) int {
	return cmp.Or(strings.Compare(p.Name, other.Name), cmp.Compare(p.Version, other.Version))
}

// String gives name@version, or the name alone where the version is 0.
func (p ProcessID) String() string {
	if p.Version == 0 {
		return p.Name
	}
	return p.Name + "@" + strconv.Itoa(p.Version)
}

// ParseProcessID reads name@version. Without a version the result has Version 0,
// which stands for "the newest".
func ParseProcessID(s string) (ProcessID, error) {
	name, version, versioned := strings.Cut(s, "@")
	if !ValidProcess(name) {
		return ProcessID{}, fmt.Errorf("process %q: this is not a name: write NAME or NAME@VERSION, with letters, digits, _ and - in the name, at most %d", s, MaxName)
	}
	if !versioned {
		return ProcessID{Name: name}, nil
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 || n > MaxVersion || strconv.Itoa(n) != version {
		return ProcessID{}, fmt.Errorf("process %q: %q is not a version: write a whole number from 1 after the @", s, version)
	}
	return ProcessID{Name: name, Version: n}, nil
}

// QueueName gives the name of a process queue, name@version.node.
func QueueName(p ProcessID, n NodeID) string { return p.String() + "." + string(n) }

// String gives the hash as 64 hexadecimal digits.
func (h DefinitionHash) String() string { return hex.EncodeToString(h[:]) }

// String gives the short hash as 16 hexadecimal digits.
func (h ShortHash) String() string { return hex.EncodeToString(h[:]) }

// ParseDefinitionHash reads what DefinitionHash.String gives.
func ParseDefinitionHash(s string) (DefinitionHash, error) {
	var h DefinitionHash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("definition hash %q: want %d hexadecimal digits", s, 2*len(h))
	}
	copy(h[:], b)
	return h, nil
}
