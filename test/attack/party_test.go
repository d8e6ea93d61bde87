package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/identity"
	"fmqm/internal/rabbittest"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/amqp"
	"fmqm/link/https"
	"fmqm/link/linktest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/test/fleet"
)

// party is an attacker with a certificate and without a daemon.
type party struct {
	w        *world
	name     processtable.NodeID
	identity *identity.Identity
	lines    map[string]*line // by site
}

// line is a link of a party, and the store that stands behind it: what is put there goes
// to the site as it is, and what the site sends lies there.
type line struct {
	*link.Link
	store *linktest.Store
	log   *linktest.Log
	party *party
	site  string

	mu     sync.Mutex
	answer func(kind string) (any, error) // to the site's questions; nil: an error
}

// party gives an attacker a certificate of the authority in pki: w.pki is the sites' own.
func (w *world) party(name, pki string) *party {
	w.t.Helper()
	fleet.Must(w.t, "fmqmd", "pki", "issue", name, "--dir", pki)
	both := filepath.Join(w.t.TempDir(), "ca.crt") // it believes itself, and the sites
	var authorities []byte
	for _, dir := range []string{w.pki, pki} {
		text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			w.t.Fatal(err)
		}
		authorities = append(authorities, text...)
	}
	if err := os.WriteFile(both, authorities, 0o600); err != nil {
		w.t.Fatal(err)
	}
	id, err := identity.Load(identity.Options{Files: identity.Files{
		Certificate: filepath.Join(pki, "node-"+name+".crt"), Key: filepath.Join(pki, "node-"+name+".key"), CA: both,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &party{w: w, name: processtable.NodeID(name), identity: id, lines: map[string]*line{}}
}

// call opens a direct link to a site. It may be refused: see line.until.
func (p *party) call(site string) *line {
	p.w.t.Helper()
	address := "https://" + p.w.Sites[site].Listen
	dialer, err := https.NewPeerDialer(https.Peer{Address: address, Name: processtable.NodeID(site), Identity: p.identity})
	if err != nil {
		p.w.t.Fatal(err)
	}
	return p.open(site, link.Route{Name: link.RouteDirect, Dialer: dialer, Address: address})
}

// broker gives the party an access to a virtual host of a broker, from which it opens
// links by overBroker.
func (p *party) broker(b *rabbittest.Broker, vhost string) *amqp.Broker {
	p.w.t.Helper()
	access, err := amqp.New(amqp.Options{
		Self: p.name, URL: rabbittest.URL(b.Addr(), vhost), User: rabbittest.User, PasswordFile: password(p.w.t),
		Identity: p.identity, Verify: p.identity.Verify, Log: zerolog.Nop(),
	})
	if err != nil {
		p.w.t.Fatal(err)
	}
	access.Start()
	p.w.t.Cleanup(func() { stop(p.w.t, access) })
	return access
}

// overBroker opens a link to a site over a broker.
func (p *party) overBroker(access *amqp.Broker, site string) *line {
	p.w.t.Helper()
	return p.open(site, link.Route{Name: link.RouteAMQP, Dialer: access.Dialer(processtable.NodeID(site)), Address: access.Address()})
}

func (p *party) open(site string, route link.Route) *line {
	l := &line{store: linktest.NewStore(task.Goroutines{}), log: &linktest.Log{}, party: p, site: site}
	l.Link = link.New(link.Options{
		Self: p.name, Peer: processtable.NodeID(site), Incarnation: record.Incarnation{p.name[0], site[0]}, Session: uint64(p.name[0]),
		Outbox: l.store, Inbox: l.store, Peers: l.store, Logger: zerolog.New(l.log),
		Routes: []link.Route{route}, Responder: l.respond,
	})
	l.Start()
	p.w.t.Cleanup(func() { stop(p.w.t, l) })
	p.lines[site] = l
	return l
}

// answers has the party answer the site's questions from now on.
func (l *line) answers(answer func(kind string) (any, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

func (l *line) respond(_ context.Context, _ processtable.NodeID, kind string, _ []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answer == nil {
		return nil, errors.New("it answers nothing")
	}
	answer, err := l.answer(kind)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// answersWord has the party answer the next operator's word that the site brings it (N15): it
// refuses, and says why.
func (l *line) answersWord(why string) {
	had := len(l.store.Have(message.LaneControl))
	go func() {
		for n := had; ; n++ {
			payload, err := l.store.Comes(l.party.w.ctx, message.LaneControl, n)
			if err != nil {
				return
			}
			m, err := message.Decode([]byte(payload[1:]))
			if err != nil || m.Kind != message.KindWord {
				continue
			}
			word, err := message.DecodeWord(m.Body)
			if err != nil {
				continue
			}
			answer, err := message.Encode(m.Reply(processtable.NodeID(l.site), message.Answer{Word: word.ID, Result: message.WordRefused, Text: why, Time: time.Now()}))
			if err == nil {
				l.put(message.LaneControl, append([]byte{0}, answer...))
			}
			return
		}
	}()
}

// put sends messages, byte by byte as they are.
func (l *line) put(lane message.Lane, payloads ...[]byte) {
	for _, p := range payloads {
		l.store.Put(lane, string(p))
	}
}

// taken waits until the site has accepted all that was put: it has judged each of them.
func (l *line) taken(lane message.Lane) {
	l.party.w.t.Helper()
	l.store.UntilTrimmed(l.party.w.t, lane)
}

// until waits until the link is in a state.
func (l *line) until(state link.State) {
	l.party.w.t.Helper()
	l.party.w.eventually(fmt.Sprintf("%s's link to %s is %s", l.party.name, l.site, state), func() (string, bool) {
		s := l.Status()
		return fmt.Sprintf("%s %s", s.State, s.Reason), s.State == state
	})
}

// refused waits until the link is not connected for a reason that has this text.
func (l *line) refused(text string) {
	l.party.w.t.Helper()
	l.party.w.eventually(fmt.Sprintf("%s's link to %s is refused: %s", l.party.name, l.site, text), func() (string, bool) {
		s := l.Status()
		return fmt.Sprintf("%s %s", s.State, s.Reason), s.State != link.StateConnected && strings.Contains(s.Reason, text)
	})
}

// stopper is what a party has.
type stopper interface {
	Stop(ctx context.Context) error
}

// stop ends what a party has.
func stop(t *testing.T, what stopper) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	if err := what.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// eventually asks until it holds, and fails with what it was last told.
func (w *world) eventually(what string, ask func() (found string, holds bool)) {
	w.t.Helper()
	found := ""
	err := fleet.Until(w.ctx, func() (holds bool, _ error) {
		found, holds = ask()
		return holds, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v\nfound: %s", what, err, found)
	}
}
