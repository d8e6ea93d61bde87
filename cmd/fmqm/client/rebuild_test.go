package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
)

// rebuilder answers to a rebuild: to the word, and to each look after it.
type rebuilder struct {
	apitest.Backend
	word, look []api.Rebuild
}

func (r *rebuilder) Rebuild(_ context.Context, q api.RebuildRequest) (api.RebuildAnswer, error) {
	if q.Do {
		return api.RebuildAnswer{Rebuilds: r.word}, nil
	}
	return api.RebuildAnswer{Rebuilds: r.look}, nil
}

// rebuild --all --yes ends with 0 only if every site has sent what it had to send.
func TestRebuildOfAllSaysWhoIsMissing(t *testing.T) {
	site := func(node string, stage api.RebuildStage, code api.Code) api.Rebuild {
		b := api.Rebuild{Node: node, Peer: "B", Stage: stage, Code: code, Store: strings.Repeat("0", 32)}
		if stage == "" {
			b.Reason = "why not"
		}
		return b
	}
	done := site("A", api.RebuildDone, "")
	for what, tc := range map[string]struct {
		word, look []api.Rebuild
		code       int
		said       string
	}{
		"all":                       {word: []api.Rebuild{done, site("C", api.RebuildDone, "")}},
		"one has nothing to send":   {word: []api.Rebuild{done, site("C", "", api.CodeNotFound)}},
		"the node that is asked":    {word: []api.Rebuild{site("A", "", api.CodeNotFound), site("C", api.RebuildDone, "")}},
		"one refuses":               {word: []api.Rebuild{done, site("C", "", api.CodeRefused)}, code: cli.ExitRefused, said: "C has refused"},
		"one does not answer":       {word: []api.Rebuild{done, site("C", "", api.CodeUnreachable)}, code: cli.ExitUnreachable, said: "C did not answer"},
		"one fails":                 {word: []api.Rebuild{done, site("C", "", api.CodeFailed)}, code: cli.ExitFailed, said: "C has failed"},
		"each in its way":           {word: []api.Rebuild{done, site("C", "", api.CodeRefused), site("D", "", api.CodeUnreachable)}, code: cli.ExitFailed, said: "C has refused; D did not answer"},
		"of an older version":       {word: []api.Rebuild{done, site("C", "", "")}},
		"one waits":                 {word: []api.Rebuild{done, site("C", api.RebuildWaiting, "")}, code: cli.ExitUnreachable, said: "C has not finished yet; it goes on by itself"},
		"refused, then looked at":   {word: []api.Rebuild{site("A", api.RebuildSending, ""), site("C", "", api.CodeRefused)}, look: []api.Rebuild{done, site("C", api.RebuildPlanned, "")}, code: cli.ExitRefused, said: "C has refused"},
		"refused, done before":      {word: []api.Rebuild{site("A", api.RebuildSending, ""), site("C", "", api.CodeRefused)}, look: []api.Rebuild{done, site("C", api.RebuildDone, "")}, code: cli.ExitRefused, said: "C has refused"},
		"refused, with nothing":     {word: []api.Rebuild{site("A", api.RebuildSending, ""), site("C", "", api.CodeRefused)}, look: []api.Rebuild{done, site("C", "", api.CodeNotFound)}, code: cli.ExitRefused, said: "C has refused"},
		"silent, then looked at":    {word: []api.Rebuild{site("A", api.RebuildSending, ""), site("C", "", api.CodeUnreachable)}, look: []api.Rebuild{done, site("C", api.RebuildPlanned, "")}, code: cli.ExitUnreachable, said: "C has begun nothing yet: repeat the command"},
		"silent, and done all same": {word: []api.Rebuild{site("A", api.RebuildSending, ""), site("C", "", api.CodeUnreachable)}, look: []api.Rebuild{done, site("C", api.RebuildDone, "")}},
	} {
		to := apitest.Serve(t, &rebuilder{word: tc.word, look: tc.look})
		r := fmqm(to, "", "rebuild", "B", "--all", "--yes", "-o", "json")
		var a api.RebuildAnswer
		if err := json.Unmarshal([]byte(r.out), &a); err != nil || r.code != tc.code || !strings.Contains(r.err, tc.said) || (r.err == "") != (tc.code == 0) {
			t.Errorf("%s: exit %d, want %d; said %q, want %q; %v", what, r.code, tc.code, r.err, tc.said, err)
		}
	}
	// A plan is a plan, whoever answers.
	to := apitest.Serve(t, &rebuilder{look: []api.Rebuild{site("A", api.RebuildPlanned, ""), site("C", "", api.CodeUnreachable)}})
	if r := fmqm(to, "", "rebuild", "B", "--all"); r.code != 0 || !strings.Contains(r.out, "C: why not") {
		t.Errorf("plan: %+v", r)
	}
}
