package cli_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/identity"
)

// An operator's certificate comes from flags or the environment, whole or not at all.
func TestTheCertificateOfWhoAsks(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.Init(identity.InitOptions{Dir: dir, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	issue := func(role identity.Role, name string) identity.Files {
		var hosts []string
		if role == identity.RoleNode {
			hosts = []string{"127.0.0.1"}
		}
		out, err := identity.Issue(identity.IssueOptions{Dir: dir, Name: identity.Name{Role: role, Name: name}, Hosts: hosts, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}
	}
	site, err := identity.Load(identity.Options{Files: issue(identity.RoleNode, "A")})
	if err != nil {
		t.Fatal(err)
	}
	ann := issue(identity.RoleOperator, "ann")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, err := site.Caller(r.TLS, identity.RoleOperator); err != nil || name.Name != "ann" {
			t.Errorf("called by %v, %v", name, err)
		}
		_, _ = io.WriteString(w, `{"nodes":[]}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Listener = tls.NewListener(s.Listener, site.Server())
	s.Start()
	defer s.Close()
	to := "https" + strings.TrimPrefix(s.URL, "http")

	all := []string{"--cert", ann.Certificate, "--cert-key", ann.Key, "--ca", ann.CA}
	env := map[string]string{"FMQM_CERT": ann.Certificate, "FMQM_KEY": ann.Key, "FMQM_CA": ann.CA}
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		code int
		want string
	}{
		{"flags", append([]string{"--to", to}, all...), nil, 0, ""},
		{"environment", []string{"--to", to}, env, 0, ""},
		{"a flag above the environment", []string{"--to", to, "--ca", filepath.Join(dir, "none.crt")}, env, 1, "none.crt: no such file or directory"},
		{"not all of them", []string{"--to", to, "--cert", ann.Certificate}, nil, 2, "an operator's certificate takes three files: write --cert-key (or FMQM_KEY) and --ca (or FMQM_CA), too"},
		{"none", []string{"--to", to}, nil, 5, "is of an authority that is not known here"},
		{"for no https", append([]string{"--to", "http://127.0.0.1:1"}, all...), nil, 2, "--cert: http://127.0.0.1:1 is not an https address: write --to https://HOST:PORT, or leave it out"},
		{"environment for no https", []string{"--to", "unix:" + filepath.Join(dir, "s")}, env, 5, "there is no socket"},
	} {
		a := &ucli.App{Name: "prog", Flags: append([]ucli.Flag{cli.ToFlag(), cli.TimeoutFlag()}, cli.CertificateFlags()...), Action: func(c *ucli.Context) error {
			client, err := cli.NewClient(c)
			if err != nil {
				return err
			}
			defer client.Close()
			_, err = client.Nodes(c.Context)
			return err
		}}
		var out, talk bytes.Buffer
		code := cli.Main(a, append([]string{"prog"}, tc.args...), cli.Streams{Out: &out, Err: &talk, Env: func(k string) string { return tc.env[k] }})
		if code != tc.code || !strings.Contains(talk.String(), tc.want) {
			t.Errorf("%s: exit %d, %s\nwant %d, %s", tc.name, code, talk.String(), tc.code, tc.want)
		}
	}
}
