package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Code classes errors; each is an exit code of fmqm.
type Code string

const (
	CodeFailed      Code = "failed"      // exit 1
	CodeUsage       Code = "usage"       // exit 2: the request is malformed
	CodeNotFound    Code = "not-found"   // exit 3
	CodeRefused     Code = "refused"     // exit 4: understood, and not done
	CodeUnreachable Code = "unreachable" // exit 5: no answer, or not in time
)

// Error is what a node, or the way to it, answers instead of what was asked for.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`          // what is wrong, and where
	Remedy  string `json:"remedy,omitempty"` // what to do

	cause error // of the client's own
	sent  bool  // the request may have reached the node
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + ": " + e.Remedy
}

// Unwrap gives what the way to the node said, if it was that.
func (e *Error) Unwrap() error { return e.cause }

// MayHaveHappened says whether what failed with err may have been done all the same: the
// request was sent, and no answer came.
func MayHaveHappened(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.sent
}

// Errorf makes an Error.
func Errorf(code Code, remedy, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// CodeOf gives the code of err, CodeFailed if it is no *Error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeFailed
}

// httpStatus is how HTTP says a code.
func (c Code) httpStatus() int {
	switch c {
	case CodeUsage:
		return http.StatusBadRequest
	case CodeNotFound:
		return http.StatusNotFound
	case CodeRefused:
		return http.StatusConflict
	case CodeUnreachable:
		return http.StatusGatewayTimeout
	case CodeFailed:
	}
	return http.StatusInternalServerError
}

// errorBody is how an Error travels.
type errorBody struct {
	Error *Error `json:"error"`
}
