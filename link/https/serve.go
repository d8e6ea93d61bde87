package https

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"fmqm/identity"
	"fmqm/link"
	"fmqm/processtable"
)

// Server takes what peers dial.
type Server struct {
	// Accept is called in the goroutine of the request, with the caller's address; it owns
	// the connection.
	Accept func(conn link.Conn, remote string)
	// Identity, if there is one, says who calls over TLS; a caller that proves to be
	// nobody's node is refused.
	Identity *identity.Identity
	// Refused, if not nil, is told of those.
	Refused func(remote string, err error)
}

// Handler takes what peers dial in plain text: mount it at Path.
func Handler(accept func(conn link.Conn, remote string)) http.Handler {
	return &Server{Accept: accept}
}

// ServeHTTP answers a request for a link: mount it at Path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := wanted(w, r); err != nil {
		return
	}
	peer, err := s.caller(r)
	if err != nil {
		status := http.StatusForbidden
		if errors.Is(err, identity.ErrNoCertificate) {
			status = http.StatusUnauthorized
		}
		w.Header().Set("Connection", "close")
		http.Error(w, err.Error(), status)
		if s.Refused != nil {
			s.Refused(r.RemoteAddr, err)
		}
		return
	}
	if r.Header.Get(probeHeader) != "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be upgraded: use HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	conn, err := accepted(c, rw)
	if err != nil {
		_ = c.Close()
		return
	}
	conn.peer = peer
	if peer != "" {
		conn.believe(s.Identity, identity.Watched{Chain: r.TLS.PeerCertificates, Role: identity.RoleNode})
	}
	s.Accept(conn, r.RemoteAddr)
}

// caller says which node calls; none in plain text.
func (s *Server) caller(r *http.Request) (processtable.NodeID, error) {
	if r.TLS == nil || s.Identity == nil {
		return "", nil
	}
	name, err := s.Identity.Caller(r.TLS, identity.RoleNode)
	return processtable.NodeID(name.Name), err
}

var errNotALink = errors.New("not a request for a link")

func wanted(w http.ResponseWriter, r *http.Request) error {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST to ask for a link", http.StatusMethodNotAllowed)
	case !hasToken(r.Header.Values("Connection"), "upgrade") || r.Header.Get("Upgrade") != Protocol:
		w.Header().Set("Upgrade", Protocol)
		w.Header().Set("Connection", "Upgrade")
		http.Error(w, "expected `Connection: Upgrade` and `Upgrade: "+Protocol+"`: this address is for other daemons", http.StatusUpgradeRequired)
	case r.ContentLength != 0:
		http.Error(w, "a request for a link has no body", http.StatusBadRequest)
	default:
		return nil
	}
	return errNotALink
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

func accepted(c net.Conn, rw *bufio.ReadWriter) (*Conn, error) {
	if err := c.SetDeadline(time.Now().Add(HelloTimeout)); err != nil {
		return nil, err
	}
	_, err := rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n")
	if err == nil {
		err = rw.Flush()
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, err
	}
	return newConn(c, rw.Reader, PingEvery), nil
}
