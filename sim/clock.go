package sim

import "time"

// Clock is a clock that runs Speed times as fast as the wall's, from its making on.
type Clock struct {
	speed float64
	began time.Time
}

// NewClock makes a clock. Speed must be at least 1.
func NewClock(speed float64) *Clock { return &Clock{speed: speed, began: time.Now()} }

// Now is the time that the sites see.
func (c *Clock) Now() time.Time {
	return c.began.Add(time.Duration(float64(time.Since(c.began)) * c.speed))
}

// AfterFunc calls f after d of this clock's time.
func (c *Clock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Duration(float64(d)/c.speed), f).Stop
}
