package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/definer"
	"fmqm/identity"
	"fmqm/processtable"
)

// demoBroker is the RabbitMQ that carries the demo's messages; a zero one is none, and
// the sites talk directly.
type demoBroker struct {
	url          string
	host         string // of url, for people
	password, ca string // files, as in links.amqp
	guest        bool   // nobody said who calls: the broker's own guest
}

func demoBrokerFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "broker", Usage: "send the messages through the RabbitMQ at `URL`, in a virtual host for the demo alone"},
		&ucli.StringFlag{Name: "broker-password", Usage: "`FILE` with the password of the user in URL (not needed for guest at a broker on this machine)"},
		&ucli.StringFlag{Name: "broker-ca", Usage: "`FILE` of the authority that signed the broker's certificate (default: the system's)"},
	}
}

// demoBrokerOf reads the flags. What is wrong with the address itself is found, as for
// every node, when its configuration is read.
func demoBrokerOf(c *ucli.Context) (demoBroker, error) {
	b := demoBroker{url: c.String("broker")}
	for name, file := range map[string]*string{"broker-password": &b.password, "broker-ca": &b.ca} {
		given := c.String(name)
		switch {
		case given == "":
			continue
		case b.url == "":
			return b, cli.Usagef("--%s needs --broker: write where the broker is", name)
		}
		path, err := filepath.Abs(given)
		if err != nil {
			return b, fmt.Errorf("--%s: %w", name, err)
		}
		*file = path
	}
	u, err := url.Parse(b.url)
	if err != nil || b.url != "" && u.Host == "" {
		return b, cli.Usagef("--broker: this is not an address: write amqp://USER@HOST/VHOST")
	}
	if _, has := u.User.Password(); has {
		return b, cli.Usagef("--broker: the address has a password, and everybody on this machine can read a command line: write the password into a file and name it with --broker-password FILE")
	}
	b.host, b.guest = u.Host, u.Scheme == "amqp" && u.User.Username() == "" && b.password == ""
	if b.guest {
		u.User = url.User("guest")
		b.url = u.String()
	}
	return b, nil
}

// guestPassword writes the password that every new broker has for its user guest, whom
// it lets in from its own machine only.
func (b *demoBroker) guestPassword(dir string) error {
	if !b.guest {
		return nil
	}
	b.password = filepath.Join(dir, "broker-password")
	return os.WriteFile(b.password, []byte("guest\n"), 0o600)
}

// yaml is links.amqp of a site's configuration.
func (b demoBroker) yaml() string {
	var s strings.Builder
	fmt.Fprintf(&s, "  amqp:\n    url: %q\n", b.url)
	if b.password != "" {
		fmt.Fprintf(&s, "    password: %q\n", b.password)
	}
	if b.ca != "" {
		fmt.Fprintf(&s, "    ca: %q\n", b.ca)
	}
	return s.String()
}

// demoIdentities makes what sites need that meet where others may write: an authority
// with a certificate for each, and a definer's key, whose public half they trust. It
// gives what goes into each site's configuration, and the key.
func demoIdentities(dir string) (map[string]string, ed25519.PrivateKey, error) {
	pki, now := filepath.Join(dir, "pki"), time.Now()
	if _, err := identity.Init(identity.InitOptions{Dir: pki, Name: "fmqm demo", Now: now, Force: true}); err != nil {
		return nil, nil, fmt.Errorf("make the sites' authority: %w", err)
	}
	key, err := demoDefiner(filepath.Join(dir, "definer.key"))
	if err != nil {
		return nil, nil, err
	}
	trusted := processtable.DefinerText(key.Public().(ed25519.PublicKey))
	sections := map[string]string{}
	for _, site := range demoSites {
		made, err := identity.Issue(identity.IssueOptions{
			Dir: pki, Name: identity.Name{Role: identity.RoleNode, Name: site}, Now: now, Force: true,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("make the certificate of site %s: %w", site, err)
		}
		sections[site] = fmt.Sprintf("identity: {certificate: %q, key: %q, ca: %q}\ndefiners: [%q]\n", made.Certificate, made.Key, made.CA, trusted)
	}
	return sections, key, nil
}

// demoDefiner gives the key of an earlier demo that was kept, or a new one.
func demoDefiner(path string) (ed25519.PrivateKey, error) {
	key, err := definer.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return definer.Create(path, rand.Reader)
	}
	return key, err
}
