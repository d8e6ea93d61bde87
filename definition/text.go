package definition

import (
	"bytes"
	"fmt"

	"fmqm/processtable"
)

// HashOf gives the hash of what a process means (N3), as CompileEach says it. AsWritten: as CompileOptions has it.
func HashOf(p *Process, asWritten bool) (processtable.DefinitionHash, error) {
	if asWritten {
		p = p.asWritten()
	}
	return definitionHash(p)
}

// IsOf says whether a process is what a hash, in hexadecimal digits, was taken of, with conditions in their canonical
// text or as written.
func IsOf(p *Process, hash string) (bool, error) {
	for _, asWritten := range []bool{false, true} {
		got, err := HashOf(p, asWritten)
		if err != nil {
			return false, fmt.Errorf("hash of %s@%d: %w", p.Name, p.Version, err)
		}
		if got.String() == hash {
			return true, nil
		}
	}
	return false, nil
}

// TextOf gives the part of a file that defines one of its processes, with the comments that are in it: its YAML
// document; or the whole file, where that alone would not mean the same.
func TextOf(text []byte, p *Process) ([]byte, error) {
	part := document(text, p.Pos.Line)
	if len(part) == len(text) {
		return text, nil
	}
	hash, err := HashOf(p, false)
	if err != nil {
		return nil, err
	}
	alone, diagnostics := Load(p.Pos.File, part)
	if HasErrors(diagnostics) || len(alone) != 1 {
		return text, nil
	}
	if got, err := HashOf(alone[0], false); err != nil || got != hash {
		return text, err
	}
	return part, nil
}

// document gives the YAML document around a line, from 1, without the marks at its borders. At the beginning of a line
// these are marks wherever they stand.
func document(text []byte, line int) []byte {
	at, begin, n := 0, 0, 1
	for ; at < len(text); n++ {
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		if end == at {
			end = len(text)
		}
		if mark(text[at:end]) {
			switch {
			case n > line:
				return text[begin:at]
			case n < line:
				begin = end
			}
		}
		at = end
	}
	return text[begin:]
}

// mark says whether a line begins or ends a YAML document.
func mark(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(bytes.TrimSpace(line[3:])) == 0 || line[3] == ' ' || line[3] == '\t'
}
