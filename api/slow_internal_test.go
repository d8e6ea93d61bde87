package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Who announces a body and does not send it is told so, and holds nothing for ever; the
// time that a request then takes is not bounded by that.
func TestSlowBodies(t *testing.T) {
	const short = 50 * time.Millisecond
	old := bodyTimeout
	bodyTimeout = short
	t.Cleanup(func() { bodyTimeout = old })
	more := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := readBody(w, r, 1<<10, &struct {
			A int `json:"A"`
		}{})
		if err == nil {
			<-more // longer than the body had
			if r.Context().Err() != nil {
				err = r.Context().Err()
			}
		}
		_, _ = fmt.Fprintln(w, err)
	}))
	t.Cleanup(s.Close)
	ask := func(body string, length int) string {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, body); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		answer, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	if got := ask(`{"A`, 100); !strings.Contains(got, "the request broke off: ") || !strings.Contains(got, "timeout") {
		t.Errorf("a body that does not come: %s", got)
	}
	time.AfterFunc(2*short, func() { close(more) }) // after the deadline of the body
	if got := ask(`{"A": 1}`, 8); got != "<nil>\n" {
		t.Errorf("a request that takes longer than its body: %s", got)
	}
}
