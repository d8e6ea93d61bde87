package sites

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	purchaseorder "fmqm/examples/purchase-order"
	"fmqm/test/fleet"
)

// unpack writes the example's files to a directory, and gives the programs of each
// site as its configuration names them.
func unpack(t *testing.T) (definition string, programs map[string][]string) {
	t.Helper()
	dir := t.TempDir()
	err := fs.WalkDir(purchaseorder.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(dir, path), 0o700)
		}
		text, err := purchaseorder.Files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), text, 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
	programs = map[string][]string{}
	for site, names := range purchaseorder.Programs {
		for _, name := range names {
			programs[site] = append(programs[site], fmt.Sprintf("%s: {exec: [%s], timeout: 1m}", name, filepath.Join(dir, "programs", name)))
		}
	}
	return filepath.Join(dir, "purchase-order.yaml"), programs
}

// The example's conditions have eight outcomes. Each, through four daemons with the
// real programs, is what `fmqm-define run` prints, given what the programs gave.
func TestTheEightOutcomes(t *testing.T) {
	definition, programs := unpack(t)
	n := newNetwork(t, programs)
	fleet.Must(t, "fmqm-define", "upload", definition, "--to", n.sites["B"].To())
	outcomes, err := purchaseorder.Outcomes()
	if err != nil || len(outcomes) != 8 {
		t.Fatalf("%d outcomes: %v", len(outcomes), err)
	}
	for _, o := range outcomes {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			text := fleet.Must(t, "fmqm", "start", "purchase-order", "--to", n.sites["A"].To(), "--input", string(o.Input), "--wait", "-o", "json")
			var status api.Status
			if err := json.Unmarshal([]byte(text), &status); err != nil {
				t.Fatal(err)
			}
			results := filepath.Join(t.TempDir(), "results")
			if err := os.WriteFile(results, resultsOf(t, status), 0o600); err != nil {
				t.Fatal(err)
			}
			want := fleet.Must(t, "fmqm-define", "run", definition, "--input", string(o.Input), "--results", results, "-o", "json")
			if d := cmp.Diff(timeless(t, want), timeless(t, text)); d != "" {
				t.Errorf("interpreter (-) and daemons (+) differ:\n%s", d)
			}
			compareOutcome(t, o, status)
		})
	}
}

// resultsOf gives what the programs gave, for the interpreter. The credit bureau gives
// 1 while it is busy.
func resultsOf(t *testing.T, s api.Status) []byte {
	t.Helper()
	results := map[string][]any{}
	for _, a := range s.Activities {
		if a.State != api.ActivityTerminated {
			continue
		}
		for range a.Iterations - 1 {
			results[a.Activity] = append(results[a.Activity], map[string]any{"rc": 1})
		}
		last := map[string]any{"rc": a.RC}
		if a.Output != nil {
			last["output"] = a.Output
		}
		results[a.Activity] = append(results[a.Activity], last)
	}
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compareOutcome holds a status against what the example promises.
func compareOutcome(t *testing.T, o purchaseorder.Outcome, s api.Status) {
	t.Helper()
	if s.State != api.InstanceFinished {
		t.Errorf("the order is %s: %s", s.State, s.Reason)
	}
	states := map[string]string{}
	for _, a := range s.Activities {
		states[a.Activity] = string(a.State)
		if a.Activity == "credit" && a.Iterations != o.CreditIterations {
			t.Errorf("credit had %d iterations, want %d", a.Iterations, o.CreditIterations)
		}
	}
	if d := cmp.Diff(o.States, states); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	var got, want map[string]any
	if err := json.Unmarshal(s.Output, &got); err != nil {
		t.Fatalf("output %s: %v", s.Output, err)
	}
	if err := json.Unmarshal(o.Output, &want); err != nil {
		t.Fatal(err)
	}
	shipped := o.States["ship"] == "terminated"
	if tracking, _ := got["tracking"].(string); (tracking != "") != shipped {
		t.Errorf("tracking %q of an order that was shipped: %t", tracking, shipped)
	}
	delete(got, "tracking")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("output (-want +got):\n%s", d)
	}
}
