package fleet_test

import (
	"context"
	"os"
	"testing"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// Invariant 7, with daemons as processes and the store on disk: each site is killed with
// kill -9 and comes back while instances run, and every one is as the interpreter says. It is
// a short storm for every day; test/sites has longer ones.
func TestAFleetThatIsKilledIsTheInterpretersRun(t *testing.T) {
	t.Parallel()
	work := fleet.NewWork(t, 1)
	work.Nested = true
	f := fleet.New(t, fleet.Options{Links: fleet.DialAll, Programs: work.Programs})
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	f.Connected(ctx)
	work.Define(f, 50, 2)
	started := work.Start(ctx)
	for _, name := range fleet.Names {
		work.Progress(ctx, work.Expected()/10)
		f.Sites[name].Kill()
		f.Sites[name].Start()
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	v := work.Judge(ctx)
	t.Log(v)
	if v.Finished == 0 || v.InError == 0 {
		t.Errorf("%d instances finished, and %d are in error: draw other processes", v.Finished, v.InError)
	}
}
