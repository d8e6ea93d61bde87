package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
)

// demoCount is the process of the second half: what each of several sites does at once,
// and a deadline.
const demoCount = "stock-count"

//go:embed demo-stock-count.yaml
var demoCountText []byte

// demoPatience is how long the count waits for a site: longer than a site that runs needs
// on a slow machine, and not too long to be watched.
const demoPatience = 5 * time.Second

// demoShelves are the programs of the second process at each site, as sh runs them.
var demoShelves = map[string]map[string]string{
	"A": {"close-books": "true", "estimate-rest": "true"},
	"B": {"count-stock": `echo "{\"counted\": 12}"`},
	"C": {"count-stock": `echo "{\"counted\": 200}"`},
	"D": {"count-stock": `echo "{\"counted\": 7}"`},
}

// count plays the second half: a bundle over three sites, one of which is cut off, and the
// deadline that goes on without it.
func (d *demo) count(ctx context.Context) error {
	d.stage.subject("count")
	d.stage.title("In the evening B, C and D count their stock, all at once: one step, with one element for each site.")
	input := fmt.Sprintf(`{"sites": ["B", "C", "D"], "patience": %q}`, demoPatience)
	if err := d.begin(ctx, demoCount, json.RawMessage(input)); err != nil {
		return err
	}
	if err := d.until(ctx, "the count at C to run", counts); err != nil {
		return err
	}
	d.stage.title("Power cut at C, while it counts. B and D do not notice.")
	if err := d.kill("C"); err != nil {
		return err
	}
	if err := d.until(ctx, "the others to count", othersHaveCounted); err != nil {
		return err
	}
	if err := d.tellWaiting(ctx); err != nil {
		return err
	}
	d.stage.title(fmt.Sprintf("Each element has a deadline of %v. When C has not answered by then, the work takes the path for that.", demoPatience))
	status, err := d.finished(ctx)
	if err != nil {
		return err
	}
	d.stage.title("C is back. Nobody waits for its count any more: it is told to stop, or what it counts comes too late.")
	d.stage.back("C")
	if err := d.start("C"); err != nil {
		return err
	}
	if err := d.poll(ctx, "the count at C to end", func() (bool, error) { return d.stage.hasEnded("C"), nil }); err != nil {
		return err
	}
	d.stage.settle()
	d.stage.result(status)
	return nil
}

// counts says that the program of C's element runs: only C knows what that was given.
func counts(s api.Status) bool {
	return slices.ContainsFunc(s.Activities, func(a api.Activity) bool { return a.Scope == "count[1]" && len(a.Input) > 0 })
}

// othersHaveCounted says that the elements of B and D have ended: with a count or, on a
// machine that is very slow, at the deadline too.
func othersHaveCounted(s api.Status) bool {
	for _, element := range []string{"count[0]", "count[2]"} {
		if stateOf(s, element) != api.ActivityTerminated {
			return false
		}
	}
	return true
}

// finished waits at A for the instance of this half.
func (d *demo) finished(ctx context.Context) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	status, err := d.daemons["A"].Node.Wait(ctx, d.instance)
	if err == nil && status.State != api.InstanceFinished {
		err = cli.Failedf("the %s is %s and not finished: %s", d.stage.about, status.State, status.Reason)
	}
	return status, err
}
