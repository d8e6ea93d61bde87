package container

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// parseText reads the kinds that JSON writes as strings.
func parseText(t *Type, s string) (Value, error) {
	switch t.Kind {
	case Bytes:
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return b, err
	case Timestamp:
		var v time.Time
		err := v.UnmarshalText([]byte(s))
		return v.UTC(), err
	case Duration:
		v, err := ParseDuration(s)
		return v, err
	default:
		return nil, errors.ErrUnsupported
	}
}

func shorten(text string) string {
	const limit = 40
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// unquote gives the content of a JSON string. Half of a surrogate pair is refused;
// encoding/json would quietly put another character in its place.
func unquote(quoted string) (string, error) {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		return "", fault("", "%v", err)
	}
	meant := strings.Count(quoted, "\uFFFD") + strings.Count(strings.ToLower(quoted), `\ufffd`)
	if strings.Count(s, "\uFFFD") > meant {
		return "", fault("write the whole character", "%s has half of a surrogate pair", shorten(quoted))
	}
	return s, nil
}

func parseDouble(text string) (Value, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fault("use a number up to 1.7e308", "%s does not fit into a double", shorten(text))
	}
	return v, nil
}

// parseInt reads a JSON number that is exactly an integer, whatever its form, never
// through a float64, which would round it.
func parseInt(text string) (Value, error) {
	digits, whole := integral(text)
	if !whole {
		return nil, fault("write a number without a fraction, or declare the member as double",
			"expected int, found %s", shorten(text))
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, fault("use a string, or a double if it may be rounded",
			"%s does not fit into an int of 64 bits", shorten(text))
	}
	return v, nil
}

// integral writes a JSON number without fraction and exponent, if that can be done;
// numbers far out of an int's range may come out longer, but not shorter.
func integral(text string) (digits string, whole bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	before, after, _ := strings.Cut(mantissa, ".")
	after = strings.TrimRight(after, "0")
	digits = before + after
	if strings.Trim(digits, "-0") == "" {
		return "0", true
	}
	shift := 0
	if exponent != "" {
		// An exponent out of range comes back as the nearest in range: still far enough.
		n, _ := strconv.ParseInt(exponent, 10, 32)
		shift = int(n)
	}
	shift -= len(after)
	if shift >= 0 {
		return digits + strings.Repeat("0", min(shift, 20)), true
	}
	trimmed := strings.TrimRight(digits, "0")
	if len(digits)-len(trimmed) < -shift {
		return "", false
	}
	return digits[:len(digits)+shift], true
}
