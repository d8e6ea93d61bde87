package attack

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"fmqm/link"
)

// A stranger opens connections and says nothing: beyond the share of one address they are
// closed at once, before those within it, which have their time; and others are served meanwhile. What it asks without a certificate is
// answered once, and the connection closed.
func TestStrangerOpensConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	to := w.Sites["A"].Listen
	dial := func(from string) net.Conn {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
		c, err := d.DialContext(w.ctx, "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	const each, more = 256, 40
	var all []net.Conn
	for range each + more {
		all = append(all, dial("127.0.0.66"))
	}
	closed := make(chan int, len(all))
	for i, c := range all {
		go func() {
			_, _ = c.Read(make([]byte, 1))
			closed <- i
		}()
	}
	for n := range more {
		select {
		case i := <-closed:
			if i < each {
				t.Errorf("connection %d of %d is closed before those that are too many: %d of these are open", i, each, more-n)
			}
		case <-w.ctx.Done():
			t.Fatalf("%d connections of one address are open", len(all)-n)
		}
	}
	if _, err := w.Sites["A"].Client.Nodes(w.ctx); err != nil {
		t.Errorf("the socket: %v", err)
	}
	for _, path := range []string{"/v1/nodes", "/livez", "/metrics"} {
		c := tls.Client(dial("127.0.0.67"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a stranger asks nobody who he is
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "https://"+to+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(c); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		answer, err := http.ReadResponse(in, r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = answer.Body.Close()
		if path == "/livez" != (answer.StatusCode == http.StatusOK) || path != "/livez" && answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, answer.Status)
		}
		if !answer.Close {
			t.Errorf("%s: the connection may be used again", path)
		}
	}
	links, err := w.Sites["A"].Client.Links(w.ctx)
	if err != nil || len(links.Links) != 1 || links.Links[0].State != string(link.StateConnected) {
		t.Errorf("the link: %+v, %v", links.Links, err)
	}
}
