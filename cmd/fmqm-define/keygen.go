package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definer"
	"fmqm/processtable"
)

const (
	keyFlag     = "key"
	networkFlag = "network"
	expiresFlag = "expires"
)

func keygenCommand() *cli.Command {
	return &cli.Command{
		Name:      "keygen",
		Usage:     "make a key to sign uploads with",
		ArgsUsage: "[FILE]",
		Description: `Writes a new private key to FILE, which only you can read, and prints the public key as
nodes need it in ` + "`definers`" + ` in their configurations. Without FILE it makes your own
key, ~/.config/fmqm/definer.key. Upload signs with that key unless --key names another;
the first upload makes it. An existing key is never replaced.`,
		UsageText: `fmqm-define keygen
fmqm-define keygen head-office.key
fmqm-define keygen --public >definers.txt`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "public", Usage: "make no key; print the public key of the existing one"},
		},
		Action: keygen,
	}
}

func keygen(c *cli.Context) error {
	path, err := definer.Path(c.Args().First(), shared.From(c).Env)
	if err != nil {
		return fmt.Errorf("%w: name a file", err)
	}
	var key ed25519.PrivateKey
	if c.Bool("public") {
		key, err = definer.Load(path)
	} else {
		key, err = definer.Create(path, rand.Reader)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return &shared.Error{Exit: shared.ExitRefused, Text: err.Error()}
	case errors.Is(err, fs.ErrNotExist):
		return &shared.Error{Exit: shared.ExitNotFound, Text: err.Error()}
	case err != nil:
		return err
	}
	fmt.Fprintln(shared.From(c).Out, processtable.DefinerText(key.Public().(ed25519.PublicKey)))
	if !c.Bool("public") {
		shared.Talk(c, "the private key is in %s: keep it secret, and keep a copy in a safe place", path)
	}
	return nil
}

// signing is how tables are signed.
type signing struct {
	key   ed25519.PrivateKey // nil: they are not
	terms processtable.Terms // of no network: where and when does not matter
}

func (s signing) sign(encoded []byte) ([]byte, error) {
	switch {
	case s.key == nil:
		return encoded, nil
	case s.terms.Network == "":
		return processtable.Sign(encoded, s.key)
	}
	return processtable.SignFor(encoded, s.key, s.terms)
}

// String says in words how tables are signed.
func (s signing) String() string {
	by := "signed by " + processtable.DefinerID(s.key.Public().(ed25519.PublicKey))
	if s.terms.Network == "" {
		return by + ", for no network in particular"
	}
	return fmt.Sprintf("%s for network %s, valid for uploads until %s", by, s.terms.Network, s.terms.NotAfter.UTC().Format(time.RFC3339))
}

// Bounds of --expires.
const (
	defaultExpires = 24 * time.Hour
	maxExpires     = 366 * 24 * time.Hour
)

func signingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: keyFlag, Usage: "sign with the private key in `FILE`, or credential:NAME"},
		&cli.StringFlag{Name: networkFlag, Usage: "sign for the network of sites called `NAME`, and for no other (default: FMQM_NETWORK, otherwise for any)"},
		&cli.DurationFlag{Name: expiresFlag, Value: defaultExpires, Usage: "with a network: sign for uploads within `DURATION` (default: 24h)"},
		&cli.BoolFlag{Name: "unsigned", Usage: "do not sign, for nodes too old to read signed tables"},
	}
}

// newSigning gives how an upload is signed.
func newSigning(c *cli.Context) (s signing, err error) {
	if c.Bool("unsigned") {
		for _, flag := range []string{keyFlag, networkFlag, expiresFlag} {
			if c.IsSet(flag) {
				return s, shared.Usagef("--unsigned and --%s exclude each other: write one of them", flag)
			}
		}
		return s, nil
	}
	if s.terms, err = signingTerms(c); err != nil {
		return s, err
	}
	s.key, err = signer(c)
	return s, err
}

func signingTerms(c *cli.Context) (t processtable.Terms, err error) {
	from := "--" + networkFlag
	if t.Network = c.String(networkFlag); !c.IsSet(networkFlag) {
		t.Network, from = shared.From(c).Env("FMQM_NETWORK"), "FMQM_NETWORK"
	}
	valid := c.Duration(expiresFlag)
	switch {
	case t.Network == "" && c.IsSet(networkFlag):
		return t, shared.Usagef("--%s has no name: write the name that the sites have as `network`, or leave it out", networkFlag)
	case t.Network == "" && c.IsSet(expiresFlag):
		return t, shared.Usagef("--%s needs a signature for a network: add --%s NAME", expiresFlag, networkFlag)
	case t.Network == "":
		return t, nil
	case !processtable.ValidNetwork(t.Network):
		return t, shared.Usagef("%s %q cannot name a network: write the name that the sites have as `network`", from, t.Network)
	case valid < time.Second || valid > maxExpires:
		return t, shared.Usagef("--%s %v: write from 1s to %dh, such as 24h", expiresFlag, valid, int(maxExpires.Hours()))
	}
	t.NotAfter = time.Now().Add(valid).Truncate(time.Second)
	return t, nil
}

// signer gives the key that an upload is signed with; nil: none.
func signer(c *cli.Context) (ed25519.PrivateKey, error) {
	named := c.String(keyFlag)
	if named == "" {
		return ownKey(c)
	}
	path, err := definer.Path(named, shared.From(c).Env)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", keyFlag, err)
	}
	key, err := definer.Load(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", keyFlag, err)
	}
	return key, nil
}

// ownKey gives the user's own key, and makes it if it is not there, so that the first
// upload needs no other command. Who has no place for one uploads unsigned.
func ownKey(c *cli.Context) (ed25519.PrivateKey, error) {
	path, err := definer.Path("", shared.From(c).Env)
	if err != nil {
		unsigned(c, err)
		return nil, nil
	}
	key, err := definer.Load(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return key, err
	}
	key, err = definer.Create(path, rand.Reader)
	switch {
	case errors.Is(err, fs.ErrExist): // another upload was first
		return definer.Load(path)
	case err != nil:
		unsigned(c, err)
		return nil, nil
	}
	shared.Talk(c, "made the key %s to sign uploads: nodes that have `definers` need \"%s\" there",
		path, processtable.DefinerText(key.Public().(ed25519.PublicKey)))
	return key, nil
}

func unsigned(c *cli.Context, err error) {
	shared.Talk(c, "not signed: there is no key, and none can be made (%v): nodes that have `definers` will refuse the upload; name a key with --%s", err, keyFlag)
}
