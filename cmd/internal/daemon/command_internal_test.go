package daemon

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"fmqm/api"
)

// A backup of which only a part was sent is one that somebody has: it stands in the log as a
// whole one does. What is only asked does not.
func TestABackupThatIsBrokenOffIsLogged(t *testing.T) {
	var log bytes.Buffer
	d := &Daemon{log: zerolog.New(&log)}
	asked := d.commanded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a part"))
		panic(http.ErrAbortHandler)
	}))
	ask := func(path string) {
		log.Reset()
		defer func() { _ = recover() }()
		asked.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	ask(api.BackupPath)
	if got := log.String(); !strings.Contains(got, `"command":"backup","status":200`) {
		t.Errorf("the log has %q", got)
	}
	ask("/v1/nodes")
	if log.Len() > 0 {
		t.Errorf("a question is logged: %s", &log)
	}
}
