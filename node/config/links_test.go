package config_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/node/config"
	"fmqm/processtable"
)

const identity = "identity: {certificate: A.crt, key: A.key, ca: ca.crt}\n"

// credentials gives the environment of a service with a credential.
func credentials(t *testing.T, name, secret string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"CREDENTIALS_DIRECTORY": dir}
}

func TestLinksAndIdentity(t *testing.T) {
	env := credentials(t, "broker", "secret")
	c, dir, err := load(t, `
node: A
listen: 0.0.0.0:7411
identity: {certificate: pki/A.crt, key: credential:A.key, ca: /etc/fmqm/pki/ca.crt}
links:
  amqp: {url: "amqps://a@broker.example.org/fmqm", password: credential:broker, certificate: c.crt, key: c.key, ca: broker.crt, queues: quorum}
  peers:
    B: https://b.example.org
    C: {}
    D: {address: "https://d.example.org:7000", via: both}
    E: {via: amqp}
    F: {via: both}
    G: {address: "http://127.0.0.1:7500"}
operators: [ann@example.org, ben]
`, env, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[processtable.NodeID]config.Peer{
		"B": {Address: "https://b.example.org:7411", Via: config.ViaDirect},
		"C": {Via: config.ViaDirect},
		"D": {Address: "https://d.example.org:7000", Via: config.ViaBoth},
		"E": {Via: config.ViaAMQP}, "F": {Via: config.ViaBoth},
		"G": {Address: "http://127.0.0.1:7500", Via: config.ViaDirect},
	}, c.Peers); d != "" {
		t.Errorf("peers (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&config.AMQP{
		URL: "amqps://a@broker.example.org:5671/fmqm", User: "a", Password: env["CREDENTIALS_DIRECTORY"] + "/broker",
		Certificate: dir + "/c.crt", Key: dir + "/c.key", CA: dir + "/broker.crt", Queues: config.QueuesQuorum,
	}, c.AMQP); d != "" {
		t.Errorf("broker (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&config.Identity{
		Certificate: dir + "/pki/A.crt", Key: env["CREDENTIALS_DIRECTORY"] + "/A.key", CA: "/etc/fmqm/pki/ca.crt",
	}, c.Identity); d != "" {
		t.Errorf("identity (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"ann@example.org", "ben"}, c.Operators); d != "" {
		t.Errorf("operators (-want +got):\n%s", d)
	}
	if risk := c.Risk(); !strings.Contains(risk, "any program that listens on 127.0.0.1:7500 of this machine is taken for G") || strings.Contains(risk, ";") || c.Definers != nil {
		t.Errorf("risk %q, definers %v", c.Risk(), c.Definers)
	}
}

// The short form of a broker, and where its password comes from.
func TestTheShortFormOfABroker(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		env        map[string]string
		want       config.AMQP
	}{
		{
			"user and credential", "links: {amqp: \"amqps://a@broker.example.org/fmqm\"}\n" + identity, credentials(t, "amqp-password", "x"),
			config.AMQP{URL: "amqps://a@broker.example.org:5671/fmqm", User: "a", Password: "amqp-password"},
		},
		{
			"the node's own certificate", "links: {amqp: \"amqps://broker.example.org\"}\n" + identity, nil,
			config.AMQP{URL: "amqps://broker.example.org:5671"},
		},
		{
			"sites of older versions", "links: {amqp: {url: \"amqps://broker.example.org\", plain_frames: true}}\n" + identity, nil,
			config.AMQP{URL: "amqps://broker.example.org:5671", PlainFrames: true},
		},
		{
			"on this machine", "links: {amqp: \"amqp://a@localhost\"}\n", credentials(t, "amqp-password", "x"),
			config.AMQP{URL: "amqp://a@localhost:5672", User: "a", Password: "amqp-password"},
		},
		{
			"a virtual host with a slash", "links: {amqp: \"amqp://a@[::1]:5673/%2Fx\"}\n", credentials(t, "amqp-password", "x"),
			config.AMQP{URL: "amqp://a@[::1]:5673/%2Fx", User: "a", Password: "amqp-password"},
		},
		{
			"in plain text, knowingly", "insecure: true\nlinks: {amqp: \"amqp://a@broker/fmqm\"}\n", credentials(t, "amqp-password", "x"),
			config.AMQP{URL: "amqp://a@broker:5672/fmqm", User: "a", Password: "amqp-password"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _, err := load(t, "node: A\n"+tc.text, tc.env, config.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Queues = config.QueuesAuto
			if tc.want.Password != "" {
				tc.want.Password = filepath.Join(tc.env["CREDENTIALS_DIRECTORY"], tc.want.Password)
			}
			if d := cmp.Diff(&tc.want, c.AMQP); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if warned := strings.Contains(strings.Join(c.Warnings(), "\n"), "can be read at the broker: remove it once all sites are updated"); warned != tc.want.PlainFrames {
				t.Errorf("warnings %q", c.Warnings())
			}
		})
	}
}

// Every way to get links and identity wrong, with what is said.
func TestMistakesOfLinks(t *testing.T) {
	const node, remedy = "node: A\n", "write identity: {certificate: FILE, key: FILE, ca: FILE}, which `fmqmd pki issue A` makes"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"plain frames without identity", node + "links: {amqp: {url: \"amqp://a@localhost\", password: p, plain_frames: true}}\n", []string{
			":2:70: plain_frames takes sites that do not encrypt, and without an identity nothing is encrypted: " + remedy + ", or remove plain_frames",
		}},
		{"broker without encryption", node + identity + "links: {amqp: \"amqp://broker\"}\n", []string{
			":3:15: the broker broker is on another machine, and amqp:// is not encrypted: write amqps://, or accept with `insecure: true` that everybody on the way reads the messages and the password",
			":3:15: this node does not tell the broker who it is: write the user into the URL",
		}},
		{"broker without identity", node + "links: {amqp: {url: \"amqps://a@broker\", password: p}}\n", []string{
			":2:21: whoever may publish at the broker could write messages in any site's name: " + remedy + ", or accept it with `insecure: true`",
		}},
		{"broker without a password", node + "links: {amqp: \"amqp://a@localhost/x\"}\n", []string{
			":2:15: there is no password for the user a: write `amqp: {url: \"amqp://a@localhost/x\", password: FILE}`, or hand it over as the systemd credential amqp-password",
		}},
		{"password without a user", node + "links: {amqp: {url: \"amqp://localhost/x\", password: p}}\n", []string{
			":2:43: there is a password, but no user: write the user into the URL: amqp://USER@localhost/x",
		}},
		{"broker of another kind", node + "links: {amqp: \"https://broker\"}\n", []string{`:2:15: "https://broker" is not the address of a broker: write amqps://USER@HOST/VHOST`}},
		{"broker with a query", node + "links: {amqp: \"amqp://localhost/x?heartbeat=1\"}\n", []string{`:2:15: "amqp://localhost/x?heartbeat=1" contains more than scheme, user, host, port and virtual host: write`}},
		{"broker with a path", node + "links: {amqp: \"amqp://localhost/x/y\"}\n", []string{"a / in the name of a virtual host is %2F"}},
		{"broker without a URL", node + "links: {amqp: {queues: auto}}\n", []string{":2:9: links.amqp does not say where the broker is: write url: amqps://USER@HOST/VHOST"}},
		{"broker without a value", node + "links: {amqp: }\n", []string{":2:15: there is no value: write amqps://USER@HOST/VHOST, or {url: "}},
		{"broker's key", node + "links: {amqp: {uri: x}}\n", []string{`:2:16: unknown key "uri": did you mean url?`}},
		{"broker's key, none near", node + "links: {amqp: {heartbeat: x}}\n", []string{"links.amqp has ca, certificate, key, password, plain_frames, queues, url"}},
		{"certificate without key", node + "links: {amqp: {url: \"amqps://localhost\", certificate: c}}\n", []string{":2:9: links.amqp has only one of certificate and key: write both"}},
		{"certificate without TLS", node + "links: {amqp: {url: \"amqp://u@localhost\", password: p, ca: c}}\n", []string{":2:21: certificates are for amqps://: write amqps://, or remove certificate, key and ca"}},
		{"broker on this machine without a user", node + "links: {amqp: \"amqp://localhost\"}\n", []string{":2:15: this node does not tell the broker who it is: write the user into the URL and `password: FILE`"}},
		{"kind of queue", node + "links: {amqp: {url: \"amqp://localhost\", queues: mirrored}}\n", []string{`:2:49: "mirrored" is not a kind of queue: write one of auto, quorum, classic`}},
		{"way to a peer", node + "links: {peers: {B: {via: post}}}\n", []string{`:2:26: "post" is not a way to a peer: write one of direct, amqp, both`}},
		{"peer over no broker", node + "links: {peers: {B: {via: amqp}}}\n", []string{":2:26: B is to be reached over a broker, but no broker is configured: write links.amqp, or remove via"}},
		{"peer with an address for nothing", node + "links: {amqp: {url: \"amqp://u@localhost\", password: p}, peers: {B: {address: \"http://[::1]\", via: amqp}}}\n", []string{":2:99: B has an address that would never be used: write `via: both`, or remove the address"}},
		{"peer with two addresses", node + "links: {peers: {B: {address: \"http://[::1]\", url: \"http://[::1]\"}}}\n", []string{":2:46: the address is given twice: remove one of address and url"}},
		{"identity without a key", node + "identity: {certificate: c, ca: d}\n", []string{":2:1: identity has no key: write identity: {certificate: FILE, key: FILE, ca: FILE}; `fmqmd pki issue` makes them"}},
		{"identity with a wrong key", node + "identity: {cert: c}\n", []string{`:2:12: unknown key "cert": remove it or correct it; identity has ca, certificate, deny, key`}},
		{"identity is a word", node + "identity: x\n", []string{":2:11: identity is not a mapping"}},
		{"credential without a directory", node + "identity: {certificate: c, key: credential:k, ca: d}\n", []string{
			":2:33: there are no credentials: CREDENTIALS_DIRECTORY is not set: write LoadCredential=k:FILE into the unit; to try it from a shell, set CREDENTIALS_DIRECTORY to the directory that has the file k",
		}},
		{"credential with a path", node + "identity: {certificate: c, key: credential:../k, ca: d}\n", []string{`:2:33: "../k" cannot name a credential: write credential:NAME`}},
		{"operators without an authority", node + "operators: [ann]\n", []string{":2:12: operators are known by their certificates, and this node has no authority for them: " + remedy + ", or remove operators"}},
		{"operator's name", node + identity + "operators: [a b]\n", []string{`:3:13: "a b" cannot name an operator: use letters, digits, and . _ @ -, at most 64`}},
		{"operators is a word", node + identity + "operators: ann\n", []string{":3:12: operators is not a list: write [the NAME of a certificate"}},
		{"definer's key", node + "definers: [ed25519:AAAA]\n", []string{`:2:12: "ed25519:AAAA" is not the key of a definer: write ed25519: and the 32 bytes of the key in base64`}},
		{"definers' file", node + "definers: [/dev/null/keys]\n", []string{":2:12: cannot read /dev/null/keys: not a directory: write a file that has keys such as ed25519:BASE64, one per line"}},
		{"definers' file without keys", node + "definers: [/dev/null]\n", []string{":2:12: /dev/null has no keys"}},
		{"definers is a word", node + "definers: x\n", []string{":2:11: definers is not a list"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _, err := load(t, tc.text, nil, config.Overrides{})
			if err == nil {
				t.Fatalf("accepted as %+v", c)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in\n%v", w, err)
				}
			}
			var problems config.Problems
			if !errors.As(err, &problems) || len(problems) != len(tc.want) {
				t.Errorf("other problems too:\n%v", err)
			}
		})
	}
}

// A password is never repeated, neither in what is wrong with it nor with the line shown.
func TestAPasswordIsNotShown(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"links: {amqp: \"amqps://me:hunter2@broker/x\"}\n", ":2:15: whoever can read this file or a backup of it can read the password: " +
			"write the password into a file that only the daemon's user can read, and `amqp: {url: \"amqps://me@broker/x\", password: FILE}`"},
		{"links: {amqp: \"amqps://me:hunter2@bro ker/x\"}\n", `"xxxxx@bro ker/x" is not the address of a broker`},
		{"links: {amqp: \"https://me:hunter2@broker/x\"}\n", `"https://me:xxxxx@broker/x" is not the address of a broker`},
		{"links: {peers: {B: \"https://me:hunter2@b\"}}\n", `"https://me:xxxxx@b" contains more than an address: write https://b`},
		{"links: {peers: {B: \"amqps://me:hunter2@b\"}}\n", `"amqps://me:xxxxx@b" is not the address of a node`},
	} {
		_, _, err := load(t, "node: A\n"+tc.text, nil, config.Overrides{})
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v\nwant %s", tc.text, err, tc.want)
		}
	}
}

// For which network tables have to be signed here.
func TestNetwork(t *testing.T) {
	c, _, err := load(t, "node: A\nnetwork: prod-eu\nold_signatures: true\n", nil, config.Overrides{})
	if err != nil || c.Network != "prod-eu" || !c.OldSignatures {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := strings.Join(c.Warnings(), "\n"); !strings.Contains(got, "remove it once all definers upload with --network prod-eu") {
		t.Errorf("warnings %q", got)
	}
	for text, want := range map[string]string{
		"network: prod eu":                        ":2:10: \"prod eu\" cannot name a network of sites: use letters, digits, _ and -",
		"network: [a]":                            ":2:10: this is not a single value: write the name of this site's network, such as production",
		"old_signatures: true":                    ":2:17: old_signatures accepts signatures that name no network, and without `network` this node accepts all: write `network: NAME`, or remove old_signatures",
		"old_signatures: soon\nnetwork: \"1&\"\n": `"soon" is neither true nor false`,
	} {
		if _, _, err := load(t, "node: A\n"+text+"\n", nil, config.Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func TestDefiners(t *testing.T) {
	one, two := make(ed25519.PublicKey, 32), make(ed25519.PublicKey, 32)
	one[0], two[0] = 1, 2
	text := func(k ed25519.PublicKey) string { return "ed25519:" + base64.StdEncoding.EncodeToString(k) }
	keys := filepath.Join(t.TempDir(), "definers")
	if err := os.WriteFile(keys, []byte("# head office\n\n"+text(one)+"\r\n "+text(two)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := load(t, "node: A\ndefiners: [\""+text(two)+"\", "+keys+"]\n", nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]config.Definer{{Key: two}, {Key: one}, {Key: two}}, c.Definers); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	c, _, err = load(t, "node: A\ndefiners: [{key: \""+text(one)+"\", processes: [hr-*, pay], programs: []}, {key: "+keys+", programs: [x*]}]\n", nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]config.Definer{
		{Key: one, Processes: []string{"hr-*", "pay"}, Programs: []string{}}, {Key: one, Programs: []string{"x*"}}, {Key: two, Programs: []string{"x*"}},
	}, c.Definers); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"{processes: [x]}":                  ":2:12: this definer has no key: write key: ed25519:KEY",
		"{key: x, process: [x]}":            `unknown key "process": did you mean processes?`,
		"{key: /dev/null, processes: x}":    "processes is not a list",
		"{key: /dev/null, programs: [a b]}": `"a b" cannot be the name of a process or a program: use letters, digits, _ and -, and * for any characters, as in hr-*`,
	} {
		if _, _, err := load(t, "node: A\ndefiners: ["+text+"]\n", nil, config.Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	c, _, err = load(t, "node: A\ndefiners: []\n", nil, config.Overrides{})
	if err != nil || c.Definers == nil || len(c.Definers) != 0 {
		t.Errorf("nobody: %v, %v", c, err)
	}
	secret := credentials(t, "k", "-----BEGIN PRIVATE KEY-----\nhunter2\n")
	_, _, err = load(t, "node: A\ndefiners: [credential:k]\n", secret, config.Overrides{})
	if want := "/k, line 1: this is not the key of a definer"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in the wrong place: %v", err)
	}
}

// The risk that is said at every start names what of this configuration is open.
func TestTheRiskIsNamed(t *testing.T) {
	for _, tc := range []struct {
		text    string
		want    []string
		without string
	}{
		{"listen: 0.0.0.0:7000\n", []string{"anybody who can reach 0.0.0.0:7000 can start, change and read work", "a network that you trust"}, "way to"},
		{"listen: 127.0.0.1:7000\n", []string{"every user of this machine, through 127.0.0.1:7000, can start, change and read work"}, "way to"},
		{"programs: {p: {http: \"http://h.org/\", secrets: {X-Key: b}}}\n", []string{"anybody on the way to h.org can read the secrets of program p"}, "start"},
		{"links: {peers: {B: \"http://127.0.0.1\"}}\n", []string{"any program that listens on 127.0.0.1:7411 of this machine is taken for B"}, "start"},
		{"links: {peers: {B: \"http://b.org\"}}\n", []string{"anybody on the way to B (b.org:7411) can read and change what is sent"}, "start, change"},
		{
			identity + "listen: 0.0.0.0:7000\nlinks: {amqp: {url: \"amqp://a@broker\", password: p}}\n",
			[]string{"anybody on the way to the broker broker:5672 can read the messages and the password"},
			"name",
		},
		{"links: {amqp: {url: \"amqps://a@broker\", password: p}}\n", []string{"anybody who may publish at the broker broker:5671 can write messages in any site's name"}, "read"},
		{identity + "listen: 0.0.0.0:7000\n", []string{"insecure: true: nothing in this configuration needs it: remove it"}, "anybody"},
	} {
		c, _, err := load(t, "node: A\ninsecure: true\n"+tc.text, nil, config.Overrides{})
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		for _, w := range tc.want {
			if risk := c.Risk(); !strings.Contains(risk, w) || strings.Contains(risk, tc.without) {
				t.Errorf("%s: %q\nwant %q, without %q", tc.text, risk, w, tc.without)
			}
		}
	}
}
