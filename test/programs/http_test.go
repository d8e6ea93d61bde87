package programs

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/api"
)

// service is a web service that answers with a status for each attempt, the last one
// for all that follow, and keeps what it was asked.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	asked []http.Header
}

func newService(t *testing.T, answers ...int) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked = append(s.asked, r.Header)
		status := answers[min(len(s.asked), len(answers))-1]
		s.mu.Unlock()
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = w.Write(body)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) requests() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.asked...)
}

// P3: 408, 425, 429 and 5xx are failed attempts, which retry repeats under the same
// key, unless on_rc: continue; other statuses are _RC.
func TestStatusesOfServices(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		answers  []int
		activity string
		data     bool

		state    api.InstanceState
		output   string
		reason   string
		requests int
	}{
		{name: "200", answers: []int{200}, state: api.InstanceFinished, output: `{"n":1,"text":"","rc":0}`, requests: 1},
		{name: "204 without a body", answers: []int{204}, state: api.InstanceFinished, output: `{"n":0,"text":"","rc":0}`, requests: 1},
		{name: "404", answers: []int{404}, state: api.InstanceInError, reason: "return code 404, and no condition or mapping of work reads _RC", requests: 1},
		{name: "404 as data", answers: []int{404}, data: true, state: api.InstanceFinished, output: `{"n":0,"text":"","rc":404}`, requests: 1},
		{name: "a redirect is an answer", answers: []int{307}, data: true, state: api.InstanceFinished, output: `{"n":0,"text":"","rc":307}`, requests: 1},
		{name: "503 without retry", answers: []int{503}, state: api.InstanceInError, reason: "answered 503 Service Unavailable", requests: 1},
		{name: "503 is no data", answers: []int{503}, data: true, state: api.InstanceInError, reason: "answered 503 Service Unavailable", requests: 1},
		{name: "500, 408, 425, 429, 502, then 200", answers: []int{500, 408, 425, 429, 502, 200}, activity: "retry: {attempts: 6, backoff: 10ms}", state: api.InstanceFinished, output: `{"n":1,"text":"","rc":0}`, requests: 6},
		{name: "429 always", answers: []int{429}, activity: "retry: {attempts: 3, backoff: 10ms}", state: api.InstanceInError, reason: "answered 429 Too Many Requests", requests: 3},
		{name: "503, and continue", answers: []int{503}, activity: "retry: {attempts: 3, backoff: 10ms}, on_rc: continue", data: true, state: api.InstanceFinished, output: `{"n":0,"text":"","rc":503}`, requests: 1},
	}
	var programs, definitions []string
	services := make([]*service, len(cases))
	for i, tc := range cases {
		services[i] = newService(t, tc.answers...)
		programs = append(programs, fmt.Sprintf("p%d: {http: '%s/work'}", i, services[i].URL))
		define := process
		if tc.data {
			define = reading
		}
		definitions = append(definitions, define(fmt.Sprintf("d%d", i), fmt.Sprintf("program: p%d%s", i, and(tc.activity))))
	}
	s := newSite(t, programs...)
	s.start()
	s.Upload(strings.Join(definitions, "---\n"))
	instances := make([]api.InstanceID, len(cases))
	for i := range cases {
		instances[i] = s.begin(fmt.Sprintf("d%d", i), `{"n": 1}`)
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, work := s.await(instances[i])
			if status.State != tc.state || string(status.Output) != tc.output || !strings.Contains(work.Reason, tc.reason) {
				t.Errorf("%s, output %s: %s", status.State, status.Output, work.Reason)
			}
			requests := services[i].requests()
			if len(requests) != tc.requests {
				t.Errorf("%d requests, want %d", len(requests), tc.requests)
			}
			for n, r := range requests {
				if r.Get("Fmqm-Idempotency-Key") != requests[0].Get("Fmqm-Idempotency-Key") || r.Get("Fmqm-Attempt") != fmt.Sprint(n+1) ||
					r.Get("Fmqm-Instance") != instances[i].String() || r.Get("Content-Type") != "application/json" {
					t.Errorf("request %d: %v", n+1, r)
				}
			}
		})
	}
}

// reserved gives an address that nobody else can take, and at which nobody listens
// before listen is called.
func reserved(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "reserved")
	t.Cleanup(func() { _ = f.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port), func() net.Listener {
		if err := unix.Listen(fd, 16); err != nil {
			t.Fatal(err)
		}
		l, err := net.FileListener(f) // which has a descriptor of its own
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// P3: no connection is a failed attempt, also with on_rc: continue, which has no status
// to go on with.
func TestAServiceThatIsNotThere(t *testing.T) {
	t.Parallel()
	address, listen := reserved(t)
	s := newSite(t, "work: {http: 'http://"+address+"/'}")
	s.start()
	s.Upload(process("one", "program: work, on_rc: continue, retry: {attempts: 2, backoff: 10ms}"))
	id := s.begin("one", `{}`)
	status, work := s.await(id)
	if status.State != api.InstanceInError || work.Attempts != 2 || !strings.Contains(work.Reason, "no answer from http://"+address+"/: dial tcp") {
		t.Errorf("%s after %d attempts: %s", status.State, work.Attempts, work.Reason)
	}
	up := &httptest.Server{Listener: listen(), Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	up.Start()
	defer up.Close()
	if _, err := s.Client.Retry(t.Context(), id, api.RetryRequest{Activity: "work"}); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.await(id); status.State != api.InstanceFinished {
		t.Errorf("once it is there: %s %s", status.State, status.Reason)
	}
}

// What else a service can do wrong.
func TestServicesThatAnswerWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, spec, reason string
		answer             http.HandlerFunc
	}{
		{"garbage", "", "the output is not a container of type Box", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }},
		{"1 GiB", "", "bytes: pass a reference", func(w http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for range 1024 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}},
		{"breaks off", "", "broke off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}},
		{"hangs", ", timeout: 300ms", "overran its timeout of 300ms", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the caller is gone
			<-r.Context().Done()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(tc.answer)
			defer server.Close()
			s := newSite(t, "work: {http: '"+server.URL+"'"+tc.spec+"}")
			s.start()
			s.Upload(process("one", "program: work"))
			if status, work := s.await(s.begin("one", `{}`)); status.State != api.InstanceInError || !strings.Contains(work.Reason, tc.reason) {
				t.Errorf("%s: %s", status.State, work.Reason)
			}
		})
	}
}

// P2, P3: a request whose daemon was killed may still be worked on when the next
// daemon asks again. Only the service can tell, by the key, which is the same.
func TestAServiceIsAskedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	keys, release := make(chan string, 2), make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Fmqm-Idempotency-Key") + " " + r.Header.Get("Fmqm-Attempt")
		<-release
	}))
	defer server.Close()
	open := func() { once.Do(func() { close(release) }) }
	defer open()
	s := newSite(t, "work: {http: '"+server.URL+"'}")
	s.start()
	s.Upload(process("one", "program: work"))
	id := s.begin("one", `{}`)
	next := func() string {
		t.Helper()
		select {
		case key := <-keys:
			return key
		case <-time.After(patience):
			t.Fatal("the service was not asked")
			return ""
		}
	}
	first := next()
	s.Kill()
	s.start()
	if second := next(); second != first {
		t.Errorf("asked again with %s, first with %s", second, first)
	}
	open()
	if status, _ := s.await(id); status.State != api.InstanceFinished {
		t.Errorf("%s %s", status.State, status.Reason)
	}
}
