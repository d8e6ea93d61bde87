package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/processtable"
)

// setting is the value of one of the keys that can also come from a flag or the
// environment, with where it comes from.
type setting struct {
	value string
	node  *yaml.Node // in the file; nil if from elsewhere
	where string     // "--listen" or "FMQM_LISTEN", if not from the file
	wrong bool       // there is no value; reported already
}

// settings by their key in the file.
type settings map[string]setting

// override lays what the environment and the flags say over what the file says.
func (s settings) override(env func(string) string, f Overrides) {
	for _, o := range []struct{ key, variable, flag string }{
		{"node", "FMQM_NODE", f.Node},
		{"data", "FMQM_DATA", f.Data},
		{"listen", "FMQM_LISTEN", f.Listen},
		{"socket", "FMQM_SOCKET", f.Socket},
		{"store", "FMQM_STORE", f.Store},
	} {
		if v := env(o.variable); v != "" {
			s[o.key] = setting{value: v, where: o.variable}
		}
		if o.flag != "" {
			s[o.key] = setting{value: o.flag, where: "--" + o.key}
		}
	}
}

// check checks the settings, and what depends on more than one key, into c.
func (s settings) check(r *reader, c *Config) {
	if n, ok := s["node"]; !ok {
		r.add(nil, "this node has no name", "write `node: NAME`, the name that process definitions have for this site")
	} else if !n.wrong && !processtable.ValidNode(n.value) {
		r.addSetting(n, fmt.Sprintf("%q cannot name a node", n.value), "use letters, digits, _ and -, not a digit or - first, at most 64")
	} else {
		c.Node = processtable.NodeID(n.value)
	}
	c.Data = s.path(r, "data", DefaultData)
	c.Socket = s.path(r, "socket", DefaultSocket)
	if len(c.Socket) > maxSocket {
		r.addSetting(s["socket"], fmt.Sprintf("the path of the socket, %s, has %d bytes; the system allows %d", c.Socket, len(c.Socket), maxSocket), "use a shorter one")
	}
	s.checkStore(r, c)
	s.checkListen(r, c)
	r.checkPeers(c)
	r.checkBroker(c)
	r.checkServices(c)
	if c.OldSignatures && !r.networkSaid {
		r.add(r.oldSignatures, "old_signatures accepts signatures that name no network, and without `network` this node accepts all", "write `network: NAME`, or remove old_signatures")
	}
	r.checkRemotes(c)
	r.checkStaff(c)
	r.checkDirectory(c)
	if r.operatorsAt != nil && !r.hasIdentity {
		r.add(r.operatorsAt, "operators are known by their certificates, and this node has no authority for them", identityRemedy(c)+", or remove operators")
	}
}

// maxSocket is the longest path of a Unix socket on Linux.
const maxSocket = 107

func (s settings) path(r *reader, key, def string) string {
	v, ok := s[key]
	switch {
	case !ok || v.wrong:
		return def
	case filepath.IsAbs(v.value):
		return filepath.Clean(v.value)
	case v.node != nil:
		return filepath.Join(r.dir, v.value)
	}
	abs, err := filepath.Abs(v.value)
	if err != nil {
		r.addSetting(v, err.Error(), "write an absolute path")
	}
	return abs
}

func (s settings) checkStore(r *reader, c *Config) {
	v, ok := s["store"]
	if !ok || v.wrong {
		v.value = DefaultStore
	}
	switch c.Store = v.value; v.value {
	case "badger":
	case "pebble":
		r.addSetting(v, "the store pebble is not in this version", "write `store: badger`, or leave it out")
	default:
		r.addSetting(v, fmt.Sprintf("no store is called %q", v.value), "write `store: badger`, or leave it out")
	}
}

func (s settings) checkListen(r *reader, c *Config) {
	v, ok := s["listen"]
	if !ok || v.wrong {
		return
	}
	host, port, err := net.SplitHostPort(v.value)
	if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
		r.addSetting(v, fmt.Sprintf("%q is not an address to listen on", v.value), "write HOST:PORT, such as 127.0.0.1:7411, or leave it out: then there is the socket only")
		return
	}
	c.Listen = v.value
	if r.hasIdentity || c.Insecure {
		return
	}
	reach := "every user of this machine can reach " + v.value
	if !loopback(host) {
		reach = "other machines can reach " + v.value
	}
	r.addSetting(v, reach+", and this node could not tell who calls", insecureRemedy(identityRemedy(c)+", or remove `listen`, so that there is the socket only"))
}

// insecureRemedy says what to do where something is neither encrypted nor authenticated.
func insecureRemedy(instead string) string {
	return instead + ", or accept with `insecure: true` that nothing is encrypted or authenticated: whoever can reach the port can start, change and read work"
}

// loopback says whether host stands for this machine only.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// limits reads the limits section.
func (r *reader) limits(n *yaml.Node, c *Config) {
	l := &c.Limits
	r.mapping(n, "limits", map[string]func(k, v *yaml.Node){
		"container":    func(_, v *yaml.Node) { setLimit(r, v, &l.Container, minLimit, container.MaxEncoded) },
		"table":        func(_, v *yaml.Node) { setLimit(r, v, &l.Table, minLimit, processtable.MaxEncoded) },
		"transmission": func(_, v *yaml.Node) { setLimit(r, v, &l.Transmission, minQuota, maxDisk) },
		"peer":         func(_, v *yaml.Node) { setLimit(r, v, &l.Peer, minQuota, maxDisk) },
		"free":         func(_, v *yaml.Node) { setLimit(r, v, &l.Free, minFree, maxDisk) },
		"stop":         func(_, v *yaml.Node) { setLimit(r, v, &l.Stop, minFree, maxDisk) },
		"reserve":      func(_, v *yaml.Node) { setLimit(r, v, &l.Reserve, 0, maxDisk) },
	})
	if l.Stop > l.Free {
		r.add(n, fmt.Sprintf("work would stop (stop: %s) before it is slowed down (free: %s)", sizeText(l.Stop), sizeText(l.Free)),
			"write a `free` above `stop`")
	}
}

const (
	// minLimit keeps a limit from refusing everything.
	minLimit = 1 << 10
	// minQuota lets a transmission queue hold some large messages.
	minQuota = 16 << 20
	// minFree is what the store may write before it looks at the disk again: its logs are
	// mappings of 32 MiB, and tables are written beside them.
	minFree = 96 << 20
	maxDisk = 1 << 50
)

func setLimit[T int | int64](r *reader, v *yaml.Node, into *T, least, most int64) {
	n, ok := r.size(v)
	switch {
	case !ok:
	case n < least || n > most:
		r.add(v, fmt.Sprintf("%s is out of range", v.Value), fmt.Sprintf("write a size from %s to %s", sizeText(least), sizeText(most)))
	default:
		*into = T(n)
	}
}

// units of sizes, largest first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// size reads a size such as 1MiB.
func (r *reader) size(n *yaml.Node) (int64, bool) {
	const want = "a size such as 512KiB or 1MiB"
	s, ok := r.scalar(n, want)
	if !ok {
		return 0, false
	}
	number, unit := s, int64(1)
	for _, u := range units {
		if cut, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(cut), u.bytes
			break
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64/unit {
		r.add(n, fmt.Sprintf("%q is not a size", s), "write "+want)
		return 0, false
	}
	return v * unit, true
}

func sizeText(n int64) string {
	for _, u := range units {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
