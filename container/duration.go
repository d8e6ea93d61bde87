package container

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// ParseDuration reads a duration as people write it, in definitions and in JSON: 90s, 2h30m or 14d. It is what
// Go has, with days of 24 hours before the rest, up to some 106,751 of them.
func ParseDuration(text string) (time.Duration, error) {
	count, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return time.ParseDuration(text)
	}
	refused := fmt.Errorf("%q is not a duration", shorten(text))
	days, err := time.ParseDuration(count + "h")
	if err != nil || strings.Trim(count, "0123456789.") != "" || days > math.MaxInt64/24 {
		return 0, refused
	}
	days *= 24
	if rest == "" {
		return days, nil
	}
	v, err := time.ParseDuration(rest)
	if err != nil || v < 0 || days+v < days {
		return 0, refused
	}
	return days + v, nil
}
