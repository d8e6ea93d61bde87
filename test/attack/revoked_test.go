package attack

import (
	"bufio"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// certificate is a file of the sites' authority.
func (w *world) certificate(name string) string { return filepath.Join(w.pki, name+".crt") }

// Somebody has stolen the key of a site, and sits on an open link: when its fingerprint
// stands on the deny list, and the others have reloaded, the link ends, and there is no
// other. The site itself comes back with a new key.
func TestStolenKeyOfASite(t *testing.T) {
	t.Parallel()
	for name, opened := range map[string]func(t *testing.T) options{
		"directly":      func(*testing.T) options { return options{} },
		"over a broker": func(t *testing.T) options { t.Helper(); return options{amqp: newAccount(t).amqp(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, opened(t))
			thief := w.thief("B")
			w.define("A", between)
			w.ran("before", func() {})
			w.deny(w.certificate("node-B"))
			w.Sites["A"].Reload(w.ctx)
			w.eventually("A's link to B ends", func() (string, bool) {
				a, err := w.Sites["A"].Client.Links(w.ctx)
				if err != nil || len(a.Links) != 1 {
					return "", false
				}
				return a.Links[0].State + " " + a.Links[0].Reason, a.Links[0].State != string(link.StateConnected) && strings.Contains(a.Links[0].Reason, "was revoked")
			})
			fleet.Must(t, "fmqmd", "pki", "issue", "B", "--dir", w.pki, "--force") // another key
			w.Sites["B"].Reload(w.ctx)
			w.ran("with another key", func() {})
			thief.call("A").refused("refused there: the certificate of site B was revoked")
			w.ran("beside the thief", func() {})
		})
	}
}

// thief has the key and the certificate that a site has now.
func (w *world) thief(site string) *party {
	w.t.Helper()
	id, err := identity.Load(identity.Options{Files: identity.Files{
		Certificate: w.certificate("node-" + site), Key: filepath.Join(w.pki, "node-"+site+".key"), CA: w.certificate("ca"),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &party{w: w, name: processtable.NodeID(site), identity: id, lines: map[string]*line{}}
}

// An operator who was dismissed has a stream open: it ends with the reload that denies the
// certificate, or that takes the name out of `operators`; and he may not ask again.
func TestDismissedOperator(t *testing.T) {
	t.Parallel()
	operators := "[ann, ben]"
	w := newWorld(t, options{
		more:     func(string) string { return "operators: " + operators + "\n" },
		programs: []string{"wait: {builtin: sleep}"},
	})
	w.define("A", `process: long
version: 1
structures: {Pause: {sleep_ms: int}}
input: Pause
activities:
  it: {node: A, program: wait, input: Pause}
data: [source -> it]
`)
	id := uuid.Must(uuid.NewV7())
	if _, err := w.Sites["A"].Client.Start(w.ctx, api.StartRequest{Instance: id, Process: "long", Input: []byte(`{"sleep_ms": 3600000}`)}); err != nil {
		t.Fatal(err)
	}
	ann, ben := w.operator("ann"), w.operator("ben")
	streams := map[string]*bufio.Scanner{"ann": w.watches(ann, id), "ben": w.watches(ben, id)}
	w.deny(w.certificate("operator-ann"))
	w.Sites["A"].Reload(w.ctx)
	w.over("ann", streams["ann"])
	w.forbidden(ann, "the certificate of operator ann was revoked: it is on the deny list of the site that says this: request one for a new key with `fmqmd pki request --operator ann`"+
		`","remedy":"if it should not be revoked, have it taken off that list"`)
	w.mayAsk(ben)
	operators = "[ann]"
	w.Sites["A"].Configure()
	w.Sites["A"].Reload(w.ctx)
	w.over("ben", streams["ben"])
	w.forbidden(ben, "operator ben is not among the operators of site A")
}

// Whoever asks at the port and may not is in the log, once, with who it is as far as that
// is proved, and why: alerts are built on this line.
func TestWhoAsksAndMayNotIsInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{more: func(string) string { return "operators: [ann]\n" }})
	ann, ben := w.operator("ann"), w.operator("ben")
	nobody := w.operator("nobody")
	nobody.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = nil
	for range 2 { // in turn, as somebody would who wants to fill the log
		w.mayAsk(ann)
		w.forbidden(ben, "operator ben is not among the operators of site A")
		w.refused(nobody, http.StatusUnauthorized, "no certificate was shown")
	}
	for reason, by := range map[string]string{
		"operator ben is not among the operators of site A":              "operator ben",
		"this node answers operators only, and no certificate was shown": "nobody known",
	} {
		lines := w.Sites["A"].Logged(`"by":"` + by + `","reason":"` + reason + `"`)
		if len(lines) != 1 || !strings.Contains(lines[0], `"message":"request refused"`) || !strings.Contains(lines[0], `"remote":"127.0.0.1:`) {
			t.Errorf("%s: %q", reason, lines)
		}
	}
}

// operator gives a client with the certificate of an operator.
func (w *world) operator(name string) *http.Client {
	w.t.Helper()
	fleet.Must(w.t, "fmqmd", "pki", "issue", "--operator", name, "--dir", w.pki)
	id, err := identity.Load(identity.Options{Files: identity.Files{
		Certificate: w.certificate("operator-" + name), Key: filepath.Join(w.pki, "operator-"+name+".key"), CA: w.certificate("ca"),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: id.Operator("127.0.0.1")}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get asks site A for something.
func (w *world) get(c *http.Client, path string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "https://"+w.Sites["A"].Listen+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// watches opens the stream of what happens to an instance, and has its first line.
func (w *world) watches(c *http.Client, id uuid.UUID) *bufio.Scanner {
	w.t.Helper()
	lines := bufio.NewScanner(w.get(c, "/v1/instances/"+id.String()+"/watch").Body)
	if !lines.Scan() {
		w.t.Fatal(lines.Err())
	}
	return lines
}

// over waits for the end of a stream, which otherwise goes on for an hour.
func (w *world) over(who string, lines *bufio.Scanner) {
	w.t.Helper()
	ended := make(chan bool)
	go func() {
		for lines.Scan() { // what was on its way
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-w.ctx.Done():
		w.t.Fatalf("the stream of %s goes on", who)
	}
}

func (w *world) mayAsk(c *http.Client) {
	w.t.Helper()
	if answer := w.get(c, "/v1/nodes"); answer.StatusCode != http.StatusOK {
		w.t.Errorf("answered %s", answer.Status)
	}
}

// forbidden checks that an operator may not ask, and is told why.
func (w *world) forbidden(c *http.Client, why string) {
	w.t.Helper()
	w.refused(c, http.StatusForbidden, why)
}

func (w *world) refused(c *http.Client, status int, why string) {
	w.t.Helper()
	answer := w.get(c, "/v1/nodes")
	text := bufio.NewScanner(answer.Body)
	text.Scan()
	if answer.StatusCode != status || !strings.Contains(text.Text(), why) {
		w.t.Errorf("answered %s: %s\nwant %s", answer.Status, text.Text(), why)
	}
}

// A peer with an open link whose certificate ends is cut off by itself, without a reload.
func TestCertificateThatEndsWhileALinkIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{guests: []string{"M"}})
	var line *line
	for left := 5 * time.Second; line == nil; left *= 2 { // a busy machine takes longer
		line = w.shortly("M", left)
	}
	line.refused("refused there: the certificate of site M expired on")
	w.Sites["A"].Says("site M is no longer accepted: the certificate of site M expired on")
}

// shortly gives an open link of a party to A whose certificate, of a day, ends soon; nil:
// it ended before that.
func (w *world) shortly(name string, left time.Duration) *line {
	w.t.Helper()
	out, err := identity.Issue(identity.IssueOptions{
		Dir: w.pki, Name: identity.Name{Role: identity.RoleNode, Name: name}, Days: 1, Now: time.Now().Add(-24*time.Hour + left), Force: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := identity.Load(identity.Options{Files: identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}})
	if err != nil {
		w.t.Fatal(err)
	}
	l := (&party{w: w, name: processtable.NodeID(name), identity: id, lines: map[string]*line{}}).call("A")
	connected := false
	w.eventually("the link is open, or its certificate ends", func() (string, bool) {
		connected = l.Status().State == link.StateConnected
		return l.Status().Reason, connected || time.Now().After(out.Expires)
	})
	if !connected {
		stop(w.t, l)
		return nil
	}
	return l
}
