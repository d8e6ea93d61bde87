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
		hide = append(hide, forms(name, value)...)
	}
	slices.SortStableFunc(hide, func(a, b hidden) int { return cmp.Compare(len(b.value), len(a.value)) })
	return values, hide, nil
}

// forms gives a secret as it is written plainly, in URLs, and between quotes.
func forms(name, value string) []hidden {
	quoted := strconv.Quote(value)
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), quoted[1 : len(quoted)-1]}
	slices.Sort(all)
	var out []hidden
	for _, form := range slices.Compact(all) {
		out = append(out, hidden{form, "[secret " + name + "]"})
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
