package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/internal/secret"
	"fmqm/processtable"
)

// Definer may upload tables here: signs them with the private half of Key.
type Definer struct {
	Key ed25519.PublicKey
	// Processes and Programs are what they may define, and have run here: names in which *
	// stands for any characters; nil: all.
	Processes, Programs []string
}

const wantDefiner = "ed25519:KEY, the name of a file that has such keys, one per line, or {key: ..., processes: [NAME, ...], programs: [NAME, ...]}"

// definers reads who may upload tables.
func (r *reader) definers(n *yaml.Node, c *Config) {
	c.Definers = []Definer{} // said, if only that there are none
	for _, item := range r.items(n, "definers", wantDefiner) {
		if item.Kind != yaml.MappingNode {
			r.definer(item, c, Definer{})
			continue
		}
		var d Definer
		var key *yaml.Node
		before := len(r.problems)
		r.mapping(item, "a definer", map[string]func(k, v *yaml.Node){
			"key":       func(_, v *yaml.Node) { key = v },
			"processes": func(k, v *yaml.Node) { r.patterns(k, v, &d.Processes) },
			"programs":  func(k, v *yaml.Node) { r.patterns(k, v, &d.Programs) },
		})
		switch {
		case key != nil:
			r.definer(key, c, d)
		case len(r.problems) == before:
			r.add(item, "this definer has no key", "write key: ed25519:KEY, or the name of a file that has such keys")
		}
	}
}

// definer adds the keys that n says, each with the rights of d.
func (r *reader) definer(n *yaml.Node, c *Config, d Definer) {
	s, ok := r.scalar(n, wantDefiner)
	if !ok {
		return
	}
	if strings.HasPrefix(s, definerPrefix) {
		key, err := parseDefiner(s)
		if err != nil {
			r.add(n, err.Error(), "write "+definerPrefix+" and the 32 bytes of the key in base64")
			return
		}
		d.Key = key
		c.Definers = append(c.Definers, d)
		return
	}
	path := ""
	if r.fileName(n, &path); path == "" {
		return
	}
	keys, err := readDefiners(path)
	if err != nil {
		r.add(n, err.Error(), "write a file that has keys such as "+definerPrefix+"BASE64, one per line")
	}
	for _, d.Key = range keys {
		c.Definers = append(c.Definers, d)
	}
}

// network reads which network of sites tables have to be signed for.
func (r *reader) network(n *yaml.Node, c *Config) {
	s, ok := r.scalar(n, "the name of this site's network, such as production")
	if ok && !processtable.ValidNetwork(s) {
		r.add(n, fmt.Sprintf("%q cannot name a network of sites", s), "use letters, digits, _ and -, not a digit or - first, at most 64")
	} else if ok {
		c.Network = s
	}
	r.networkSaid = true
}

// pattern is a name in which * stands for any characters.
var pattern = regexp.MustCompile(`^[A-Za-z0-9_*-]+$`)

func (r *reader) patterns(k, v *yaml.Node, into *[]string) {
	*into = []string{}
	r.list(v, k.Value, "NAME, in which * stands for any characters", func(item *yaml.Node, s string) {
		if !pattern.MatchString(s) {
			r.add(item, fmt.Sprintf("%q cannot be the name of a process or a program", s), "use letters, digits, _ and -, and * for any characters, as in hr-*")
			return
		}
		*into = append(*into, s)
	})
}

func parseDefiner(s string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, definerPrefix))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is not the key of a definer", s)
	}
	return key, nil
}

// readDefiners reads a file of keys, one a line; empty lines and those that begin with
// # are skipped.
func readDefiners(path string) ([]ed25519.PublicKey, error) {
	text, err := secret.ReadFile(path, maxKeys)
	if err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if !strings.HasPrefix(line, definerPrefix) {
			return nil, fmt.Errorf("%s, line %d: this is not the key of a definer", path, number) // the line may be a secret in the wrong file
		}
		key, err := parseDefiner(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, number, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no keys", path)
	}
	return keys, nil
}
