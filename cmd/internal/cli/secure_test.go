package cli_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
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

	siteCertificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "node-A.crt"), filepath.Join(dir, "node-A.key"))
	if err != nil {
		t.Fatal(err)
	}
	denied, nobody, noList := filepath.Join(dir, "denied"), filepath.Join(dir, "nobody"), filepath.Join(dir, "nolist")
	for file, content := range map[string]string{
		denied: fmt.Sprintf("%x # A was stolen\n", sha256.Sum256(siteCertificate.Certificate[0])), nobody: "# nobody\n", noList: "A\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

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
		{"a flag above the environment", []string{"--to", to, "--ca", filepath.Join(dir, "none.crt")}, env, 1, "prog: --ca: cannot read " + filepath.Join(dir, "none.crt") + ": no such file or directory"},
		{"no such certificate", []string{"--to", to, "--cert", filepath.Join(dir, "none.crt")}, env, 1, "prog: --cert: cannot read " + filepath.Join(dir, "none.crt") + ": "},
		{"no such key", []string{"--to", to}, map[string]string{"FMQM_CERT": ann.Certificate, "FMQM_KEY": filepath.Join(dir, "none.key"), "FMQM_CA": ann.CA}, 1, "prog: FMQM_KEY: cannot read " + filepath.Join(dir, "none.key") + ": "},
		{"one file in two places", []string{"--to", to}, map[string]string{"FMQM_CERT": ann.Certificate, "FMQM_KEY": ann.Key, "FMQM_CA": ann.Certificate}, 1, "prog: FMQM_CA: " + ann.Certificate + " has a certificate that is not an authority's"},
		{"one file in two places, by a flag", []string{"--to", to, "--ca", ann.Certificate}, env, 1, "prog: --ca: " + ann.Certificate + " has a certificate that is not an authority's"},
		{"two that do not belong together", []string{"--to", to, "--cert", filepath.Join(dir, "node-A.crt")}, env, 1, "prog: --cert, --cert-key and --ca (or FMQM_CERT, FMQM_KEY and FMQM_CA): identity: the key in "},
		{"not all of them", []string{"--to", to, "--cert", ann.Certificate}, nil, 2, "an operator's certificate takes three files: write --cert-key (or FMQM_KEY) and --ca (or FMQM_CA), too"},
		{"a revoked site", append([]string{"--to", to, "--deny", denied}, all...), nil, 5, "the certificate of site A was revoked: it is on your own deny list: do not use this site until it has a certificate for a new key"},
		{"revoked, by the environment", append([]string{"--to", to}, all...), map[string]string{"FMQM_DENY": denied}, 5, "was revoked"},
		{"others were revoked", append([]string{"--to", to, "--deny", nobody}, all...), nil, 0, ""},
		{"a deny list that is none", append([]string{"--to", to, "--deny", noList}, all...), nil, 1, "prog: --deny: deny list " + noList + ", line 1: this is not a SHA-256 fingerprint"},
		{"a deny list without a certificate", []string{"--to", to, "--deny", denied}, nil, 2, "--deny: without an operator's certificate no site's is looked at"},
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
