package attack

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"fmqm/api"
	"fmqm/internal/rabbittest"
	"fmqm/link/seal"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// password is a file with that of the user at the broker who may do everything there.
func password(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(rabbittest.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// account is somebody with a user of the broker who may do everything in the sites'
// virtual host: he gets a copy of every message (as `rabbitmqctl trace_on` gives it), and
// publishes, purges and deletes as he likes.
type account struct {
	t      *testing.T
	broker *rabbittest.Broker
	vhost  string
	out    *amqp091.Channel

	mu      sync.Mutex
	letters []letter
}

// letter is a message as it was published.
type letter struct {
	queue string
	body  []byte
}

func newAccount(t *testing.T) *account {
	t.Helper()
	b := rabbittest.Shared(t)
	a := &account{t: t, broker: b, vhost: rabbittest.VHost(t, b)}
	if out, err := b.Ctl("trace_on", "-p", a.vhost); err != nil {
		t.Fatal(err, out)
	}
	c, err := amqp091.Dial(strings.Replace(rabbittest.URL(b.Addr(), a.vhost), "amqp://", "amqp://"+rabbittest.User+":"+rabbittest.Password+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if a.out, err = c.Channel(); err != nil {
		t.Fatal(err)
	}
	tap, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, err := tap.QueueDeclare("", false, true, true, false, nil)
	if err == nil {
		err = tap.QueueBind(q.Name, "publish.#", "amq.rabbitmq.trace", false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	copies, err := tap.Consume(q.Name, "", true, true, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	go a.read(copies)
	return a
}

// read keeps what is published, until the connection ends.
func (a *account) read(copies <-chan amqp091.Delivery) {
	for d := range copies {
		keys, _ := d.Headers["routing_keys"].([]any)
		if len(keys) != 1 {
			continue
		}
		a.mu.Lock()
		a.letters = append(a.letters, letter{fmt.Sprint(keys[0]), d.Body})
		a.mu.Unlock()
	}
}

// seen is all that was published so far, also by the account itself.
func (a *account) seen() []letter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.letters)
}

func (a *account) publish(queue string, body []byte) {
	a.t.Helper()
	if err := a.out.PublishWithContext(context.Background(), "", queue, false, false, amqp091.Publishing{Body: body}); err != nil {
		a.t.Fatal(err)
	}
}

// amqp is links.amqp of the sites.
func (a *account) amqp(t *testing.T) func(string) string {
	t.Helper()
	url := strings.Replace(rabbittest.URL(a.broker.Addr(), a.vhost), "amqp://", "amqp://"+rabbittest.User+"@", 1)
	file := password(t)
	return func(string) string { return fmt.Sprintf("{url: %q, password: %s}", url, file) }
}

// ran starts an instance of `between` with a text, waits for its end, and checks that each
// activity ended once, with that text.
func (w *world) ran(text string, meanwhile func()) {
	w.t.Helper()
	input, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		w.t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := w.Sites["A"].Client.Start(w.ctx, api.StartRequest{Instance: id, Process: "between", Input: input}); err != nil {
		w.t.Fatal(err)
	}
	meanwhile()
	w.eventually("the instance ends", func() (string, bool) {
		s, err := w.Sites["A"].Client.Status(w.ctx, id)
		return fmt.Sprintf("%+v %v", s, err), err == nil && s.State == api.InstanceFinished && string(s.Output) == string(input)
	})
	w.eventually("its history is whole", func() (string, bool) {
		h, err := w.Sites["A"].Client.History(w.ctx, id)
		ended := map[string]int{}
		for _, e := range h.Events {
			if e.Event == api.EventTerminated {
				ended[e.Activity]++
			}
		}
		return fmt.Sprintf("%+v %v", h, err), err == nil && maps.Equal(ended, map[string]int{"here": 1, "there": 1})
	})
}

// Somebody with a user of the broker reads all that passes, and finds nothing of what the
// sites say to each other. He publishes all of it again, in any order, to both, whole and
// with flipped bits, and deletes their queues: work goes on, and nothing happens twice.
func TestBrokerAccountReadsReplaysAndDeletes(t *testing.T) {
	t.Parallel()
	eve := newAccount(t)
	w := newWorld(t, options{amqp: eve.amqp(t)})
	w.define("A", between)
	const secret = "the patient's diagnosis"
	w.ran(secret, func() {})
	var recorded []letter
	w.eventually("the tap has what was said", func() (string, bool) { // the broker copies behind what it delivers
		recorded = eve.seen()
		return fmt.Sprintf("%d letters", len(recorded)), len(recorded) >= 10
	})
	for _, l := range recorded {
		for _, word := range []string{secret, "diagnosis", "between", "there", "source"} {
			if bytes.Contains(l.body, []byte(word)) {
				t.Fatalf("the broker reads %q in %q, which goes to %s", word, l.body, l.queue)
			}
		}
	}
	w.ran("again", func() {
		for range 3 {
			for _, i := range mathrand.Perm(len(recorded)) {
				flipped := bytes.Clone(recorded[i].body)
				flipped[mathrand.IntN(len(flipped))] ^= 1 << mathrand.IntN(8)
				for _, queue := range []string{"fmqm.A", "fmqm.B"} {
					eve.publish(queue, recorded[i].body)
					eve.publish(queue, flipped)
				}
			}
		}
	})
	w.ran("without queues", func() {
		for _, queue := range []string{"fmqm.A", "fmqm.B"} {
			if err := eve.broker.DeleteQueue(eve.vhost, queue); err != nil {
				t.Error(err)
			}
		}
	})
	w.unmoved()
}

// unmoved checks that the sites are as they were: linked with each other and with nobody
// else but guests, and nothing that came was set aside.
func (w *world) unmoved() {
	w.t.Helper()
	w.Connected(w.ctx)
	for name, site := range w.Sites {
		links, err := site.Client.Links(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(links.Links) != len(w.Sites)-1+w.guests {
			w.t.Errorf("%s has the links %+v", name, links.Links)
		}
		dead, err := site.Client.Refused(w.ctx, api.RefusedRequest{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(dead.Messages) > 0 {
			w.t.Errorf("%s has set aside %+v", name, dead.Messages)
		}
	}
}

// impostor is one end of a session with a site that somebody with an account at the broker
// tries to have in another site's name.
type impostor struct {
	*seal.Session
	eve *account
	to  string
	at  int // how many of the letters it has looked at
}

func (e *account) impostor(as, to string, id seal.Identity) *impostor {
	o := seal.Config{Self: processtable.NodeID(as), Peer: processtable.NodeID(to), Identity: id, Rand: rand.Reader}
	if id != nil { // it takes whatever the site shows, if only it gets in
		o.Verify = func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
			return identityOf(chain, to)
		}
	}
	return &impostor{Session: seal.New(o), eve: e, to: to}
}

// identityOf gives the key of a chain without judging it.
func identityOf(chain [][]byte, as string) (processtable.NodeID, ed25519.PublicKey, error) {
	c, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return "", nil, err
	}
	return processtable.NodeID(as), c.PublicKey.(ed25519.PublicKey), nil
}

// try shakes hands as far as it comes: what the site answers goes to the queue of the one
// whose name is used, where it is read.
func (i *impostor) try() {
	i.eve.t.Helper()
	out, err := i.Open()
	if err != nil {
		i.eve.t.Fatal(err)
	}
	letters := i.eve.seen()
	for _, l := range letters[i.at:] {
		if l.queue != "fmqm."+i.to {
			r, _ := i.Receive(bytes.Clone(l.body)) // of others, too
			out = append(out, r.Reply...)
		}
	}
	i.at = len(letters)
	for _, data := range out {
		i.eve.publish("fmqm."+i.to, data)
	}
}

// He writes to a site in the name of another: without a certificate, with one of an
// authority of his own, and with one of the right authority that is for somebody else. He
// gets no session, and the link that is there is not disturbed. That he comes to the door is
// seen by a guest, who does the same with a certificate of his own, and gets one.
func TestBrokerAccountForges(t *testing.T) {
	t.Parallel()
	eve := newAccount(t)
	w := newWorld(t, options{amqp: eve.amqp(t), guests: []string{"M"}})
	w.define("A", between)
	own := t.TempDir()
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", own)
	attackers := map[string]*impostor{
		"without a certificate":                     eve.impostor("A", "B", nil),
		"with one of an authority of his own":       eve.impostor("A", "B", w.party("A", own).identity),
		"with that of another party":                eve.impostor("A", "B", w.party("X", w.pki).identity),
		"as a site that nobody has, without a name": eve.impostor("X", "B", nil),
	}
	guest := eve.impostor("M", "B", w.party("M", w.pki).identity)
	for range 10 {
		guest.try()
		for name, i := range attackers {
			i.try()
			if i.Ready() {
				if frame, err := i.Seal([]byte{1, 'x'}); err == nil {
					eve.publish("fmqm.B", frame)
				}
				t.Errorf("%s he has a session with B", name)
			}
		}
		w.ran("beside him", func() {})
	}
	w.eventually("the guest has a session", func() (string, bool) {
		guest.try()
		return guest.Waiting(), guest.Ready()
	})
	w.unmoved()
}
