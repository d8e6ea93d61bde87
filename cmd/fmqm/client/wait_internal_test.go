package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fmqm/api"
)

// Who waits without a limit waits for hours while the node is away, and says so once.
func TestAWaitOutlastsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := api.NewClient("unix:/nonexistent", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var said []string
		w := waiter{client, &silence{talk: func(text string) { said = append(said, text) }}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(6*time.Hour, cancel)
		begun := time.Now()
		st, err := w.until(ctx, api.Status{Instance: api.KeyedInstance("p", "K"), State: api.InstanceRunning})
		if waited := time.Since(begun); waited != 6*time.Hour || api.CodeOf(err) != api.CodeUnreachable || st.State != api.InstanceRunning {
			t.Errorf("after %v: %v, %+v", waited, err, st)
		}
		if len(said) != 1 || !strings.Contains(said[0], "no daemon here") || !strings.HasSuffix(said[0], ": asking again") {
			t.Errorf("said %q", said)
		}
	})
}
