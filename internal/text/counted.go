package text

import "fmt"

// Counted is how many there are of something, as it is said of one and of several: "1
// message waits", "2 messages wait".
func Counted[N ~int | ~int64 | ~uint64](n N, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
