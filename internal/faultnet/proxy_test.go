package faultnet

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func start(t *testing.T) *Proxy {
	t.Helper()
	p, err := Listen(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if open, _ := p.Counts(); open != 0 {
			t.Errorf("%d connections are left", open)
		}
	})
	return p
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// exchange sends data and expects it back; it gives the time that this took.
func exchange(t *testing.T, c net.Conn, data string) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := io.WriteString(c, data); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != data {
		t.Fatalf("got %q, %v; expected %q", got, err, data)
	}
	return time.Since(began)
}

// silence expects that nothing comes for a moment.
func silence(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var one [1]byte
	if n, err := c.Read(one[:]); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %d bytes, %v; expected silence", n, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
}

func TestForwards(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	exchange(t, c, "hello")
	large := make([]byte, 5<<20)
	go func() {
		_, _ = c.Write(large)
		_ = c.CloseWrite()
	}()
	if n, err := io.Copy(io.Discard, c); n != int64(len(large)) || err != nil {
		t.Fatalf("%d bytes came back, then %v; expected %d and the end", n, err, len(large))
	}
}

func TestDelayAndRate(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Set(Faults{Delay: 50 * time.Millisecond})
	if took := exchange(t, c, "hello"); took < 100*time.Millisecond {
		t.Fatalf("both ways took %s", took)
	}
	p.Set(Faults{Rate: 1000})
	if took := exchange(t, c, string(make([]byte, 100))); took < 200*time.Millisecond {
		t.Fatalf("100 bytes, there and back at 1000 a second, took %s", took)
	}
}

func TestSilence(t *testing.T) {
	p := start(t)
	for _, d := range []Direction{ToServer, ToClient, Both} {
		c := dial(t, p)
		exchange(t, c, "before")
		p.Set(Faults{Silent: d})
		if _, err := io.WriteString(c, "within"); err != nil {
			t.Fatal(err)
		}
		silence(t, c)
		p.Set(Faults{})
		got := make([]byte, 6)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "within" {
			t.Fatalf("after the silence: %q, %v", got, err)
		}
	}
}

func TestCuts(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	exchange(t, c, "hello")
	p.Cut()
	var one [1]byte
	if _, err := c.Read(one[:]); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("after a cut: %v", err)
	}
	c = dial(t, p)
	exchange(t, c, "hello")
	p.CutAfter(15) // ten there, five back
	_, _ = io.WriteString(c, "0123456789")
	got, err := io.ReadAll(c)
	if len(got) > 5 || !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %q, %v", got, err)
	}
	exchange(t, dial(t, p), "the next is whole")
}

// untilReset expects that a new connection is reset, which may come as early as the dial.
func untilReset(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		var one [1]byte
		_, err = c.Read(one[:])
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %v, expected a reset", err)
	}
}

func TestNewConnections(t *testing.T) {
	p := start(t)
	p.Set(Faults{Refuse: true})
	untilReset(t, p)
	p.Set(Faults{BlackHole: true})
	c := dial(t, p)
	_, _ = io.WriteString(c, "hello")
	silence(t, c)
	p.Set(Faults{})
	exchange(t, dial(t, p), "hello")
	p.Target("127.0.0.1:1") // nobody
	untilReset(t, p)
	if _, total := p.Counts(); total != 4 {
		t.Fatalf("%d connections, expected 4", total)
	}
}

// DropAnswers: the server hears what is asked, and the client nothing.
func TestDropAnswers(t *testing.T) {
	p := start(t)
	p.DropAnswers(1)
	c := dial(t, p)
	if _, err := io.WriteString(c, "lost"); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 8)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	exchange(t, dial(t, p), "heard")
}
