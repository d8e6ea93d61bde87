package config

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// RemoteOperator is whose requests this node takes over its links: a site, and operators
// there.
type RemoteOperator struct {
	Site string // a name, in which * stands for any characters
	// Operators are names of certificates, or user:NAME of users of that site's machine, who ask
	// over its socket, in which * stands for any characters; nil: whoever asks there.
	Operators []string
}

const wantRemote = "{site: NAME, operators: [NAME, ...]}"

// operatorPattern is the name of who asks, in which * stands for any characters.
var operatorPattern = regexp.MustCompile(`^((user|person):)?[A-Za-z0-9._@$+*-]{1,64}$`)

// remoteOperators reads whose requests are taken from other sites.
func (r *reader) remoteOperators(n *yaml.Node, c *Config) {
	c.RemoteOperators = []RemoteOperator{}
	for _, item := range r.items(n, "remote_operators", wantRemote) {
		var o RemoteOperator
		var site *yaml.Node
		before := len(r.problems)
		r.mapping(item, "an entry of remote_operators", map[string]func(k, v *yaml.Node){
			"site": func(_, v *yaml.Node) {
				site = v
				o.Site, _ = r.scalar(v, "the name of a site, in which * stands for any characters")
			},
			"operators": func(_, v *yaml.Node) { r.remoteNames(v, &o) },
		})
		if len(r.problems) > before {
			continue
		}
		if site == nil {
			r.add(item, "this entry of remote_operators has no site", "write "+wantRemote+`; site: "*" is every site`)
			continue
		}
		if plain := strings.ReplaceAll(o.Site, "*", "x"); !processtable.ValidNode(plain) {
			r.add(site, fmt.Sprintf("%q cannot name a site", o.Site), "use letters, digits, _ and -, and * for any characters, as in branch-*")
			continue
		}
		r.remotes = append(r.remotes, site)
		c.RemoteOperators = append(c.RemoteOperators, o)
	}
}

func (r *reader) remoteNames(n *yaml.Node, o *RemoteOperator) {
	o.Operators = []string{}
	before := len(r.problems)
	r.list(n, "operators", "the NAME of an operator's certificate, or user:NAME, in which * stands for any characters", func(item *yaml.Node, s string) {
		if !operatorPattern.MatchString(s) {
			r.add(item, fmt.Sprintf("%q cannot name an operator", s), "use letters, digits, and . _ @ -, and * for any characters; user:NAME is a user of the other site's machine, who asks over its socket, and person:NAME one of its staff")
			return
		}
		o.Operators = append(o.Operators, s)
	})
	if len(o.Operators) == 0 && len(r.problems) == before {
		r.add(n, "operators is empty, so this entry accepts nobody", "name some, or leave operators out: then everybody who asks at that site is accepted")
	}
}

// checkRemotes says where a site of remote_operators is this node itself.
func (r *reader) checkRemotes(c *Config) {
	for i, site := range r.remotes {
		if c.RemoteOperators[i].Site == string(c.Node) && c.Node != "" {
			r.add(site, string(c.Node)+" is this node itself", "remove it: remote_operators is for those who ask at other sites; who may ask here is in `operators`")
		}
	}
}
