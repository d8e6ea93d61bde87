package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"fmqm/container"
	"fmqm/processtable"
	"fmqm/program"
)

// Defaults.
const (
	DefaultPath   = "/etc/fmqm/fmqmd.yaml"
	DefaultData   = "/var/lib/fmqm"
	DefaultSocket = "/run/fmqm/fmqmd.sock"
	DefaultStore  = "badger"
)

// maxFile is the size limit of a configuration file, in bytes.
const maxFile = 4 << 20

// Config is what a node is told.
type Config struct {
	Path     string // the file, absolute
	Node     processtable.NodeID
	Data     string // directory of the store
	Listen   string // host:port of the API and of direct links; empty: there is the socket only. With an Identity it speaks TLS alone, without one Insecure is set
	Socket   string // the local API
	Store    string // "badger"
	Insecure bool   // what is not encrypted or not authenticated may be there; see Risk
	Identity *Identity
	AMQP     *AMQP // nil: no broker
	// Peers has those that are listed. With AMQP a node that is not is reached over it.
	Peers map[processtable.NodeID]Peer
	// Definers may upload tables here; nil: the configuration does not say.
	Definers []Definer
	// Network is the name of the network of sites that tables have to be signed for; empty:
	// for whichever, or for none. OldSignatures takes also those that name none.
	Network       string
	OldSignatures bool
	// Operators may ask over the network; nil: everybody with an operator's certificate of
	// the authorities in Identity.
	Operators []string
	// Rights say who may do what here; nil: whoever may ask may do all.
	Rights []Right
	// RemoteOperators are whose requests are taken over links; nil: nobody's.
	RemoteOperators []RemoteOperator
	Programs        map[processtable.ProgramID]program.Spec
	Limits          Limits
	Audit           Audit
	Logs            Logs
	NoSchedules     bool           // nothing is started by a schedule here
	Retired         *time.Duration // how long a retired version can be taken back here, at least; nil: 7 days
	Events          Events
	Staff           *Staff // nil: nobody works here
}

// Limits of sizes, in bytes.
type Limits struct {
	// These can be lower than those of the language, not higher.
	Container int // of one container, encoded
	Table     int // of one process table, encoded

	// Transmission is the quota of each transmission queue: at it nothing more is begun
	// that sends to that peer.
	Transmission int64

	// Peer is the quota of what one peer has sent that nothing here takes up: messages that
	// are set aside, or wait for a table, and markers. At it that peer's link is paused.
	Peer int64

	// Free and Stop are marks of free space on the file system of the data directory:
	// below the first, nothing is started, taken from links or run; below the second the
	// daemon stops. Reserve is the size of a file that is given up at the second mark.
	Free, Stop, Reserve int64
}

// Defaults of limits.
const (
	DefaultTransmission = 1 << 30
	DefaultPeer         = 256 << 20
	DefaultFree         = 256 << 20
	DefaultStop         = 128 << 20
	DefaultReserve      = 64 << 20
)

// Overrides are the flags that stand above the file; empty: not given.
type Overrides struct {
	Node, Data, Listen, Socket, Store string
}

// Risk says what is neither encrypted nor authenticated in this configuration; empty: all
// is.
func (c *Config) Risk() string {
	var risks []string
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && c.Identity == nil {
		who := "anybody who can reach " + c.Listen
		if loopback(host) {
			who = "every user of this machine, through " + c.Listen + ","
		}
		can := " can start, change and read work"
		if c.Rights != nil { // which know nobody who comes that way
			can = " can send messages in the name of a peer"
		}
		risks = append(risks, who+can)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Peers)) {
		u, err := url.Parse(c.Peers[name].Address)
		switch {
		case err != nil || u.Scheme != "http":
		case loopback(u.Hostname()):
			risks = append(risks, fmt.Sprintf("any program that listens on %s of this machine is taken for %s", u.Host, name))
		default:
			risks = append(risks, fmt.Sprintf("anybody on the way to %s (%s) can read and change what is sent", name, u.Host))
		}
	}
	if c.AMQP != nil {
		risks = append(risks, c.AMQP.risks(c.Identity != nil)...)
	}
	if c.Staff != nil && c.Staff.LDAP != nil && c.Staff.LDAP.Plain() {
		risks = append(risks, fmt.Sprintf("anybody on the way to the directory %s can say who works here, and may do what", c.Staff.LDAP.URL))
	}
	for _, id := range slices.Sorted(maps.Keys(c.Programs)) {
		p := c.Programs[id]
		if u, err := url.Parse(p.URL); err == nil && len(p.Secrets) > 0 && u.Scheme == "http" && !loopback(u.Hostname()) {
			risks = append(risks, fmt.Sprintf("anybody on the way to %s can read the secrets of program %s", u.Host, id))
		}
	}
	switch {
	case len(risks) > 0:
		return "not everything is encrypted and authenticated: " + strings.Join(risks, "; ") + ": use an `identity` and https://, or keep it inside a network that you trust, or a tunnel"
	case c.Insecure:
		return "insecure: true: nothing in this configuration needs it: remove it"
	}
	return ""
}

// Private are the files and directories of the daemon that nobody else is to read or
// write, its programs among them: the store, keys, passwords, programs' secrets, and who may
// do what as one of the staff.
func (c *Config) Private() []string {
	all := []string{c.Data}
	add := func(file string) {
		if file != "" && !slices.Contains(all, file) {
			all = append(all, file)
		}
	}
	if c.Identity != nil {
		add(c.Identity.Key)
	}
	if c.Staff != nil {
		add(c.Staff.File)
		if c.Staff.LDAP != nil {
			add(c.Staff.LDAP.Password)
		}
	}
	if c.AMQP != nil {
		add(c.AMQP.Password)
		add(c.AMQP.Key)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Programs)) {
		p := c.Programs[id]
		add(p.Key)
		for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
			add(p.Secrets[name])
		}
	}
	return all
}

// Warnings are what an operator has to know of this configuration, though it is as it
// may be. The daemon says them at every start.
func (c *Config) Warnings() []string {
	var all []string
	if risk := c.Risk(); risk != "" {
		all = append(all, risk)
	}
	all = append(all, c.rightsWarnings()...)
	if c.OldSignatures {
		all = append(all, "old_signatures: true: this node also takes tables that are signed for no network in particular, even a draft that was signed for a test: remove it once all definers upload with --network "+c.Network)
	}
	if c.AMQP != nil && c.AMQP.PlainFrames {
		all = append(all, "links.amqp.plain_frames: true: messages to and from sites that are too old to encrypt can be read at the broker: remove it once all sites are updated")
	}
	return all
}

func (a *AMQP) risks(signed bool) []string {
	u, err := url.Parse(a.URL)
	if err != nil || loopback(u.Hostname()) {
		return nil
	}
	var risks []string
	if u.Scheme == "amqp" {
		risks = append(risks, fmt.Sprintf("anybody on the way to the broker %s can read the messages and the password", u.Host))
	}
	if !signed {
		risks = append(risks, fmt.Sprintf("anybody who may publish at the broker %s can write messages in any site's name", u.Host))
	}
	return risks
}

// Load reads the configuration file at path and lays environment variables (FMQM_NODE,
// FMQM_DATA, FMQM_LISTEN, FMQM_SOCKET, FMQM_STORE) and flags over it. The error is of
// type Problems. Relative paths in the file start at its directory, others at the
// working directory.
func Load(path string, env func(string) string, flags Overrides) (*Config, error) {
	text, problems := read(path)
	if problems != nil {
		return nil, problems
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, Problems{{Where: path, What: err.Error()}}
	}
	r := &reader{file: path, dir: filepath.Dir(path), lines: splitLines(text), env: env}
	c := &Config{
		Path:     path,
		Peers:    map[processtable.NodeID]Peer{},
		Programs: map[processtable.ProgramID]program.Spec{},
		Limits: Limits{
			Container: container.MaxEncoded, Table: processtable.MaxEncoded,
			Transmission: DefaultTransmission, Peer: DefaultPeer, Free: DefaultFree, Stop: DefaultStop, Reserve: DefaultReserve,
		},
		Logs: Logs{Bytes: DefaultLogs, Age: DefaultLogAge, Attempt: DefaultLogAttempt},
	}
	if definition(text) {
		r.add(nil, "this is a process definition, not the configuration of a node", "check it with `fmqm-define check`, and name the node's configuration here")
		return nil, r.problems
	}
	s := settings{}
	r.document(text, c, s)
	if r.syntax {
		return nil, r.problems
	}
	s.override(env, flags)
	s.check(r, c)
	slices.SortStableFunc(r.problems, byLine)
	r.readStaff(c) // after them: it is another file
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return c, nil
}

// definition says whether text looks like a process definition, which is the other kind
// of file that people write here.
func definition(text []byte) bool {
	return regexp.MustCompile(`(?m)^process:`).Match(text) && !regexp.MustCompile(`(?m)^node:`).Match(text)
}

// byLine orders problems as the file has them; those without a line come last.
func byLine(a, b Problem) int {
	if a.Line == 0 || b.Line == 0 {
		return cmp.Compare(b.Line, a.Line)
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func read(path string) ([]byte, Problems) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, Problems{{Where: path, What: fmt.Sprintf("the file has over %d bytes", maxFile), Remedy: "this is not the configuration of a node"}}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		return text, nil
	}
	remedy := "name the file itself"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "write one (`node: A` is enough to begin with), or name yours (fmqmd run --config FILE)"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the daemon's user read it"
	}
	return nil, Problems{{Where: path, What: fmt.Sprintf("cannot read the configuration: %v", cause(err)), Remedy: remedy}}
}
