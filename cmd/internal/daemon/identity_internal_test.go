package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWhatIsSaidOfACertificateThatEnds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for days, want := range map[int]string{
		-1:  "the certificate of this node expired on 2026-11-20: no site and no operator believes it: renew it with `fmqmd pki issue --force`, and reload",
		0:   "the certificate of this node expired on 2026-11-21",
		5:   "the certificate of this node, or its authority's, expires on 2026-11-26, in 5 days: renew it",
		30:  "expires on 2026-12-21, in 30 days",
		31:  "",
		700: "",
	} {
		if got := nearExpiry(now.AddDate(0, 0, days), now); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("in %d days: %q, want %q", days, got, want)
		}
	}
}

// What is the same of the same is said once, and what is remembered is bounded.
func TestSaidOnce(t *testing.T) {
	said := newTold()
	for i, tc := range []struct {
		who, what string
		news      bool
	}{{"B", "x", true}, {"B", "x", false}, {"C", "x", true}, {"B", "y", true}, {"B", "x", true}, {"C", "x", false}} {
		if said.news(tc.who, tc.what) != tc.news {
			t.Errorf("%d: %+v", i, tc)
		}
	}
	for i := range 10 * maxTold {
		said.news(fmt.Sprint(i), "x")
	}
	if len(said.last) > maxTold {
		t.Errorf("%d are remembered", len(said.last))
	}
}

// A listener that is closed does not wait for connections that never said what they
// are, and lets them go.
func TestCloseEndsConnectionsThatSaidNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := split(l, &tls.Config{})
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	plain, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := io.WriteString(plain, "GET"); err != nil {
		t.Fatal(err)
	}
	c, err := s.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make([]byte, 3)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "GET" {
		t.Errorf("read %q, %v: the first byte belongs to it", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := silent.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Read(got); err == nil || isTimeout(err) {
		t.Errorf("the silent connection is still there: %v", err)
	}
	if _, err := s.Accept(); err == nil {
		t.Error("accepts after its end")
	}
	if _, err := s.Accept(); err == nil {
		t.Error("accepts after its end")
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	ok := errors.As(err, &timeout)
	return ok && timeout.Timeout()
}
