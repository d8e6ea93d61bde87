package people

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/test/fleet"
)

// holders are those who ask a site over TLS, each with a certificate, and what has signed these.
type holders struct {
	*house
	pki  string
	from map[string]string // directories of other authorities, by who has a certificate of one
}

const holdersStaff = "roles: [assessor, boss]\npeople:\n  ann: {roles: [assessor]}\n  bob: {roles: [assessor]}\n"

const holdersRights = `operators: [alice, ben, zoe, late, forged]
rights:
  - {who: ["user:*", zoe, late, forged], roles: [admin]}
  - {who: alice, roles: [operator], processes: [claim]}
  - {who: ben, roles: [viewer], processes: [claim]}
`

func newHolders(t *testing.T) *holders {
	t.Helper()
	h := &holders{house: &house{t: t}, pki: t.TempDir(), from: map[string]string{"forged": t.TempDir()}}
	fleet.Run(t, "fmqm-define", "keygen") // refused where there is one
	definer := strings.TrimSpace(fleet.Must(t, "fmqm-define", "keygen", "--public"))
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", h.pki)
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", h.from["forged"])
	fleet.Must(t, "fmqmd", "pki", "issue", "A", "--host", "127.0.0.1", "--dir", h.pki)
	for _, operator := range []string{"alice", "ben", "zoe", "stranger"} {
		fleet.Must(t, "fmqmd", "pki", "issue", "--operator", operator, "--dir", h.pki)
	}
	for _, person := range []string{"ann", "nobody"} {
		fleet.Must(t, "fmqmd", "pki", "issue", "--person", person, "--dir", h.pki)
	}
	fleet.Must(t, "fmqmd", "pki", "issue", "--operator", "forged", "--dir", h.from["forged"])
	long := time.Now().AddDate(-1, 0, 0)
	if _, err := identity.Issue(identity.IssueOptions{Dir: h.pki, Name: identity.Name{Role: identity.RoleOperator, Name: "late"}, Now: long}); err != nil {
		t.Fatal(err)
	}
	h.write("deny", "")
	h.write("staff.yaml", holdersStaff)
	f := fleet.New(t, fleet.Options{Sites: []string{"A"}, Links: func(*fleet.Fleet, string) string {
		return fmt.Sprintf("identity: {certificate: %[1]s/node-A.crt, key: %[1]s/node-A.key, ca: %[1]s/ca.crt, deny: %[1]s/deny}\nstaff: {file: %[1]s/staff.yaml}\ndefiners: [%[2]q]\n", h.pki, definer) + holdersRights
	}})
	h.Site = f.Sites["A"]
	h.Answers()
	return h
}

func (h *holders) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.pki, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// ask runs fmqm over TLS as somebody: an operator, a person, or a site.
func (h *holders) ask(who string, args ...string) answer {
	h.t.Helper()
	dir, role := h.pki, "operator"
	if other := h.from[who]; other != "" {
		dir = other
	}
	switch who {
	case "ann", "nobody":
		role = "person"
	case "A":
		role = "node"
	}
	file := filepath.Join(dir, role+"-"+who)
	out, talk, code := fleet.Run(h.t, "fmqm", append(args, "--to", "https://"+h.Listen, "--cert", file+".crt", "--cert-key", file+".key", "--ca", filepath.Join(h.pki, "ca.crt"))...)
	return answer{out, talk, code}
}

// N28: two operators ask one site over TLS with certificates of their own: each may what his rights say, history and log
// name him, and whose certificate is of no use is refused, with the reason.
func TestN28CertificatesOfTwoOperators(t *testing.T) {
	h := newHolders(t)
	h.Upload(processes)
	claim, item := h.begins("claim", "K-7")
	salary, _ := h.begins("salary", "S-1")
	for who, right := range map[string]api.Right{"alice": api.RightOperator, "ben": api.RightViewer} {
		w := read[api.WhoAmI](t, h.ask(who, "whoami", "-o", "json"))
		if w.Name != who || w.Person != "" || w.Proved != api.ProvedCertificate || w.All || len(w.Rights) != 1 ||
			!slices.Equal(w.Rights[0].Rights, []api.Right{right}) || !slices.Equal(w.Rights[0].Processes, []string{"claim"}) {
			t.Errorf("%s is %+v", who, w)
		}
		if a := h.ask(who, "list", "-o", "json"); a.code != 0 || !strings.Contains(a.out, claim) || strings.Contains(a.out, "salary") {
			t.Errorf("%s lists %+v", who, a)
		}
	}
	if w := read[api.WhoAmI](t, h.ask("ann", "whoami", "-o", "json")); w.Name != "ann@A" || w.Person != "ann@A" || w.Proved != api.ProvedCertificate || len(w.Rights) != 0 {
		t.Errorf("ann is %+v", w)
	}
	h.refuses(h.ask, []refusal{
		{"ben", []string{"suspend", claim}, 4, []string{"ben may not do this at A: it needs the right operator over claim", "ask alice, forged, late, user:*, zoe, who may"}},
		{"ben", []string{"terminate", claim}, 4, []string{"ben may not do this at A: it needs the right operator over claim"}},
		{"ben", []string{"work", "claim", item, "--as", "ann"}, 4, []string{"ben may not do this at A: it needs the right operator"}},
		{"alice", []string{"terminate", salary}, 3, []string{"A does not know instance " + salary}},
		{"alice", []string{"work", "claim", item}, 4, []string{"alice is no person of the staff of A", "--as PERSON"}},
		{"ann", []string{"terminate", claim}, 4, []string{"ann@A may not do this at A: it needs the right operator"}},
		{"nobody", []string{"work", "list"}, 4, []string{"person nobody is not in the staff of site A", "have that person written into the file of `staff`"}},
		{"stranger", []string{"list"}, 4, []string{"operator stranger is not among the operators of site A"}},
		{"forged", []string{"list"}, 1, []string{"the certificate of operator forged was signed by another authority"}},
		{"late", []string{"list"}, 1, []string{"the certificate of operator late expired on", "renew it"}},
		{"A", []string{"list"}, 4, []string{"the certificate is for site A, and requests are for operators"}},
	}, claim, salary)
	h.bare("late", "the certificate of operator late expired on")
	h.bare("forged", "was signed by another authority")
	h.act(claim, item)
	h.denied(claim)
}

// bare asks with a client that does not look at its own certificate first: what the site says of it.
func (h *holders) bare(who, says string) {
	h.t.Helper()
	dir := cmp.Or(h.from[who], h.pki)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "operator-"+who+".crt"), filepath.Join(dir, "operator-"+who+".key"))
	if err != nil {
		h.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	authority, err := os.ReadFile(filepath.Join(h.pki, "ca.crt"))
	if err != nil || !pool.AppendCertsFromPEM(authority) {
		h.t.Fatal("the authority: ", err)
	}
	// GetClientCertificate, since Go's client does not show what was signed by nobody whom the server names.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}}
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "https://"+h.Listen+"/v1/instances", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	a, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusUnauthorized || !strings.Contains(string(text), says) {
		h.t.Errorf("%s is told %s %s, %v; want %q", who, a.Status, text, err, says)
	}
}

// act has alice do what she may, for herself and in somebody's name, and looks for her name.
func (h *holders) act(claim, item string) {
	h.t.Helper()
	for _, args := range [][]string{
		{"suspend", claim},
		{"resume", claim},
		{"work", "claim", item, "--as", "bob", "--reason", "he has called"},
		{"work", "release", item},
	} {
		if a := h.ask("alice", args...); a.code != 0 {
			h.t.Errorf("alice: fmqm %v: %+v", args, a)
		}
	}
	if a := h.ask("ann", "work", "complete", item, "--output", `{"approved": true}`); a.code != 0 {
		h.t.Errorf("ann completes her work: %+v", a)
	}
	told := map[string]string{} // what was done by whom, and who acted in his name
	for _, e := range h.history(claim) {
		told[string(e.Event)] = e.By + " " + e.Operator
	}
	for event, want := range map[string]string{"suspended": "alice at A ", "resumed": "alice at A ", "claimed": "ann@A ", "released": "alice at A ", "completed": "ann@A "} {
		if told[event] != want {
			h.t.Errorf("history has %s by %q, want %q", event, told[event], want)
		}
	}
	if lines := h.Logged(`"by":"operator alice"`); len(lines) < 4 {
		h.t.Errorf("the log names alice in %d lines: %q", len(lines), lines)
	}
}

// denied: whose certificate is on the deny list is refused from the next reload on, and nobody else.
func (h *holders) denied(claim string) {
	h.t.Helper()
	if a := h.ask("zoe", "list"); a.code != 0 {
		h.t.Fatalf("zoe, before: %+v", a)
	}
	h.write("deny", fleet.Must(h.t, "fmqmd", "pki", "deny", filepath.Join(h.pki, "operator-zoe.crt")))
	h.Reload(h.t.Context())
	h.refuses(h.ask, []refusal{
		{"zoe", []string{"list"}, 4, []string{"the certificate of operator zoe was revoked", "request one for a new key"}},
		{"zoe", []string{"terminate", claim}, 4, []string{"the certificate of operator zoe was revoked"}},
		{"zoe", []string{"whoami"}, 4, []string{"the certificate of operator zoe was revoked"}},
	}, claim)
	if a := h.ask("alice", "status", claim); a.code != 0 {
		h.t.Errorf("alice, who is not denied: %+v", a)
	}
	if lines := h.Logged(`"reason":"the certificate of operator zoe was revoked`); len(lines) == 0 {
		h.t.Error("the log does not say that zoe was refused")
	}
}
