package api

import (
	"context"
	"io"
)

type progressKey struct{}

// WithProgress gives a context for requests of a client: told is called as their bodies
// go out, with how many bytes went and how many there are. It must not block.
func WithProgress(ctx context.Context, told func(sent, total int64)) context.Context {
	return context.WithValue(ctx, progressKey{}, told)
}

// counted tells how much was read of a request's body.
type counted struct {
	r           io.Reader
	sent, total int64
	told        func(sent, total int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.sent += int64(n)
		c.told(c.sent, c.total)
	}
	return n, err
}
