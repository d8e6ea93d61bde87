package api

import (
	"errors"
	"fmt"
	"net/http"

	"fmqm/container"
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
	// Problems is everything that is wrong with a container that was sent; Message has it
	// too, in one text.
	Problems []Problem `json:"problems,omitempty"`

	cause error // of the client's own
	sent  bool  // the request may have reached the node

	denied bool // the caller lacks a right: HTTP says it in its own way
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + ": " + e.Remedy
}

// Problem is one thing that is wrong with a container.
type Problem struct {
	Path    string `json:"path,omitempty"` // of the member, such as order.lines[3].quantity; none: the whole
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// Token is which token of the JSON it is about, from 1, in whatever layout that was sent;
	// 0: none. Container.TokenAt finds its place.
	Token int `json:"token,omitempty"`
}

// ContainerErrorf makes an Error of what is wrong with a container.
func ContainerErrorf(code Code, err error, remedy, format string, args ...any) *Error {
	e := Errorf(code, remedy, "%s: %v", fmt.Sprintf(format, args...), err)
	for _, p := range container.All(err) {
		e.Problems = append(e.Problems, Problem{Path: p.Path, Message: p.What, Remedy: p.Remedy, Token: p.Token})
	}
	return e
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
