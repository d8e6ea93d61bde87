package https

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fmqm/link"
	"fmqm/link/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen gives a server that hands the connections it gets to the channel.
func listen(t *testing.T, start func(*httptest.Server)) (*httptest.Server, <-chan link.Conn) {
	t.Helper()
	conns := make(chan link.Conn, 10)
	mux := http.NewServeMux()
	mux.Handle(Path, Handler(func(c link.Conn, remote string) {
		if remote == "" {
			t.Error("no address of the caller")
		}
		conns <- c
	}))
	s := httptest.NewUnstartedServer(mux)
	start(s)
	t.Cleanup(s.Close)
	return s, conns
}

func connect(t *testing.T, d *Dialer, conns <-chan link.Conn) (dialed, accepted link.Conn) {
	t.Helper()
	dialed, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accepted = <-conns
	t.Cleanup(func() { _, _ = dialed.Close(), accepted.Close() })
	return dialed, accepted
}

func newDialer(t *testing.T, url string) *Dialer {
	t.Helper()
	d, err := NewDialer(url)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func exchange(t *testing.T, from, to link.Conn, frame []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- from.Send(frame) }()
	got, err := to.Recv()
	if err != nil || !bytes.Equal(got, frame) {
		t.Fatalf("got %d bytes, %v; expected %d", len(got), err, len(frame))
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestFramesGoBothWays(t *testing.T) {
	s, conns := listen(t, (*httptest.Server).Start)
	a, b := connect(t, newDialer(t, s.URL), conns)
	exchange(t, a, b, []byte("hello"))
	exchange(t, b, a, []byte("hello yourself"))
	exchange(t, a, b, bytes.Repeat([]byte{7}, frame.MaxFrame))
	exchange(t, b, a, bytes.Repeat([]byte{8}, frame.MaxFrame))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("after the other side closed: %v", err)
	}
	if _, err := a.Recv(); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
	if err := a.Send([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

func TestAddressesOfPeers(t *testing.T) {
	self := newSites(t).node("A")
	good := map[string]string{
		"https://b.example.org:7411":    "b.example.org:7411 /v1/link",
		"https://b.example.org":         "b.example.org:443 /v1/link",
		"http://localhost/":             "localhost:80 /v1/link",
		"http://[::1]:7411":             "[::1]:7411 /v1/link",
		"https://proxy.example.org/b/x": "proxy.example.org:443 /b/x/v1/link",
	}
	for address, want := range good {
		d, err := NewPeerDialer(Peer{Address: address, Name: "B", Identity: self})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.addr + " " + d.url.RequestURI(); got != want {
			t.Errorf("%s: got %s, expected %s", address, got, want)
		}
	}
	bad := map[string]string{
		"b.example.org:7411":       `address of a peer "b.example.org:7411": expected http://host:port or https://host:port`,
		"amqp://b":                 `address of a peer "amqp://b": expected http://host:port or https://host:port`,
		"https://":                 `address of a peer "https:": expected https://host:port, without user, query and fragment`,
		"https://me:secret@b":      `address of a peer "https://me:xxxxx@b": expected https://host:port, without user, query and fragment`,
		"https://b:7411/?x=1":      `address of a peer "https://b:7411/?x=1": expected https://host:port, without user, query and fragment`,
		"https://b:7411":           `address of a peer "https://b:7411": https:// needs an identity of this node`,
		"https://b.example.org:x1": `address of a peer: parse "https://b.example.org:x1": invalid port ":x1" after host`,
	}
	for address, want := range bad {
		if _, err := NewDialer(address); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, expected %s", address, err, want)
		}
	}
}

// What answers instead of a daemon is named.
func TestDialErrors(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		want   string
	}{
		{"another program", "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n", "ask for a link: the server answers 404 Not Found 404 page not found"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", `ask for a link: the server speaks "websocket", expected "fmqm-link/1"`},
		{"no HTTP", "220 mail.example.org ESMTP\r\n", "ask for a link: the answer is not HTTP/1.1: malformed HTTP"},
		{"silence", "", "ask for a link: the answer is not HTTP/1.1: unexpected EOF"},
	}
	long := strings.Repeat("x", 200<<10)
	for name, answer := range map[string]string{
		"a long status":       "HTTP/1.1 404 " + long + "\r\nContent-Length: 1\r\n\r\nx",
		"a long line":         long + "\r\n\r\n",
		"a long line of head": "HTTP/1.1 404 Not Found\r\n" + long + "\r\n\r\n",
	} {
		tests = append(tests, struct{ name, answer, want string }{name, answer, "ask for a link: the "})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, _ = io.WriteString(c, tt.answer)
			}()
			_, err = newDialer(t, "http://"+l.Addr().String()).Dial(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "dial "+l.Addr().String()+": "+tt.want) {
				t.Fatalf("got %v, expected %q", err, tt.want)
			}
			if n := len(err.Error()); n > 2*frame.MaxReason {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
}

func TestDialNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	if _, err := newDialer(t, "http://"+address).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("got %v", err)
	}
}

// A head without an end is not read to the end of the memory.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	const much = 8 << 20
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make(chan int, 1)
	go func() {
		n := 0
		defer func() { sent <- n }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		line := []byte("X-More: " + strings.Repeat("x", 1<<10) + "\r\n")
		if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"); err != nil {
			return
		}
		for n < much {
			if _, err := c.Write(line); err != nil {
				return
			}
			n += len(line)
		}
	}()
	_, err = newDialer(t, "http://"+l.Addr().String()).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the head of the answer has more than 262144 bytes") {
		t.Errorf("got %v", err)
	}
	if n := <-sent; n >= much {
		t.Errorf("%d bytes of the head were taken", n)
	}
}

// A server that takes the connection and says nothing does not hold a dial for ever.
func TestDialEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := newDialer(t, "http://"+l.Addr().String()).Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestRequestsThatAskForNoLink(t *testing.T) {
	s, conns := listen(t, (*httptest.Server).Start)
	upgrade := http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {Protocol}}
	tests := []struct {
		name   string
		method string
		header http.Header
		body   string
		status int
		want   string
	}{
		{"GET", http.MethodGet, upgrade, "", http.StatusMethodNotAllowed, "use POST to ask for a link"},
		{"no upgrade", http.MethodPost, nil, "", http.StatusUpgradeRequired, "expected `Connection: Upgrade` and `Upgrade: fmqm-link/1`: this address is for other daemons"},
		{"another upgrade", http.MethodPost, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, "", http.StatusUpgradeRequired, "expected `Connection: Upgrade`"},
		{"a body", http.MethodPost, upgrade, "x", http.StatusBadRequest, "a request for a link has no body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+Path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = tt.header
			res, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
				t.Fatalf("got %d %s, expected %d %s", res.StatusCode, text, tt.status, tt.want)
			}
			if len(conns) != 0 {
				t.Fatal("it was taken for a link")
			}
		})
	}
}

func TestHandlerNeedsHTTP1(t *testing.T) {
	s, conns := listen(t, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusUpgradeRequired || len(conns) != 0 {
		t.Fatalf("got %s %s", res.Proto, res.Status)
	}
}

// pipes is a Conn and the bare other end of it.
func pipes(t *testing.T, pingEvery time.Duration) (*Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(a, bufio.NewReader(a), pingEvery)
	t.Cleanup(func() { _, _ = c.Close(), b.Close() })
	return c, b
}

func TestMalformedLengths(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"first frame too large", []byte{0, 0, 0x40, 1}, "receive frame of 16385 bytes: at most 16384"},
		{"later frame too large", []byte{0, 0, 0, 1, 9, 0, 0x40, 0, 1}, "receive frame of 4194305 bytes: at most 4194304"},
		{"absurd", []byte{0xff, 0xff, 0xff, 0xff}, "receive frame of 4294967295 bytes: at most 16384"},
		{"ends within the length", []byte{0, 0}, "receive frame: unexpected EOF"},
		{"ends within the frame", []byte{0, 0, 0, 3, 1}, "receive frame: it ends early: unexpected EOF"},
		{"ends between frames", []byte{0, 0, 0, 0, 0, 0, 0, 1, 5}, "receive frame: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, bare := pipes(t, time.Hour)
			if _, err := bare.Write(tt.data); err != nil {
				t.Fatal(err)
			}
			_ = bare.Close()
			var err error
			for err == nil {
				_, err = c.Recv()
			}
			if err.Error() != tt.want {
				t.Fatalf("got %v, expected %s", err, tt.want)
			}
		})
	}
	c, _ := pipes(t, time.Hour)
	for _, n := range []int{0, frame.MaxFrame + 1} {
		if err := c.Send(make([]byte, n)); err == nil || !strings.Contains(err.Error(), "expected 1 to 4194304") {
			t.Fatalf("sent %d bytes: %v", n, err)
		}
	}
}

// An idle connection is kept by pings, which are no frames.
func TestPings(t *testing.T) {
	c, bare := pipes(t, time.Millisecond)
	var pings [12]byte
	if _, err := io.ReadFull(bare, pings[:]); err != nil || pings != [12]byte{} {
		t.Fatalf("got % x, %v; expected three pings", pings, err)
	}
	before := c.LastHeard()
	if _, err := bare.Write([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Recv()
	if err != nil || !bytes.Equal(got, []byte{5}) {
		t.Fatalf("got % x, %v", got, err)
	}
	if !c.LastHeard().After(before) {
		t.Fatal("the time when it was last heard stands still")
	}
}

// The other side is gone without a word: Recv says so in time.
func TestSilenceEndsTheConnection(t *testing.T) {
	c, _ := pipes(t, time.Hour)
	c.wait = 10 * time.Millisecond
	if _, err := c.Recv(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

// Pings gain no time before the first frame: somebody who says no hello is cut off.
func TestPingsAreNoHello(t *testing.T) {
	c, bare := pipes(t, time.Hour)
	c.wait = 40 * time.Millisecond
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range 80 {
			<-tick.C
			if _, err := bare.Write([]byte{0, 0, 0, 0}); err != nil {
				return
			}
		}
		_, _ = bare.Write([]byte{0, 0, 0, 1, 5})
	}()
	data, err := c.Recv()
	_ = c.Close()
	<-ended
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got % x, %v", data, err)
	}
}

// Close frees a Send that the other side does not take.
func TestCloseFreesASend(t *testing.T) {
	end, bare := net.Pipe() // it holds nothing: what is not read is not sent
	defer bare.Close()
	c := newConn(end, bufio.NewReader(end), time.Hour)
	ended := make(chan error)
	go func() { ended <- c.Send([]byte("a frame")) }()
	if _, err := io.ReadFull(bare, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("got %v", err)
	}
}
