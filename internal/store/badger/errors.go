package badger

import (
	"errors"
	"strings"
)

// maxErrorText is how much of a text of Badger's is passed on, in bytes.
const maxErrorText = 200

// engineError shows only the first line of an error of Badger's, whose further
// lines may dump keys and values; errors.Is sees all of it.
type engineError struct{ cause error }

func (e engineError) Error() string {
	text, _, _ := strings.Cut(e.cause.Error(), "\n")
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

func (e engineError) Unwrap() error { return e.cause }

// hide wraps an error of Badger's, for passing it on.
func hide(err error) error {
	var already engineError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return engineError{cause: err}
}
