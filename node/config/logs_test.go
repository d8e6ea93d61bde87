package config_test

import (
	"slices"
	"strings"
	"testing"

	"fmqm/node/config"
)

// No logs are kept where that is written.
func TestNoLogs(t *testing.T) {
	c, _, err := load(t, "node: A\nlogs: {bytes: 0}\n", nil, config.Overrides{})
	if err != nil || c.Logs.Bytes != 0 {
		t.Errorf("%+v, %v", c.Logs, err)
	}
}

// What is to be redacted is a value of the program that is known here, and long enough to be looked for.
func TestRedact(t *testing.T) {
	const exec = "node: A\nprograms:\n  p: {exec: [/bin/true], env: {PIN: \"4711\", USER: ann}, redact: %}\n"
	for redact, want := range map[string]string{
		"[PIN]":       "",
		"[]":          "",
		"[PIN, PIN]":  "",
		"PIN":         ":3:65: redact is not a list: write [NAME of env]",
		"[PIM]":       ":3:66: the program has no PIM in `env`: did you mean PIN?",
		"[AUTHORITY]": ":3:66: the program has no AUTHORITY in `env`: write a name that is in `env`; what `secrets` names is never shown",
		"[USER]":      ":3:66: the value of USER is shorter than 4 bytes, and stands in too much that is no secret: leave it out, or make the value longer",
	} {
		c, _, err := load(t, strings.Replace(exec, "%", redact, 1), nil, config.Overrides{})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v\nwant %s", redact, err, want)
		case want == "" && redact != "[]" && !slices.Equal(c.Programs["p"].Redact, []string{"PIN"}):
			t.Errorf("%s: %q", redact, c.Programs["p"].Redact)
		}
	}
	_, _, err := load(t, "node: A\nprograms: {p: {builtin: echo, redact: [X]}}\n", nil, config.Overrides{})
	if want := ":2:40: builtin programs write nothing: remove `redact`"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
