package daemon

import "time"

// SetLetGo sets how long a start waits for who holds what it needs, until back is called.
func SetLetGo(d time.Duration) (back func()) {
	before := letGo
	letGo = d
	return func() { letGo = before }
}
