package commit

import "errors"

// InLots has do make a transaction of at most so many records, of many that go together only for speed. What is too
// large is not made, so do is asked again for half as many, down to one: how large a record is its key and its pieces
// decide, which its caller does not reckon.
func InLots(most int, do func(most int) error) error {
	for {
		err := do(most)
		if most <= 1 || !errors.Is(err, ErrTooLarge) {
			return err
		}
		most /= 2
	}
}
