package program

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fmqm/internal/secret"
)

// secrets are the values that an attempt was given and that nobody is to read in a log,
// nor in a reason, which crosses sites. The longest come first.
type secrets []hidden

// hidden is a value, in one of the forms that texts have it in, and what stands for it.
type hidden struct{ value, mark string }

// readSecrets reads the files of secrets, by name. They are read for each attempt, so
// that a new one is taken up at once.
func readSecrets(files map[string]string) (values map[string]string, hide secrets, err error) {
	values = make(map[string]string, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		value, err := secret.Read(files[name])
		if err != nil {
			return nil, nil, fmt.Errorf("cannot be started: the secret %s: %w", name, err)
		}
		values[name] = value
		hide = append(hide, forms("secret "+name, value)...)
	}
	return values, hide.and(nil), nil
}

// and gives both, the longest first.
func (s secrets) and(more secrets) secrets {
	all := slices.Concat(s, more)
	slices.SortStableFunc(all, func(a, b hidden) int { return cmp.Compare(len(b.value), len(a.value)) })
	return all
}

// MinRedacted is how many bytes a value has at least that is to be redacted: a shorter one stands in too
// much that is no secret.
const MinRedacted = 4

// CheckRedact says what is wrong with a value that is to be redacted.
func CheckRedact(name, value string) error {
	if len(longLines(value)) == 0 {
		return fmt.Errorf("the value of %s is shorter than %d bytes, and stands in too much that is no secret: leave it out, or make the value longer", name, MinRedacted)
	}
	return nil
}

// redacted are values of the configuration that nobody is to read in a log or a reason, by their names.
func redacted(names []string, values map[string]string) (hide secrets) {
	for _, name := range names {
		for _, line := range longLines(values[name]) {
			hide = append(hide, forms("redacted "+name, line)...)
		}
	}
	return hide
}

// longLines gives the lines of a value, as logs have them, that are long enough to be looked for.
func longLines(value string) (all []string) {
	for line := range strings.SplitSeq(value, "\n") {
		if line = strings.Trim(line, "\r"); len(line) >= MinRedacted {
			all = append(all, line)
		}
	}
	return all
}

// forms gives a value as it is written plainly, in URLs, and between quotes.
func forms(what, value string) []hidden {
	quoted := strconv.Quote(value)
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), quoted[1 : len(quoted)-1]}
	slices.Sort(all)
	var out []hidden
	for _, form := range slices.Compact(all) {
		out = append(out, hidden{form, "[" + what + "]"})
	}
	return out
}

// in replaces secrets in a text, of which it gives what the first limit bytes become: a
// secret is never cut in two, of which one half would show.
func (s secrets) in(text string, limit int) string {
	if len(s) == 0 {
		return text[:min(limit, len(text))]
	}
	var b strings.Builder
	for i := 0; i < min(limit, len(text)); {
		at := slices.IndexFunc(s, func(h hidden) bool { return strings.HasPrefix(text[i:], h.value) })
		if at < 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(s[at].mark)
		i += len(s[at].value)
	}
	return b.String()
}

// reason makes of err what may be told to others: without secrets, and without what
// addresses have beside scheme, host and path.
func (s secrets) reason(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := hideQueries(hideUsers(s.in(text, len(text)))); clean != text {
		return &told{clean, err}
	}
	return err
}

// told is an error whose text may be told.
type told struct {
	text  string
	cause error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.cause }

var (
	users   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`)
	queries = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s?#"'<>]*)[?#][^\s"'<>]*`)
)

// hideUsers takes the user and the password out of addresses.
func hideUsers(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return users.ReplaceAllString(text, "${1}xxxxx@")
}

// hideQueries takes out of addresses what follows their path: services take keys there.
func hideQueries(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return queries.ReplaceAllStringFunc(text, func(address string) string {
		end := ""
		if last := address[len(address)-1]; last == ':' || last == ',' || last == ')' { // of the sentence
			end = string(last)
		}
		at := strings.IndexAny(address, "?#")
		return address[:at] + address[at:at+1] + "xxxxx" + end
	})
}
