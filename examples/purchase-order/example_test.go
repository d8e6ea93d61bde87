package purchaseorder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/examples/exampletest"
	"fmqm/interpret"
	"fmqm/node/config"
	"fmqm/processtable"
)

const file = "purchase-order.yaml"

func process(t *testing.T) *definition.Process {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	processes, diagnostics := definition.Load(file, text)
	for _, d := range diagnostics {
		t.Errorf("%s", d.Text(text))
	}
	if len(processes) != 1 {
		t.Fatalf("%d processes in %s, want 1", len(processes), file)
	}
	return processes[0]
}

func TestTheProcessChecksWithoutAWarning(t *testing.T) {
	if p := process(t); p.Name != "purchase-order" || p.Version != 1 || !slices.Equal(p.Starts, []string{"A"}) {
		t.Errorf("%s@%d starts at %v, want purchase-order@1 at A", p.Name, p.Version, p.Starts)
	}
}

func configOf(t *testing.T, site string) *config.Config {
	t.Helper()
	c, err := config.Load(strings.ToLower(site)+".yaml", func(string) string { return "" }, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each site registers the programs that its activities name, and those only.
func TestEachSiteHasItsPrograms(t *testing.T) {
	for _, a := range process(t).Activities {
		if !slices.Contains(Programs[a.Node], a.Program) {
			t.Errorf("activity %s runs %s at %s, whose programs are %v", a.Name, a.Program, a.Node, Programs[a.Node])
		}
	}
	for site, programs := range Programs {
		c := configOf(t, site)
		if string(c.Node) != site {
			t.Errorf("the configuration of %s is node %s's", site, c.Node)
		}
		if len(c.Programs) != len(programs) {
			t.Errorf("%s registers %d programs, want %v", site, len(c.Programs), programs)
		}
		for _, name := range programs {
			info, err := fs.Stat(Files, "programs/"+name)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs("programs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Programs[processtable.ProgramID(name)].Exec; info.IsDir() || !slices.Equal(got, []string{path}) {
				t.Errorf("%s runs %v as %s, want %s", site, got, name, path)
			}
		}
	}
}

// Each site dials the other three where they listen.
func TestSitesFindOneAnother(t *testing.T) {
	for site := range Programs {
		c := configOf(t, site)
		for other := range Programs {
			if other == site {
				continue
			}
			want := "http://" + configOf(t, other).Listen
			if got := c.Peers[processtable.NodeID(other)].Address; got != want {
				t.Errorf("%s calls %s at %s, which listens on %s", site, other, got, want)
			}
		}
	}
}

func TestTheEightOutcomesAreAllOfThem(t *testing.T) {
	seen := map[[3]bool]string{}
	for _, o := range outcomesOf(t) {
		if len(o.Conditions) != 3 {
			t.Errorf("%s: conditions %v, want three", o.Name, o.Conditions)
		}
		key := [3]bool{o.Conditions["amount > 1000"], o.Conditions["approved"], o.Conditions["quantity > 0"]}
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have the same conditions %v", other, o.Name, o.Conditions)
		}
		seen[key] = o.Name
	}
	if len(seen) != 8 {
		t.Errorf("%d outcomes, want 8", len(seen))
	}
}

func outcomesOf(t *testing.T) []Outcome {
	t.Helper()
	all, err := Outcomes()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The real programs, under the interpreter: what a run over four sites has to give.
func TestOutcomes(t *testing.T) {
	p := process(t)
	for _, o := range outcomesOf(t) {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			input, err := container.DecodeJSON(p.Input, o.Input)
			if err != nil {
				t.Fatal(err)
			}
			result, err := interpret.Run(p, input, realPrograms(t, p), interpret.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if result.State != interpret.Finished {
				t.Fatalf("the order is %s: %+v", result.State, result.Activities)
			}
			states := map[string]string{}
			for _, a := range result.Activities {
				states[a.Activity] = string(a.State)
				if a.Activity == "credit" && a.Iterations != o.CreditIterations {
					t.Errorf("credit had %d iterations, want %d", a.Iterations, o.CreditIterations)
				}
			}
			if diff := cmp.Diff(o.States, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			checkOutput(t, o, result)
		})
	}
}

// checkOutput compares the parcel, its tracking number apart.
func checkOutput(t *testing.T, o Outcome, result *interpret.Result) {
	t.Helper()
	text, err := result.Output.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal(o.Output, &want)); err != nil {
		t.Fatal(err)
	}
	if tracked := got["tracking"] != ""; tracked != (o.States["ship"] == "terminated") {
		t.Errorf("tracking is %q, and ship is %s", got["tracking"], o.States["ship"])
	}
	delete(got, "tracking")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// The table of outcomes says of each condition what it would give, also where the
// process does not come to it: here every program is asked.
func TestConditionsOfTheOutcomes(t *testing.T) {
	p := process(t)
	for _, o := range outcomesOf(t) {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			var order struct{ Amount float64 }
			if err := json.Unmarshal(o.Input, &order); err != nil {
				t.Fatal(err)
			}
			var credit struct{ Approved bool }
			ask(t, p, "credit", o.Input, &credit)
			var stock struct{ Quantity int }
			ask(t, p, "stock", o.Input, &stock)
			got := map[string]bool{"amount > 1000": order.Amount > 1000, "approved": credit.Approved, "quantity > 0": stock.Quantity > 0}
			if diff := cmp.Diff(o.Conditions, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// Texts and numbers that a careless reader of JSON would take apart.
func TestProgramsReadAnyOrder(t *testing.T) {
	p := process(t)
	const order = `{"customer":"O\"Neill \\ \"amount\":1, é\n","item":"a \"quantity\":7, % $(id) \u0001 \"item\":\"rope","quantity":-9223372036854775808,"amount":1e+300}`
	var in, parcel, credit, nothing map[string]any
	if err := json.Unmarshal([]byte(order), &in); err != nil {
		t.Fatal(err)
	}
	for _, activity := range []string{"receive", "stock"} {
		var out map[string]any
		ask(t, p, activity, []byte(order), &out)
		if diff := cmp.Diff(in, out); diff != "" {
			t.Errorf("%s does not give the order back (-want +got):\n%s", activity, diff)
		}
	}
	ask(t, p, "ship", []byte(order), &parcel)
	lines := []any{"-9223372036854775808 x " + in["item"].(string)}
	if diff := cmp.Diff(map[string]any{"tracking": "C-" + key(t)[:12], "order": any(in), "lines": lines}, parcel); diff != "" {
		t.Errorf("parcel (-want +got):\n%s", diff)
	}
	ask(t, p, "credit", []byte(order), &credit)
	if diff := cmp.Diff(map[string]any{"approved": false, "limit": 0.0}, credit); diff != "" {
		t.Errorf("credit (-want +got):\n%s", diff)
	}
	ask(t, p, "reject", []byte(order), &nothing)
}

// ask runs the program of an activity once, as in a second iteration, and reads its
// output container.
func ask(t *testing.T, p *definition.Process, activity string, input []byte, output any) {
	t.Helper()
	i := slices.IndexFunc(p.Activities, func(a *definition.Activity) bool { return a.Name == activity })
	if i < 0 {
		t.Fatalf("no activity %s", activity)
	}
	a := p.Activities[i]
	in, err := container.DecodeJSON(a.Input, input)
	if err != nil {
		t.Fatal(err)
	}
	o := realPrograms(t, p).Run(a, interpret.Call{Node: a.Node, Iteration: 2, Attempt: 1, Input: in})
	if o.Err != "" || o.RC != 0 {
		t.Fatalf("%s ended with _RC %d: %s", a.Program, o.RC, o.Err)
	}
	text, err := o.Output.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, output); err != nil {
		t.Fatal(err)
	}
}

// key is an idempotency key of this test's own: what carries the key of an attempt that
// has ended is killed, and these tests run side by side.
func key(t *testing.T) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(os.Getpid(), t.Name())))
	return hex.EncodeToString(sum[:16])
}

// realPrograms runs what the sites' configurations register.
func realPrograms(t *testing.T, p *definition.Process) interpret.Programs {
	t.Helper()
	configs := map[string]*config.Config{}
	for site := range Programs {
		configs[site] = configOf(t, site)
	}
	return exampletest.Programs(t, configs, p, func(string, int) string { return key(t) })
}
