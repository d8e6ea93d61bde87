// Package childtest is for tests of subprocesses (N19) at sites: it makes of an activity with a program
// called process-NAME one that begins an instance of that process, in the tables that a definition was
// compiled to. With independent-NAME that is independent; NAME-v2 is of version 2.
package childtest

import (
	"strconv"
	"strings"

	"fmqm/processtable"
)

// Table gives a table with its subprocesses, in the format that has them; all tables of a process are to
// be given so.
func Table(encoded []byte) (*processtable.Table, []byte, error) {
	t, err := processtable.Decode(encoded)
	if err != nil {
		return nil, nil, err
	}
	t.Format = processtable.ModelFormat
	for _, a := range t.Activities {
		name, begins := strings.CutPrefix(string(a.Program), "process-")
		if !begins {
			if name, a.Independent = strings.CutPrefix(string(a.Program), "independent-"); !a.Independent {
				continue
			}
		}
		child := &processtable.Child{Name: name}
		if of, version, versioned := strings.Cut(name, "-v"); versioned {
			n, err := strconv.Atoi(version)
			if err != nil {
				return nil, nil, err
			}
			child = &processtable.Child{Name: of, Version: n}
		}
		a.Kind, a.Program, a.Child, a.RCIsData = processtable.KindProcess, "", child, false
	}
	encoded, t, err = processtable.EncodeAsRead(t)
	return t, encoded, err
}
