package program

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/container"
)

// Program is something that can be invoked. It is safe for concurrent use.
type Program interface {
	// Run invokes the program once and returns when it has ended. It never panics for
	// what the program does, and takes as long as the program, its timeout, or ctx. The call
	// is the caller's, and is not changed.
	Run(ctx context.Context, call *Call) Result
}

// Call is one invocation.
type Call struct {
	Process   string // name@version
	Instance  string
	Activity  string
	Scope     string // the activity where it is, by its PATH: documents#2/check; empty at the top
	Element   string // the number of the innermost element around it, from 0 on; empty: it is in no bundle
	Node      string
	Iteration int       // from 1 in its scope
	Attempt   int       // from 1
	Due       time.Time // the activity's deadline; zero: it has none
	People    string    // of a notice for people: the names of those who see it, as "ann,bob"; empty: nobody, or it is none
	On        string    // of a notice of the process: what has happened, as end, error or deadline; empty: it is no such one
	About     string    // with On: the activity that it has happened to, as Scope has it; empty: the instance
	Error     string    // with On: what is wrong, or why the instance was terminated, at most MaxError bytes in one line; empty: nothing
	Key       string    // the idempotency key (P1): the same for every attempt; a builtin needs none

	Input      *container.Struct // never nil; not changed and not kept
	OutputType *container.Type   // never nil
	NoOutput   bool              // the definition names no output: what is printed is log
	RCIsData   bool              // a return code other than 0 is data, not a failed attempt
	RCContinue bool              // on_rc: continue is written: so is an HTTP 408, 425, 429 or 5xx (P3)

	// Log takes a line of the program's standard error, and of its standard output where
	// NoOutput, without the newline, cut at MaxLogLine bytes. It is not called any more
	// after Run has returned, and by one goroutine at a time. Nil: they are dropped.
	Log func(line string)
}

// Result is what became of a Call.
type Result struct {
	RC     int64             // _RC: exit code, HTTP status (2xx: 0), or of a builtin
	Output *container.Struct // the caller's; nil only where Err is not
	// Err says why the attempt failed whatever the return code: the program could not be
	// started, was killed by a signal, overran its timeout (ErrTimeout), wrote what is not
	// its output container. It wraps ctx.Err() where Run's own ctx ended it: that says
	// nothing of the program, ErrLedger where the node must stop, and ErrShort where it
	// could not be started now: none of these was an attempt. A return code that nothing
	// reads is not in it.
	Err            error
	Final          bool      // with Err: another attempt must not be made before somebody has looked
	Started, Ended time.Time // for people
}

// ErrTimeout is wrapped where a program was ended because it overran its timeout.
var ErrTimeout = errors.New("overran its timeout")

// ErrShort is wrapped where a program could not be started because this machine is short
// of files, processes or memory at the moment. Nothing of it has run: it is to be tried
// again later.
var ErrShort = errors.New("cannot be started now")

// shortages are the errors of a machine that is short of something, and what to do.
var shortages = []struct {
	err    syscall.Errno
	remedy string
}{
	{unix.EMFILE, "raise LimitNOFILE of the daemon's unit, or lower `concurrency`"},
	{unix.ENFILE, "the machine has too many files open: raise fs.file-max, or see what has them open"},
	{unix.EAGAIN, "raise TasksMax of the daemon's unit, or see what runs so many processes"},
	{unix.ENOMEM, "see what takes the memory, or raise MemoryMax of the daemon's unit"},
}

// short makes an ErrShort of an error that says that the machine is short of something.
func short(err error) error {
	if errors.Is(err, ErrLedger) || errors.Is(err, ErrShort) {
		return err
	}
	for _, s := range shortages {
		if errors.Is(err, s.err) {
			return fmt.Errorf("%w: %w: %s", ErrShort, s.err, s.remedy)
		}
	}
	return err
}

// MaxError is how long the text of an error is that a program is told.
const MaxError = 1 << 10

// Limits of what programs write.
const (
	MaxLogLine  = 4 << 10 // bytes of one line of log; the rest of it is dropped
	MaxLogBytes = 1 << 20 // bytes that one invocation can log; then a line says so
	logLineCost = 128     // what a line counts beside its own bytes: a log adds about as much
)

// fact is one of the facts of an invocation that programs are told.
type fact struct{ env, header, value string }

// facts gives a program's contract: environment variables of exec, headers of http.
func (c *Call) facts() []fact {
	due := ""
	if !c.Due.IsZero() {
		due = c.Due.UTC().Format(time.RFC3339Nano)
	}
	return []fact{
		{"FMQM_PROCESS", "Fmqm-Process", c.Process},
		{"FMQM_INSTANCE", "Fmqm-Instance", c.Instance},
		{"FMQM_ACTIVITY", "Fmqm-Activity", c.Activity},
		{"FMQM_SCOPE", "Fmqm-Scope", c.Scope},
		{"FMQM_ELEMENT", "Fmqm-Element", c.Element},
		{"FMQM_ITERATION", "Fmqm-Iteration", strconv.Itoa(c.Iteration)},
		{"FMQM_ATTEMPT", "Fmqm-Attempt", strconv.Itoa(c.Attempt)},
		{"FMQM_IDEMPOTENCY_KEY", "Fmqm-Idempotency-Key", c.Key},
		{"FMQM_NODE", "Fmqm-Node", c.Node},
		{"FMQM_DUE", "Fmqm-Due", due},
		{"FMQM_PEOPLE", "Fmqm-People", c.People},
		{"FMQM_ON", "Fmqm-On", c.On},
		{"FMQM_ABOUT", "Fmqm-About", c.About},
		{"FMQM_ERROR", "Fmqm-Error", c.Error},
	}
}

// stopped gives the reason why run, derived from parent with a timeout, has ended.
func stopped(parent context.Context, timeout time.Duration) error {
	if err := parent.Err(); err != nil {
		return fmt.Errorf("stopped by the node: %w", err)
	}
	return fmt.Errorf("%w of %v: make it faster, or raise `timeout` of the program", ErrTimeout, timeout)
}

// withTimeout is context.WithTimeout, where 0 is none.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
