package daemon

import (
	"fmt"
	"time"

	"fmqm/identity"
	"fmqm/internal/text"
	"fmqm/node/config"
)

// sayEvery is how often it is said that a certificate ends soon.
const sayEvery = 24 * time.Hour

// CheckIdentity says what is wrong with the files of a configuration's identity, and what
// an operator has to know of the certificates that it names.
func CheckIdentity(c *config.Config) (warnings []string, err error) {
	id, err := openIdentity(c)
	if err != nil {
		return nil, err
	}
	return certificates(c, id, time.Now()), nil
}

// certificates says what is to be said of those of a configuration; nothing: all are good
// for a while. id may be nil.
func certificates(c *config.Config, id *identity.Identity, now time.Time) []string {
	var all []string
	if id != nil {
		if text := nearExpiry(id.Expires(), id.Due(), now); text != "" {
			all = append(all, text)
		}
		if id.Denied() {
			all = append(all, "the certificate of this node is on its own deny list: sites that have the same list do not believe it: request one for a new key with `fmqmd pki request`")
		}
	}
	if c.AMQP == nil || c.AMQP.Certificate == "" {
		return all
	}
	shown, err := identity.Show(c.AMQP.Certificate)
	if err != nil {
		return all // whoever uses it says so
	}
	if s := shown[0]; identity.Due(s.NotBefore, s.NotAfter, now) {
		all = append(all, fmt.Sprintf("the certificate for the broker, %s, has less than a third of its life left and expires on %s: renew it", c.AMQP.Certificate, s.NotAfter.UTC().Format(time.DateOnly)))
	}
	return all
}

// nearExpiry says what is to be said of the identity at a time; empty: nothing.
func nearExpiry(expires time.Time, due bool, now time.Time) string {
	const remedy = "renew it with `fmqmd pki renew`, and reload"
	left, day := expires.Sub(now), expires.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		return fmt.Sprintf("the certificate of this node expired on %s: sites and operators do not believe it any more: %s", day, remedy)
	case !due:
		return ""
	}
	return fmt.Sprintf("the certificate of this node, or its authority's, has less than a third of its life left: it expires on %s, in %s: %s", day, text.Counted(int(left/(24*time.Hour)), "day", "days"), remedy)
}

// watchExpiry says once a day which certificates end soon, until the daemon does.
func (d *Daemon) watchExpiry() {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	for {
		for _, text := range certificates(d.config.Load(), d.identity, time.Now()) {
			d.log.Warn().Msg(text)
		}
		select {
		case <-tick.C:
		case <-d.accept.Done():
			return
		}
	}
}
