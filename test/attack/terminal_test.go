package attack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/internal/text"
	"fmqm/test/fleet"
)

// misleading is what a hostile site says wherever it may say anything: it would clear the
// screen, set the title, turn the direction of the text, hide, and begin a line of its own.
const (
	misleading = "disk full\x1b[2J\x1b]0;root\x07\u202e\u200b\nfmqm: all is well\r\u0085"
	cleared    = `disk full\x1b[2J` // of it, as it is to be shown
)

// A hostile site answers questions, and stops its link, with texts that would steer the
// terminal of who looks: neither what fmqm shows nor the log of the daemon has them as they
// are, and JSON has them as they came.
func TestWhatASiteSaysSteersNoTerminal(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	i.line.answers(func(kind string) (any, error) {
		if kind != "instance" {
			return nil, errors.New(misleading)
		}
		return map[string]any{
			"known": true, "process": "common@1", "clock": 9,
			"activities": []api.Activity{{Activity: "theirs", Node: "M", State: api.ActivityInError, Reason: misleading, Stderr: misleading}},
			"events": []api.HistoryEvent{{
				Clock: 9, Node: "M", Activity: "theirs", Event: "in-error", Iteration: 1, Attempt: 1, Reason: misleading, Stderr: misleading, By: misleading,
			}},
		}, nil
	})
	id := i.start("common").String()
	a := i.Sites["A"]
	i.eventually("A shows what M says", func() (string, bool) {
		out, talk, _ := fleet.Run(t, "fmqm", "status", id, "--to", a.To(), "-o", "wide")
		return out + talk, strings.Contains(out, cleared)
	})
	for _, command := range []string{"status", "why", "history", "watch"} {
		i.eventually("fmqm "+command+" shows what M says", func() (string, bool) {
			out, talk, _ := fleet.Run(t, "fmqm", command, id, "--to", a.To(), "-o", "wide")
			steersNothing(t, "fmqm "+command, out+talk)
			return out + talk, strings.Contains(out+talk, cleared)
		})
	}
	i.eventually("JSON has the text as it came", func() (string, bool) {
		shown, _, _ := fleet.Run(t, "fmqm", "status", id, "--to", a.To(), "-o", "json")
		steersNothing(t, "fmqm status -o json", shown)
		var st api.Status
		err := json.Unmarshal([]byte(shown), &st)
		return shown, err == nil && len(st.Activities) > 1 && st.Activities[1].Reason == misleading
	})

	// What M refuses, it refuses in the words that it likes.
	i.line.answersWord(misleading)
	out, talk, _ := fleet.Run(t, "fmqm", "retry", id, "theirs", "--to", a.To())
	if !strings.Contains(talk, cleared) {
		t.Errorf("fmqm retry does not show why M refuses:\n%s%s", out, talk)
	}
	steersNothing(t, "fmqm retry", out+talk)

	i.line.store.Fail(errors.New(misleading))
	i.start("common") // M cannot put it, and says why
	a.Says(`disk full\u001b[2J`)
	i.eventually("fmqm links shows why M has stopped", func() (string, bool) {
		out, talk, _ := fleet.Run(t, "fmqm", "links", "--to", a.To(), "-o", "wide")
		steersNothing(t, "fmqm links", out+talk)
		return out + talk, strings.Contains(out, `full\x1b[2J`) // the line is broken somewhere
	})
	steersNothing(t, "the log", a.Log())
}

// steersNothing looks at all that somebody sees.
func steersNothing(t *testing.T, what, shown string) {
	t.Helper()
	for _, line := range strings.Split(shown, "\n") {
		if strings.ContainsFunc(line, text.Steers) || strings.HasPrefix(line, "fmqm: all is well") {
			t.Errorf("%s has a line that misleads: %q", what, line)
		}
	}
}
