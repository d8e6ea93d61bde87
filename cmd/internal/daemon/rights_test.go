package daemon_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon"
	"fmqm/identity"
	"fmqm/internal/skip"
	"fmqm/processtable"
	"fmqm/program"
)

const twoProcesses = `process: order
version: 1
structures: {Work: {rc: int}}
input: Work
starts: [A]
activities:
  pay: {node: A, program: fails, input: Work, output: Work}
data: [source -> pay]
---
process: secret
version: 1
structures: {Work: {rc: int}}
input: Work
starts: [A]
activities:
  plot: {node: A, program: fails, input: Work, output: Work}
data: [source -> plot]
`

const guardedRights = `
staff: {file: staff.yaml, socket: work.sock}
rights:
  - {who: [alice, "user:root"], roles: [admin]}
  - {who: ben, roles: [viewer], processes: [order]}
  - {who: carl, roles: [clerk], processes: ["ord*"]}
  - {who: "user:daemon", roles: [operator], processes: [order]}
  - {who: "role:lead", roles: [clerk], processes: [order]}
`

const guardedStaff = `roles: [lead, nurse]
people:
  ann: {roles: [lead], logins: [games]}
  eve: {roles: [nurse], logins: [mail], absent: true, substitute: ann}
`

// guarded is a site that grants rights, with an instance of order and one of secret, both in error.
type guarded struct {
	*secured
	d             *daemon.Daemon
	log           *journal
	order, secret string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	s := newSecured(t, "A")
	if err := os.WriteFile(filepath.Join(s.dir, "staff.yaml"), []byte(guardedStaff), 0o600); err != nil {
		t.Fatal(err)
	}
	key := base64.StdEncoding.EncodeToString(definer(1).Public().(ed25519.PublicKey))
	c := s.config("A", "definers: [\"ed25519:"+key+"\"]"+guardedRights)
	c.Programs["fails"] = program.Spec{Kind: program.KindBuiltin, Builtin: "fail", Concurrency: 1}
	g := &guarded{secured: s}
	g.d, g.log = s.start(c)
	return g
}

// asOperator is a client with the certificate of an operator or a person.
func (g *guarded) asHolder(role identity.Role, name string) *http.Client {
	files := g.issue(identity.Name{Role: role, Name: name})
	i, err := identity.Load(identity.Options{Files: files})
	if err != nil {
		g.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: i.Operator("127.0.0.1"), DisableKeepAlives: true}}
	g.t.Cleanup(client.CloseIdleConnections)
	return client
}

// asUser is a client whose connections to a socket are those of a user of this machine: one thread becomes that
// user, connects, and ends.
func (g *guarded) asUser(login, socket string) *http.Client {
	g.t.Helper()
	u, err := user.Lookup(login)
	if err != nil {
		g.t.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		g.t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		type dialed struct {
			net.Conn
			error
		}
		done := make(chan dialed, 1)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread goes with what it has become
			const same = ^uintptr(0)
			if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(uid), same); no != 0 {
				done <- dialed{nil, no}
				return
			}
			var d net.Dialer
			c, err := d.DialContext(ctx, "unix", filepath.Join(g.dir, socket))
			done <- dialed{c, err}
		}()
		r := <-done
		return r.Conn, r.error
	}}}
}

// ask makes a request of the table, about an instance, and gives status and answer.
func (g *guarded) ask(c *http.Client, base string, row api.Request, id string) (int, string) {
	g.t.Helper()
	method, path, _ := strings.Cut(row.Pattern, " ")
	process := "order"
	if id == g.secret {
		process = "secret"
	}
	path = strings.NewReplacer("{id}", id, "{number}", "1", "{peer}", "B", "{process}", process).Replace(path)
	var body io.Reader
	if method == http.MethodPost {
		text := "{}"
		switch row.Pattern {
		case "POST /v1/instances":
			text = `{"instance": "` + uuid.Must(uuid.NewV7()).String() + `", "process": "` + process + `@1"}`
		case "POST /v1/instances/{id}/retry":
			text = `{"activity": "` + map[string]string{"order": "pay", "secret": "plot"}[process] + `", "output": {"rc": 0}}`
		case "POST /v1/events":
			text = `{"event": "x", "id": "1"}`
		case "POST /v1/upload":
			text = `{"tables": [{"node": "A", "process": "` + process + `@1", "definition": "", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "table": ""}]}`
		}
		body = strings.NewReader(text)
	}
	if strings.HasSuffix(path, "/watch") { // it would go on
		ctx, cancel := context.WithTimeout(g.t.Context(), 200*time.Millisecond)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, method, base+path, body)
		return g.do(c, r)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, base+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.do(c, r)
}

func (g *guarded) do(c *http.Client, r *http.Request) (int, string) {
	g.t.Helper()
	if r.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(r)
	if err != nil {
		g.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, _ = io.Copy(&text, resp.Body) // of a watch, up to its end here
	return resp.StatusCode, text.String()
}

// begin uploads the processes and starts an instance of each, which fails.
func (g *guarded) begin() {
	g.t.Helper()
	r := apitest.Upload(g.t, twoProcesses)
	for i := range r.Tables {
		signed, err := processtable.Sign(r.Tables[i].Table, definer(1))
		if err != nil {
			g.t.Fatal(err)
		}
		r.Tables[i].Table = signed
	}
	if _, err := g.d.Node.Upload(g.t.Context(), r); err != nil {
		g.t.Fatal(err)
	}
	for process, into := range map[string]*string{"order": &g.order, "secret": &g.secret} {
		id := uuid.Must(uuid.NewV7())
		if _, err := g.d.Node.Start(g.t.Context(), api.StartRequest{Instance: id, Process: process, Input: []byte(`{"rc": 3}`)}); err != nil {
			g.t.Fatal(err)
		}
		if st, err := g.d.Node.Wait(g.t.Context(), id); err != nil || st.State != api.InstanceInError {
			g.t.Fatalf("%+v, %v", st, err)
		}
		*into = id.String()
	}
}

// stands says whether the two instances are as they were, and no other is there.
func (g *guarded) stands(who string) {
	g.t.Helper()
	a, err := g.d.Node.List(g.t.Context(), api.ListRequest{All: true, Limit: 100})
	if err != nil || len(a.Instances) != 2 {
		g.t.Fatalf("after %s: %v, %+v", who, err, a.Instances)
	}
	for _, i := range a.Instances {
		if st, err := g.d.Node.Status(g.t.Context(), i.Instance); err != nil || st.State != api.InstanceInError {
			g.t.Errorf("after %s: %+v, %v", who, st, err)
		}
	}
}

// Every row of the table, tried by those who have no right to it: a stranger, a viewer of one process, a clerk of
// one, each as the holder of a certificate and, with the kernel's word, as a user of the machine. What they
// may not see is not there, what they may not do is refused with who may, and nothing changes.
func TestEveryRequestByThoseWhoMayNot(t *testing.T) {
	g := newGuarded(t)
	g.begin()
	type attacker struct {
		name   string
		client *http.Client
		base   string
		has    []api.Right // over order
		person bool        // of the staff
	}
	all := []attacker{
		{"operator dora", g.asHolder(identity.RoleOperator, "dora"), g.address("A"), nil, false},
		{"operator ben", g.asHolder(identity.RoleOperator, "ben"), g.address("A"), []api.Right{api.RightViewer}, false},
		{"operator carl", g.asHolder(identity.RoleOperator, "carl"), g.address("A"), []api.Right{api.RightClerk}, false},
		{"person eve", g.asHolder(identity.RolePerson, "eve"), g.address("A"), nil, true},
	}
	if os.Geteuid() == 0 {
		g.openToAll()
		all = append(
			all,
			attacker{"user bin", g.asUser("bin", "A.sock"), "http://fmqm", nil, false},
			attacker{"user daemon", g.asUser("daemon", "A.sock"), "http://fmqm", []api.Right{api.RightOperator}, false},
			attacker{"user mail, who is eve", g.asUser("mail", "work.sock"), "http://fmqm", nil, true},
		)
	}
	for _, a := range all {
		for _, row := range api.Requests() {
			for _, id := range []string{g.secret, g.order} {
				may := row.Right == api.RightNone || id == g.order && row.Of != api.OfNode && slices.ContainsFunc(a.has, func(r api.Right) bool { return r.Includes(row.Right) })
				several := row.Of == api.OfSeveral && slices.ContainsFunc(a.has, func(r api.Right) bool { return r.Includes(row.Right) })
				if may && row.Changes {
					continue // it is tried below
				}
				status, text := g.ask(a.client, a.base, row, id)
				sees := len(a.has) > 0
				switch {
				case may || several:
					if status == http.StatusForbidden {
						t.Errorf("%s: %s: %d %s", a.name, row.Pattern, status, text)
					}
				case status == http.StatusNotFound && sees && (row.Of == api.OfInstance || row.Of == api.OfMessage):
				case status == http.StatusNotFound && a.person && row.People: // the process does not say that he may
				case row.Pattern == "GET /v1/work" && a.person: // his worklist, on which nothing is
					if status != http.StatusOK || !strings.Contains(text, `"items":[]`) {
						t.Errorf("%s: %s: %d %s", a.name, row.Pattern, status, text)
					}
				case status != http.StatusForbidden, !strings.Contains(text, `"code":"refused"`):
					t.Errorf("%s: %s about %s: %d %s", a.name, row.Pattern, id, status, text)
				}
				if id != g.secret && strings.Contains(text, "secret") || strings.Contains(text, "plot") {
					t.Errorf("%s sees by %s: %s", a.name, row.Pattern, text)
				}
			}
		}
		for _, path := range []string{"/metrics", "/v1/backup", "/v1/reload"} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, a.base+path, nil)
			if status, text := g.do(a.client, r); status == http.StatusOK {
				t.Errorf("%s has %s: %.200s", a.name, path, text)
			}
		}
		g.stands(a.name)
	}
	g.log.await(t, `"by":"operator dora"`, "request refused: its caller lacks the right")
}

// openToAll lets everybody of this machine come to the sockets, as the group of the daemon's socket may in earnest.
func (g *guarded) openToAll() {
	g.t.Helper()
	for dir := g.dir; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(g.dir, "A.sock"), 0o666); err != nil {
		g.t.Fatal(err)
	}
}

// Two users on one socket are told apart by the kernel: what one of them may, the other may not; and the
// history has who did it. People of the staff are known on their own socket, and nobody else is served there.
func TestTwoUsersOnOneSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Untested(t, "root becomes other users: run it as root")
	}
	g := newGuarded(t)
	g.begin()
	g.openToAll()
	retry := func(c *http.Client, id, activity string) (int, string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fmqm/v1/instances/"+id+"/retry", strings.NewReader(`{"activity": "`+activity+`", "output": {"rc": 0}}`))
		return g.do(c, r)
	}
	if status, text := retry(g.asUser("bin", "A.sock"), g.order, "pay"); status != http.StatusForbidden || !strings.Contains(text, "user:bin may not do this at A: it needs the right operator") {
		t.Errorf("bin: %d %s", status, text)
	}
	if status, text := retry(g.asUser("daemon", "A.sock"), g.secret, "plot"); status != http.StatusNotFound {
		t.Errorf("daemon, of what it does not see: %d %s", status, text)
	}
	g.stands("both")
	if status, text := retry(g.asUser("daemon", "A.sock"), g.order, "pay"); status != http.StatusOK {
		t.Fatalf("daemon: %d %s", status, text)
	}
	h, err := g.d.Node.History(t.Context(), uuid.MustParse(g.order))
	if err != nil || !slices.ContainsFunc(h.Events, func(e api.HistoryEvent) bool { return e.By == "user:daemon at A" }) {
		t.Errorf("the history: %+v, %v", h.Events, err)
	}

	get := func(c *http.Client, path string) (int, string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fmqm"+path, nil)
		return g.do(c, r)
	}
	ann := g.asUser("games", "work.sock")
	status, text := get(ann, "/v1/whoami")
	want := `{"name":"ann@A","node":"A","proved":"work-socket","person":"ann@A","roles":["lead"],"stands_in_for":["eve"],"rights":[{"roles":["clerk"],"processes":["order"]}]}`
	if status != http.StatusOK || strings.TrimSpace(text) != want {
		t.Errorf("ann is %d %s", status, text)
	}
	if status, text := get(ann, "/v1/instances"); status != http.StatusForbidden || !strings.Contains(text, "the socket of the staff is for people's work") {
		t.Errorf("ann lists: %d %s", status, text)
	}
	if status, text := get(g.asUser("bin", "work.sock"), "/v1/whoami"); status != http.StatusForbidden || !strings.Contains(text, "user:bin is not in the staff of this node") {
		t.Errorf("bin: %d %s", status, text)
	}
	id := uuid.Must(uuid.NewV7())
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fmqm/v1/instances", strings.NewReader(`{"instance": "`+id.String()+`", "process": "order@1"}`))
	if status, text := g.do(ann, r); status != http.StatusOK {
		t.Errorf("ann starts: %d %s", status, text)
	}
	if st, err := g.d.Node.Status(t.Context(), id); err != nil || st.StartedBy != "ann@A" {
		t.Errorf("it was started by %q, %v", st.StartedBy, err)
	}
}
