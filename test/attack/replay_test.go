package attack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definer"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

const payroll = `
process: payroll
version: 7
activities:
  pay:  {node: A, program: pass}
  file: {node: B, program: pass}
control:
  - pay -> file
`

// recorded is what fmqm-define sends when it uploads a process to who listens: a colleague
// at the test's door, a backup of its site, a proxy that keeps what passes.
func (w *world) recorded(text string, flags ...string) api.UploadRequest {
	w.t.Helper()
	var upload api.UploadRequest
	listener := &apitest.Backend{OnUpload: func(_ context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
		upload = r
		return api.UploadAnswer{Nodes: []api.UploadNode{}, Warnings: []string{}}, nil
	}}
	server := httptest.NewServer(api.Handler(listener))
	defer server.Close()
	file := filepath.Join(w.t.TempDir(), "process.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	fleet.Must(w.t, "fmqm-define", append([]string{"upload", file, "--to", server.URL}, flags...)...)
	upload.PlanOnly = false
	if len(upload.Tables) == 0 {
		w.t.Fatal("nothing was recorded")
	}
	return upload
}

// Somebody has what a definer signed once, and a way to a site's API. That the definer is
// one of the site's is not enough: a draft for the test is nothing in production, nor is
// what was to be uploaded last month.
func TestSignaturesAreNotReplayed(t *testing.T) {
	w := newWorld(t, options{more: func(string) string { return "network: production\n" }})
	key, err := definer.Load(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "fmqm", "definer.key"))
	if err != nil {
		t.Fatal(err)
	}
	production := w.recorded(payroll, "--network", "production")
	old := w.recorded(payroll)
	for i := range old.Tables {
		table := &old.Tables[i]
		if table.Table, err = processtable.SignFor(table.Table, key, processtable.Terms{Network: "production", NotAfter: time.Now().Add(-time.Minute)}); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(table.Table)
		table.SHA256 = hex.EncodeToString(sum[:])
	}
	for _, attack := range []struct {
		name, want string
		upload     api.UploadRequest
	}{
		{"a draft that was signed for the test", "payroll@7 is signed for network test, and A belongs to network production", w.recorded(payroll, "--network", "test")},
		{"one that was signed before there were networks", "payroll@7 is signed for no network in particular, and A takes only what is signed for network production", w.recorded(payroll)},
		{"one that nobody signed", "payroll@7 is not signed, and A takes only", w.recorded(payroll, "--unsigned")},
		{"one of last month", "the signature of payroll@7 expired at", old},
	} {
		for _, only := range []string{"", "B"} { // all of it, and what is for the site behind
			upload := attack.upload
			upload.AllowNewNode = true
			upload.Tables = nil
			for _, table := range attack.upload.Tables {
				if only == "" || table.Node == only {
					upload.Tables = append(upload.Tables, table)
				}
			}
			answer, err := w.Sites["A"].Client.Upload(w.ctx, upload)
			if err != nil {
				t.Fatalf("%s: %v", attack.name, err)
			}
			for _, l := range answer.Nodes {
				if l.Result != api.ResultRefused {
					t.Errorf("%s, %q: taken: %+v", attack.name, only, l)
				}
			}
			want := strings.ReplaceAll(attack.want, " A ", map[string]string{"": " A ", "B": " B "}[only])
			if got := answer.Nodes[0].Reason; !strings.HasPrefix(got, attack.want) && !strings.HasPrefix(got, want) {
				t.Errorf("%s, %q: %s\nwant %s", attack.name, only, got, want)
			}
		}
	}
	for _, site := range []string{"A", "B"} {
		list, err := w.Sites[site].Client.Definitions(w.ctx)
		if err != nil || len(list.Definitions) != 0 {
			t.Errorf("%s has %+v, %v", site, list.Definitions, err)
		}
	}
	// The same by the definer, for production and in time.
	answer, err := w.Sites["A"].Client.Upload(w.ctx, production)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range answer.Nodes {
		if l.Result != api.ResultStored || l.Network != "production" {
			t.Errorf("%+v", l)
		}
	}
}
