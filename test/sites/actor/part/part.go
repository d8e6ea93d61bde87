// Package part is what the programs of random processes and the test that plays with them say to each other: texts,
// with a NUL between two of them. It imports next to nothing, since a test starts thousands of such programs.
package part

import "strconv"

// Line is what is noted of an attempt, as JSON; the test reads it.
type Line struct {
	Instance  string
	Activity  string
	Scope     string // as FMQM_SCOPE has it
	Iteration int
	Attempt   int
	Input     string // as one text: however it was written
	Key       string
	Beside    bool // another attempt of the same execution was running
}

// Cue is what an actor was started with.
type Cue struct {
	Process string
	Line    Line // its Input is what the actor has read
}

// Text is a cue as an actor says it.
func (c *Cue) Text() string {
	l := &c.Line
	return join(c.Process, l.Instance, l.Activity, l.Scope, strconv.Itoa(l.Iteration), strconv.Itoa(l.Attempt), l.Key, flag(l.Beside), l.Input)
}

// ReadCue reads a cue; false: it is not whole.
func ReadCue(text string) (c Cue, ok bool) {
	f := split(text)
	if len(f) != 9 {
		return c, false
	}
	iteration, err1 := strconv.Atoi(f[4])
	attempt, err2 := strconv.Atoi(f[5])
	if err1 != nil || err2 != nil {
		return c, false
	}
	return Cue{f[0], Line{Instance: f[1], Activity: f[2], Scope: f[3], Iteration: iteration, Attempt: attempt, Key: f[6], Beside: f[7] != "", Input: f[8]}}, true
}

// Part is what an actor is to do.
type Part struct {
	Error  string // nothing can be told: why
	Line   string // what it notes
	Dies   bool   // by a signal
	RC     int
	Output string // what it prints
}

// Text is a part as the test says it.
func (p *Part) Text() string {
	return join(p.Error, p.Line, flag(p.Dies), strconv.Itoa(p.RC), p.Output)
}

// ReadPart reads a part; false: it is not whole.
func ReadPart(text string) (p Part, ok bool) {
	f := split(text)
	if len(f) != 5 {
		return p, false
	}
	rc, err := strconv.Atoi(f[3])
	return Part{Error: f[0], Line: f[1], Dies: f[2] != "", RC: rc, Output: f[4]}, err == nil
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return ""
}

func join(fields ...string) string {
	var all []byte
	for i, f := range fields {
		if i > 0 {
			all = append(all, 0)
		}
		all = append(all, f...)
	}
	return string(all)
}

func split(text string) (fields []string) {
	from := 0
	for i := range len(text) {
		if text[i] == 0 {
			fields, from = append(fields, text[from:i]), i+1
		}
	}
	return append(fields, text[from:])
}
