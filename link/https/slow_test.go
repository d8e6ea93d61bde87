package https

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fmqm/link/frame"
)

// slowLine is two ends of a connection that carries `size` bytes each `pause`, one way; nothing
// waits on it. It is for a bubble of synctest.
func slowLine(t *testing.T, size int, pause time.Duration) (from, to *Conn) {
	t.Helper()
	a, in := net.Pipe()
	out, b := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, size)
		for {
			n, err := in.Read(buf)
			<-time.After(pause)
			if _, failed := out.Write(buf[:n]); err != nil || failed != nil {
				_, _ = in.Close(), out.Close()
				return
			}
		}
	}()
	from, to = newConn(a, bufio.NewReader(a), time.Hour), newConn(b, bufio.NewReader(b), time.Hour)
	to.limit, to.wait = frame.MaxFrame, Timeout // it has heard a hello
	t.Cleanup(func() {
		_, _ = from.Close(), to.Close()
		<-ended
	})
	return from, to
}

// A frame has as much time as a slow line needs for it, however long ago the last one came.
func TestAFrameOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := slowLine(t, 2<<10, time.Second)
		sent := bytes.Repeat([]byte("frame "), 512<<10/6)
		failed := make(chan error, 1)
		go func() {
			<-time.After(Timeout - 2*time.Second)
			failed <- from.Send(sent)
		}()
		got, err := to.Recv()
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("got %d bytes of %d: %v", len(got), len(sent), err)
		}
		_ = to.Close()
		if err := <-failed; err != nil {
			t.Error(err)
		}
		if heard := time.Since(to.LastHeard()); heard > Timeout {
			t.Errorf("last heard %s ago", heard)
		}
	})
}

// Who drips is cut off, whether it sends or takes.
func TestWhoDripsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := slowLine(t, 16, time.Second)
		failed := make(chan error, 1)
		go func() { failed <- from.Send(make([]byte, 512<<10)) }()
		began := time.Now()
		got, err := to.Recv()
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 2*Timeout {
			t.Errorf("after %s: %d bytes, %v", time.Since(began), len(got), err)
		}
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 2*Timeout {
			t.Errorf("after %s it was sent: %v", time.Since(began), err)
		}
	})
}

// drip is a peer that answers a request for a link with head, and then with rest again and again, a
// piece each pause.
func drip(c net.Conn, head, rest string, size int, pause time.Duration) (taken int) {
	defer c.Close()
	in := bufio.NewReader(c)
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return 0
		}
	}
	for left := head; ; left = left[min(size, len(left)):] {
		if left == "" {
			left = rest
		}
		if left == "" {
			_, _ = io.Copy(io.Discard, in)
			return taken
		}
		n, err := c.Write([]byte(left[:min(size, len(left))]))
		if taken += n; err != nil {
			return taken
		}
		<-time.After(pause)
	}
}

// A link may take its time to begin; what answers in the place of one is read no longer and no further than
// people are shown of it.
func TestWhatAnswersInThePlaceOfALinkHoldsUpNobody(t *testing.T) {
	const link, other = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n"
	for _, c := range []struct {
		name, head, rest string
		size             int
		pause            time.Duration
		want             string // of the error
		took             time.Duration
	}{
		{"a link, slowly", link, "", 10, HelloTimeout / 20, "", HelloTimeout},
		{"a head without an end", link[:30], "x", 10, time.Second, "i/o timeout", HelloTimeout},
		{"an answer", other + "Content-Length: 9\r\n\r\nnot today", "", 1000, 0, "refused there: not today", 0},
		{"a body that drips", other + "Content-Length: 1000\r\n\r\nnot today", " ", 1000, time.Second / 10, "refused there: not today", answerTimeout},
		{"a body of pieces that drips", other + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 1000, time.Second / 10, "refused there: xxx", answerTimeout},
		{"a body without an end", other + "\r\n", "much ", 1000, 0, "refused there: much much", 0},
		{"a large body", other + "Content-Length: 9000000\r\n\r\n", "much ", 1000, 0, "refused there: much much", 0},
		{"a body that is announced, and never comes", other + "Content-Length: 1000\r\n\r\n", "", 1000, 0, "refused there:", answerTimeout},
		{"a body late behind a slow head", other + "Content-Length: 9\r\n\r\n", "", 5, HelloTimeout / 10, "refused there:", HelloTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, err := NewDialer("http://b")
				if err != nil {
					t.Fatal(err)
				}
				here, there := net.Pipe()
				taken := make(chan int, 1)
				go func() { taken <- drip(there, c.head, c.rest, c.size, c.pause) }()
				began := time.Now()
				res, _, err := d.request(here, nil)
				if err == nil {
					err = d.upgraded(res)
				}
				if took := time.Since(began); took > c.took {
					t.Errorf("it took %s, want %s at most", took, c.took)
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				_ = here.Close()
				if n := <-taken; n > 64<<10 {
					t.Errorf("%d bytes were read", n)
				}
			})
		})
	}
}
