package container

import "time"

// What values take in memory, in bytes; a test holds them to what the runtime says.
const (
	slotBytes   = 16 // of a value in its list or structure
	wordBytes   = 8  // of a number
	textBytes   = 16 // of a text, without its characters
	listBytes   = 24 // of a list or of bytes, without what is in them
	structBytes = 32 // of a structure, without its members
	timeBytes   = 24
)

// Footprint reckons the memory that values take, in bytes. It may be many times as much as their
// encoding, so who bounds what is kept decoded bounds this. Beside the values it needs no memory, and
// time in proportion to their number.
func Footprint(values []Value) int {
	n := slotBytes * len(values)
	for _, v := range values {
		switch v := v.(type) {
		case int64, float64, time.Duration:
			n += wordBytes
		case string:
			if v != "" {
				n += textBytes + words(len(v))
			}
		case []byte:
			n += listBytes + words(len(v))
		case time.Time:
			n += timeBytes
		case []Value:
			n += listBytes + Footprint(v)
		case *Struct:
			n += structBytes + Footprint(v.Fields)
		}
	}
	return n
}

// words rounds up to what the runtime gives at least.
func words(n int) int { return (n + wordBytes - 1) &^ (wordBytes - 1) }
