package daemon

import (
	"context"
	"net"
	"net/http"
	"sync"

	"fmqm/identity"
)

// askers are the connections over which operators ask. Each is closed once its operator
// may not ask any more: with what is asked on it, be it only waiting for an answer.
type askers struct {
	mu    sync.Mutex
	conns map[net.Conn]*asker
}

type asker struct {
	name identity.Name
	end  func() // of watching over the certificate
}

// connKey is under what a request's context has its connection.
type connKey struct{}

// track lets handlers know the connections of a server, beside what its ConnContext says
// of them, and forgets those that end.
func (a *askers) track(s *http.Server) {
	before := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(before(ctx, c), connKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			a.forget(c)
		}
	}
}

// add notes who asks on the connection of a request, and watches over that from then on.
func (a *askers) add(r *http.Request, name identity.Name, id *identity.Identity) {
	c, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[c] != nil {
		return
	}
	if a.conns == nil {
		a.conns = map[net.Conn]*asker{}
	}
	a.conns[c] = &asker{name: name, end: id.Watch(identity.Watched{Chain: r.TLS.PeerCertificates, Role: name.Role}, func(error) { _ = c.Close() })}
}

func (a *askers) forget(c net.Conn) {
	a.mu.Lock()
	k := a.conns[c]
	delete(a.conns, c)
	a.mu.Unlock()
	if k != nil {
		k.end()
	}
}

// keep closes the connections of those who may not ask any more.
func (a *askers) keep(may func(identity.Name) bool) {
	a.mu.Lock()
	var gone []net.Conn
	for c, k := range a.conns {
		if !may(k.name) {
			gone = append(gone, c)
		}
	}
	a.mu.Unlock()
	for _, c := range gone {
		_ = c.Close()
	}
}
