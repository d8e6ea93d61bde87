package node_test

import (
	"context"
	"strings"
	"testing"

	"fmqm/api"
)

// A file may hold several processes, such as a process with those that it uses: every
// table of an upload is stored.
func TestAnUploadOfSeveralProcesses(t *testing.T) {
	n := openNode(t, "A", "")
	second := strings.Replace(chain, "process: chain", "process: second", 1)
	upload(t, n, chain+"---\n"+second)
	for _, process := range []string{"chain", "second"} {
		if s := run(t, n, process, `{"amount": 7}`); s.State != api.InstanceFinished {
			t.Errorf("%s: %s %s", process, s.State, s.Reason)
		}
	}
}

// N3: one upload with two definitions of a version is refused, and changes nothing.
func TestAnUploadWithTwoDefinitionsOfOneVersion(t *testing.T) {
	n := openNode(t, "A", "")
	r := compiled(t, chain)
	r.Tables = append(r.Tables, compiled(t, strings.Replace(chain, "amount > 5", "amount > 6", 1)).Tables...)
	answer, err := n.Upload(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if line := answer.Nodes[1]; line.Result != api.ResultRefused || !strings.Contains(line.Reason, "chain@1 has two definitions in this upload: raise the version of one") {
		t.Errorf("%+v", line)
	}
	if line := answer.Nodes[0]; line.Result != api.ResultRefused {
		t.Errorf("%+v", line)
	}
	if list, err := n.Definitions(context.Background()); err != nil || len(list.Definitions) != 0 {
		t.Errorf("stored: %+v, %v", list, err)
	}
}
