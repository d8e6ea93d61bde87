package queue_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/queue/queuetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, "child:", runChild(dir))
		os.Exit(1)
	}
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("5") // each opens stores on disk, again and again
	}
	goleak.VerifyTestMain(m)
}

func TestOnBadger(t *testing.T) {
	queuetest.Run(t, func(dir string) (store.Engine, error) {
		e, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		return e, nil
	})
}
