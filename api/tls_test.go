package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fmqm/api"
)

// Who asks over TLS, or where there is none, is told what to write; nothing was sent.
func TestClientsOverTLS(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"nodes":[]}`) })
	secure := httptest.NewUnstartedServer(answer)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(answer)
	defer plain.Close()
	known := &tls.Config{RootCAs: x509.NewCertPool()}
	known.RootCAs.AddCert(secure.Certificate())
	for _, tc := range []struct {
		name   string
		to     string
		config *tls.Config
		want   string // "" if it works
	}{
		{"its authority is known", secure.URL, known, ""},
		{"its authority is not known", secure.URL, nil, "the certificate of " + secure.URL + " is of an authority that is not known here: name the certificate of an operator, and the sites' authority, with --cert, --cert-key and --ca (or FMQM_CERT, FMQM_KEY and FMQM_CA)"},
		{"plain text to TLS", strings.Replace(secure.URL, "https", "http", 1), nil, "takes encrypted connections only: write https:// in --to (or FMQM_TO)"},
		{"TLS to plain text", strings.Replace(plain.URL, "http", "https", 1), nil, "does not speak TLS: write http:// in --to (or FMQM_TO), or give the node an `identity`"},
		{"nobody", "https://127.0.0.1:1", known, "no daemon listens at https://127.0.0.1:1"},
	} {
		c, err := api.NewTLSClient(tc.to, time.Minute, tc.config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Nodes(t.Context())
		c.Close()
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || api.CodeOf(err) != api.CodeUnreachable || api.MayHaveHappened(err)):
			t.Errorf("%s: %v (may have happened: %t)\nwant %s", tc.name, err, api.MayHaveHappened(err), tc.want)
		}
	}
}

// Who may not ask gets the error of the API that the permission gave, and nothing is
// done; who may is not stopped.
func TestAuthenticated(t *testing.T) {
	asked := 0
	s := httptest.NewServer(api.Authenticated(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, `{"nodes":[]}`)
	}), func(r *http.Request) (int, *api.Error) {
		switch r.URL.Path {
		case "/v1/nodes":
			return 0, nil
		case "/v1/definitions":
			return http.StatusForbidden, api.Errorf(api.CodeRefused, "ask as ann", "ben may not")
		}
		return http.StatusUnauthorized, api.Errorf(api.CodeRefused, "say who you are", "nobody may")
	}))
	defer s.Close()
	c, err := api.NewClient(s.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Nodes(t.Context()); err != nil || asked != 1 {
		t.Errorf("ann: %v", err)
	}
	if _, err := c.Definitions(t.Context()); err == nil || err.Error() != "ben may not: ask as ann" || api.CodeOf(err) != api.CodeRefused {
		t.Errorf("ben: %v", err)
	}
	if _, err := c.Upload(t.Context(), api.UploadRequest{}); err == nil || err.Error() != "nobody may: say who you are" {
		t.Errorf("nobody: %v", err)
	}
	res, err := http.Get(s.URL + "/v1/dead")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" || asked != 1 {
		t.Errorf("status %d, %d asked", res.StatusCode, asked)
	}
}
