package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"sync"
	"time"
)

// Watched is somebody who was believed, and goes on to be spoken with.
type Watched struct {
	Chain   []*x509.Certificate // that was shown, the own first
	Role    Role
	Answers bool // it is the end that was called, and not the one that called
}

// lookAgain is the longest that somebody is believed without another look: a clock that
// was set, and a machine that slept, are noticed then.
const lookAgain = 10 * time.Minute

// Watch judges somebody now, again with each Reload, and when a certificate ends, until
// end is called. Once it is no longer accepted broken is called with the reason, once,
// in a goroutine of its own, and it is not watched any more; end may be called all the
// same.
func (i *Identity) Watch(w Watched, broken func(error)) (end func()) {
	v := &watch{i: i, who: w, broken: broken}
	i.watches.add(v)
	v.look()
	return v.end
}

// WatchChain is Watch of a node that has shown this chain, in DER.
func (i *Identity) WatchChain(chain [][]byte, broken func(error)) (end func()) {
	certificates, err := parseChain(chain)
	if err != nil {
		go broken(err)
		return func() {}
	}
	return i.Watch(Watched{Chain: certificates, Role: RoleNode}, broken)
}

// watches are those who are watched by an Identity.
type watches struct {
	mu  sync.Mutex
	all map[*watch]bool
}

type watch struct {
	i      *Identity
	who    Watched
	broken func(error)

	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

func (w *watches) add(v *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*watch]bool{}
	}
	w.all[v] = true
}

func (w *watches) remove(v *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, v)
}

// again has a look at everybody.
func (w *watches) again() {
	w.mu.Lock()
	all := make([]*watch, 0, len(w.all))
	for v := range w.all {
		all = append(all, v)
	}
	w.mu.Unlock()
	for _, v := range all {
		v.look()
	}
}

// look judges who is watched, and sees to the next look.
func (v *watch) look() {
	usage := x509.ExtKeyUsageClientAuth
	if v.who.Answers {
		usage = x509.ExtKeyUsageServerAuth
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	b, err := v.i.verifyAs(v.who.Role, v.who.Chain, usage)
	if err != nil {
		v.stop()
		go v.broken(err)
		return
	}
	if v.timer != nil {
		v.timer.Stop()
	}
	// A certificate is still good at its last instant.
	v.timer = time.AfterFunc(min(b.until.Sub(v.i.now())+time.Millisecond, lookAgain), v.look)
}

func (v *watch) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stop()
}

// stop is called with the lock.
func (v *watch) stop() {
	v.over = true
	if v.timer != nil {
		v.timer.Stop()
	}
	v.i.watches.remove(v)
}

// servers are keys of servers that are no sites, such as the broker.
type servers struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool
}

// maxServers bounds how many are remembered: a broker has one key, and gets another one
// now and then.
const maxServers = 64

// NoSite notes the certificate of a server that answers this node and is no site. A node's
// certificate for the same key is not believed from now on: whoever has the machine of a
// broker could use it. It says for which site it is, and whether that is news.
func (i *Identity) NoSite(c *x509.Certificate) (name Name, news bool) {
	name, err := NameOf(c)
	if err != nil || name.Role != RoleNode {
		return Name{}, false
	}
	s, key := &i.servers, sha256.Sum256(c.RawSubjectPublicKeyInfo)
	s.mu.Lock()
	news = !s.keys[key] && len(s.keys) < maxServers
	if news {
		if s.keys == nil {
			s.keys = map[[sha256.Size]byte]bool{}
		}
		s.keys[key] = true
	}
	s.mu.Unlock()
	if news {
		i.watches.again()
	}
	return name, news
}

// Denies says whether a certificate is on the deny list, whatever it is for.
func (i *Identity) Denies(c *x509.Certificate) bool { return i.current.Load().denied.certificate(c) }

func (s *servers) has(c *x509.Certificate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[sha256.Sum256(c.RawSubjectPublicKeyInfo)]
}
