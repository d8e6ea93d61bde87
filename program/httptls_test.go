package program_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/program"
)

// quiet swallows what servers say of callers that are refused on purpose.
var quiet = log.New(io.Discard, "", 0)

// Headers are the configuration's: openly, or from a file that is read for each attempt.
// What the daemon says of the request stays its own.
func TestHTTPHasTheHeadersOfItsConfiguration(t *testing.T) {
	got := map[string]string{}
	spec := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for _, h := range []string{"X-Site", "Authorization", "Accept", "User-Agent", "Content-Type", "Fmqm-Node"} {
			got[h] = r.Header.Get(h)
		}
	})
	spec.Headers = map[string]string{"x-site": "north", "Accept": "application/json;v=2"}
	spec.Secrets = map[string]string{"Authorization": secretFile(t, "Bearer hunter2")}
	if r := register(t, spec, program.Options{}).Run(context.Background(), call(t)); r.Err != nil {
		t.Fatal(r.Err)
	}
	want := map[string]string{
		"X-Site": "north", "Authorization": "Bearer hunter2", "Accept": "application/json;v=2",
		"User-Agent": "fmqm", "Content-Type": "application/json", "Fmqm-Node": "B",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("headers (-want +got):\n%s", d)
	}
	for _, name := range []string{"Fmqm-Node", "host", "content-type", "Transfer-Encoding", "a b", ""} {
		if program.CheckHeader(name) == nil {
			t.Errorf("%q may be set", name)
		}
	}
}

// A service that echoes its secret does not make it a reason, nor a line of the log.
func TestHTTPSecretsAreInNoReason(t *testing.T) {
	spec := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"`+r.Header.Get("X-Key")+`": 1}`)
	})
	spec.Secrets = map[string]string{"X-Key": secretFile(t, "hunter2")}
	r := register(t, spec, program.Options{}).Run(context.Background(), call(t))
	wantError(t, r.Err, "the output is not a container of type Order", "[secret X-Key]")
	if strings.Contains(r.Err.Error(), "hunter2") {
		t.Error(r.Err)
	}
}

// No redirect carries anything to another host: it is the answer.
func TestHTTPRedirectsCarryNothing(t *testing.T) {
	visits := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits++ }))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		spec := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		spec.Secrets = map[string]string{"Authorization": secretFile(t, "hunter2")}
		if r := register(t, spec, program.Options{}).Run(context.Background(), call(t)); r.RC != int64(status) || r.Err != nil {
			t.Errorf("%d: rc %d, %v", status, r.RC, r.Err)
		}
	}
	if visits > 0 {
		t.Errorf("%d requests went elsewhere", visits)
	}
}

// pemFiles writes the certificate and key of a test's server, which is its own authority.
func pemFiles(t *testing.T, s *httptest.Server) (certificate, key string) {
	t.Helper()
	pair := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string]*pem.Block{
		"crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "crt"), filepath.Join(dir, "key")
}

// A service that is known by an authority of its own, and knows its callers by theirs.
func TestHTTPWithACertificate(t *testing.T) {
	callers := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { callers += len(r.TLS.PeerCertificates) }))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	certificate, key := pemFiles(t, s)
	spec := program.Spec{Kind: program.KindHTTP, URL: s.URL, Certificate: certificate, Key: key, CA: certificate}
	if r := register(t, spec, program.Options{}).Run(context.Background(), call(t)); r.Err != nil || callers != 1 {
		t.Errorf("%v; %d certificates shown", r.Err, callers)
	}
	spec.Certificate, spec.Key = "", ""
	wantError(t, register(t, spec, program.Options{}).Run(context.Background(), call(t)).Err, "no answer from "+s.URL)
	spec.CA = ""
	wantError(t, register(t, spec, program.Options{}).Run(context.Background(), call(t)).Err, "certificate signed by unknown authority")

	for want, files := range map[string][3]string{
		"the certificate of the client: ":                        {certificate, certificate, ""},
		"the authorities: " + key + " has no certificate":        {"", "", key},
		"the authorities: open " + key + "x: no such file or di": {"", "", key + "x"},
	} {
		_, err := program.ClientTLS(files[0], files[1], files[2])
		wantError(t, err, want)
	}
}
