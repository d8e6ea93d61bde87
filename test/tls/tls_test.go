package tls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// Four sites over https, each with a certificate of its own, work while every
// certificate is renewed under them and one of them is killed: nothing is lost, and
// nobody asks them over the network but an operator.
func TestRenewalWhileWorkGoesOn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")) // with the definer's key
	definer := strings.TrimSpace(fleet.Must(t, "fmqm-define", "keygen"))
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", dir)
	for _, site := range fleet.Names {
		fleet.Must(t, "fmqmd", "pki", "issue", site, "--host", "127.0.0.1", "--dir", dir)
	}
	work := fleet.NewWork(t, 41)
	f := fleet.New(t, fleet.Options{
		Links: func(f *fleet.Fleet, site string) string {
			return fmt.Sprintf("identity: {certificate: %[1]s/node-%[2]s.crt, key: %[1]s/node-%[2]s.key, ca: %[1]s/ca.crt}\ndefiners: [%[3]q]\nlinks:\n", dir, site, definer) +
				f.Peers(site, fleet.OverTLS)
		},
		Programs: work.Programs,
	})
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience)
	defer cancel()
	f.Connected(ctx)
	work.Define(f, 8, 5)
	started := work.Start(ctx)
	for _, site := range fleet.Names {
		work.Progress(ctx, 5)
		fleet.Must(t, "fmqmd", "pki", "issue", site, "--host", "127.0.0.1", "--dir", dir, "--force")
		f.Sites[site].Reload(ctx)
	}
	f.Sites["B"].Kill() // its links are made anew with the new certificates
	f.Sites["B"].Start()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	f.Connected(ctx)
	operators(t, f, dir)
	t.Log(work.Judge(ctx))
}

// operators asks a site over the network, with and without what that takes.
func operators(t *testing.T, f *fleet.Fleet, dir string) {
	t.Helper()
	fleet.Must(t, "fmqmd", "pki", "issue", "--operator", "ann", "--dir", dir)
	to := "https://" + f.Sites["A"].Listen
	with := func(name string) []string {
		return []string{"nodes", "--to", to, "--cert", filepath.Join(dir, name+".crt"), "--cert-key", filepath.Join(dir, name+".key"), "--ca", filepath.Join(dir, "ca.crt")}
	}
	if out := fleet.Must(t, "fmqm", with("operator-ann")...); !strings.Contains(out, "connected") {
		t.Errorf("an operator sees\n%s", out)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{with("node-C"), 4, "the certificate is for site C, and requests are for operators"},
		{[]string{"nodes", "--to", to}, 5, "is of an authority that is not known here: name the certificate of an operator"},
	} {
		if _, talk, code := fleet.Run(t, "fmqm", tc.args...); code != tc.code || !strings.Contains(talk, tc.want) {
			t.Errorf("fmqm %v: exit %d, %s\nwant %d, %s", tc.args, code, talk, tc.code, tc.want)
		}
	}
}
