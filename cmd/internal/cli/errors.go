package cli

import (
	"context"
	"errors"
	"fmt"

	"fmqm/api"
)

// Exit codes, of every command.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitRefused     = 4
	ExitUnreachable = 5 // or timed out
)

// Error ends a command with an exit code. Its text goes to standard error; an empty
// one says nothing, since what there is to say has been printed.
type Error struct {
	Exit int
	Text string
}

func (e *Error) Error() string { return e.Text }

// Usagef is the error of a command line that cannot be understood.
func Usagef(format string, args ...any) error {
	return &Error{Exit: ExitUsage, Text: fmt.Sprintf(format, args...)}
}

// Failedf is the error of a command that was understood and did not succeed.
func Failedf(format string, args ...any) error {
	return &Error{Exit: ExitFailed, Text: fmt.Sprintf(format, args...)}
}

// ExitCode gives the exit code that err stands for: its own if it is an *Error, that of
// an *api.Error's code, else ExitFailed.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	var own *Error
	if errors.As(err, &own) {
		return own.Exit
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ExitUnreachable
	}
	switch api.CodeOf(err) {
	case api.CodeUsage:
		return ExitUsage
	case api.CodeNotFound:
		return ExitNotFound
	case api.CodeRefused:
		return ExitRefused
	case api.CodeUnreachable:
		return ExitUnreachable
	case api.CodeFailed:
	}
	return ExitFailed
}
