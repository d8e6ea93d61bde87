package fleet

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// ForLong runs the long version of a test again and again, each time with the next seed,
// until it has failed or as many minutes are over as the variable says. The variable with
// _SEED behind it is the first seed, where first is not to be. Without the variable the
// short version runs, once: that is what CI has.
func ForLong(t *testing.T, variable string, first int, short, long func(t *testing.T, seed int)) {
	t.Helper()
	if os.Getenv(variable) == "" {
		short(t, first)
		return
	}
	end := time.Now().Add(time.Duration(setting(t, variable, 1)) * time.Minute)
	first = setting(t, variable+"_SEED", first)
	for seed := first; (seed == first || time.Now().Before(end)) && !t.Failed(); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { long(t, seed) })
	}
}

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: write a number of at least 1", name, text)
	}
	return n
}
