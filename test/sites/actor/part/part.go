// Package part is what the programs of random processes and the test that plays with them say to each other.
package part

// Line is what is noted of an attempt; the test reads it.
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

// Part is what an actor is to do.
type Part struct {
	Error  string // nothing can be told: why
	Input  string // of its line
	Dies   bool   // by a signal
	Output string // what it prints
	RC     int
}
