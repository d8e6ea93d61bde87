package https

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
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
