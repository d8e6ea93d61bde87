package stage

import (
	"errors"
	"io"
	"os"
	"strconv"
)

// Encode gives a request: what the stage is to become, as texts, each of which a NUL
// ends: path, directory, free, rules, user, the number of arguments, these. It fails where one of them has a NUL itself.
func (p *Program) Encode() (string, error) {
	fields := []string{p.Path, p.Dir, flag(p.Free), flag(p.Rules), "", strconv.Itoa(len(p.Argv))}
	if p.User != nil {
		numbers := []string{number(p.User.UID), number(p.User.GID)}
		for _, g := range p.User.Groups {
			numbers = append(numbers, number(g))
		}
		fields[4] = join(numbers, " ")
	}
	fields = append(fields, p.Argv...)
	for _, f := range fields {
		if len(split(f, 0)) > 1 {
			return "", errors.New("a NUL is in the program's path, directory or arguments")
		}
	}
	return join(fields, "\x00") + "\x00", nil
}

// Decode reads a request; false: it is not whole.
func Decode(text string) (p Program, ok bool) {
	fields := split(text, 0)
	last := len(fields) - 1
	if last < 6 || fields[last] != "" || fields[5] != strconv.Itoa(last-6) {
		return p, false
	}
	p.Path, p.Dir, p.Free, p.Rules = fields[0], fields[1], fields[2] != "", fields[3] != ""
	p.Argv = fields[6:last]
	if fields[4] == "" {
		return p, true
	}
	var numbers []uint32
	for _, f := range split(fields[4], ' ') {
		n, err := strconv.ParseUint(f, 10, 32)
		if err != nil {
			return p, false
		}
		numbers = append(numbers, uint32(n))
	}
	if len(numbers) < 2 {
		return p, false
	}
	p.User = &User{UID: numbers[0], GID: numbers[1], Groups: numbers[2:]}
	return p, true
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return ""
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func readRequest(from *os.File) (Program, bool) {
	text, err := io.ReadAll(from)
	if err != nil {
		return Program{}, false
	}
	return Decode(string(text))
}

// split and join are those of package strings: the package's doc says why they are here.
func split(s string, sep byte) (parts []string) {
	from := 0
	for i := range len(s) {
		if s[i] == sep {
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

func join(parts []string, sep string) string {
	var all []byte
	for i, p := range parts {
		if i > 0 {
			all = append(all, sep...)
		}
		all = append(all, p...)
	}
	return string(all)
}
