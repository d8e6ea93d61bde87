package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/program"
)

// load reads text as a configuration file, with environment variables and flags.
func load(t *testing.T, text string, env map[string]string, flags config.Overrides) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "fmqmd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(k string) string { return env[k] }, flags)
	return c, dir, err
}

func TestEveryKey(t *testing.T) {
	c, dir, err := load(t, `
node: A
data: data
listen: 0.0.0.0:7000
socket: /run/a.sock
store: badger
insecure: true
links:
  peers:
    B: http://b.example.org:7411
    C: {}
    D: {url: "http://127.0.0.1"}
programs:
  check-credit: {exec: [/usr/local/bin/check-credit, --json], timeout: 5m, concurrency: 4, env: {PORT: 80, EMPTY: ""}, dir: work}
  script: {exec: [./script.sh], confine: false}
  other: {exec: [other], user: worker, tasks: 64, confine: true}
  tool: {exec: [tool], env: {A: b}, secrets: {TOKEN: token, "KEY": /etc/key}}
  notify: {http: "https://hooks.example.org/notify", timeout: 10s, headers: {X-Site: "north", Accept: ""}, secrets: {Authorization: /etc/bearer}, redact: [X-Site, Authorization]}
  pass: {builtin: echo}
limits: {container: 512KiB, table: 4 MiB, transmission: 2GiB, peer: 512MiB, free: 1GiB, stop: 512MiB, reserve: 128MiB}
logs: {bytes: 1GiB, age: 90d, attempt: 128KiB}
audit: {age: 90d, bytes: 10 GiB}
remote_operators:
  - {site: B, operators: [alice, ops-*, "user:root"]}
  - site: branch-*
`, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Path: dir + "/fmqmd.yaml", Node: "A", Data: dir + "/data", Listen: "0.0.0.0:7000", Socket: "/run/a.sock", Store: "badger", Insecure: true,
		Peers: map[processtable.NodeID]config.Peer{
			"B": {Address: "http://b.example.org:7411", Via: "direct"}, "C": {Via: "direct"}, "D": {Address: "http://127.0.0.1:7411", Via: "direct"},
		},
		Programs: map[processtable.ProgramID]program.Spec{
			"check-credit": {
				Kind: program.KindExec, Exec: []string{"/usr/local/bin/check-credit", "--json"}, Timeout: 5 * time.Minute, Concurrency: 4,
				Env: map[string]string{"PORT": "80", "EMPTY": ""}, Dir: dir + "/work",
			},
			"script": {
				Kind: program.KindExec, Exec: []string{dir + "/script.sh"}, Dir: dir, Concurrency: program.DefaultConcurrency(program.KindExec),
				Unconfined: true,
			},
			"other": {
				Kind: program.KindExec, Exec: []string{"other"}, Concurrency: program.DefaultConcurrency(program.KindExec),
				User: "worker", Tasks: 64,
			},
			"tool": {
				Kind: program.KindExec, Exec: []string{"tool"}, Dir: dir, Concurrency: program.DefaultConcurrency(program.KindExec),
				Env: map[string]string{"A": "b"}, Secrets: map[string]string{"TOKEN": dir + "/token", "KEY": "/etc/key"},
			},
			"notify": {
				Kind: program.KindHTTP, URL: "https://hooks.example.org/notify", Timeout: 10 * time.Second, Concurrency: 16,
				Headers: map[string]string{"X-Site": "north", "Accept": ""}, Secrets: map[string]string{"Authorization": "/etc/bearer"}, Redact: []string{"X-Site"},
			},
			"pass": {Kind: program.KindBuiltin, Builtin: "echo", Concurrency: 256},
		},
		Limits: config.Limits{
			Container: 512 << 10, Table: 4 << 20, Transmission: 2 << 30, Peer: 512 << 20, Free: 1 << 30, Stop: 512 << 20, Reserve: 128 << 20,
		},
		Logs:            config.Logs{Bytes: 1 << 30, Age: 90 * 24 * time.Hour, Attempt: 128 << 10},
		Audit:           config.Audit{Age: 90 * 24 * time.Hour, Bytes: 10 << 30},
		RemoteOperators: []config.RemoteOperator{{Site: "B", Operators: []string{"alice", "ops-*", "user:root"}}, {Site: "branch-*"}},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := program.NewRegistry(c.Programs, program.Options{}); err != nil {
		t.Errorf("what was accepted cannot be registered: %v", err)
	}
	if risk := c.Risk(); !strings.Contains(risk, "anybody who can reach 0.0.0.0:7000 can start, change and read work") {
		t.Errorf("the risk is not named: %q", risk)
	}
	c.Rights = []config.Right{}
	if risk := c.Risk(); !strings.Contains(risk, "anybody who can reach 0.0.0.0:7000 can send messages in the name of a peer") || strings.Contains(risk, "read work") {
		t.Errorf("the risk where rights are granted is %q", risk)
	}
}

func TestDefaults(t *testing.T) {
	c, dir, err := load(t, "node: A\n", nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Path: dir + "/fmqmd.yaml", Node: "A", Data: "/var/lib/fmqm", Socket: "/run/fmqm/fmqmd.sock", Store: "badger",
		Peers: map[processtable.NodeID]config.Peer{}, Programs: map[processtable.ProgramID]program.Spec{},
		Limits: config.Limits{
			Container: 1 << 20, Table: 8 << 20, Transmission: 1 << 30, Peer: config.DefaultPeer, Free: 256 << 20, Stop: 128 << 20, Reserve: 64 << 20,
		},
		Logs: config.Logs{Bytes: 64 << 20, Age: 30 * 24 * time.Hour, Attempt: 64 << 10},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if c.Risk() != "" {
		t.Errorf("a risk where there is only the socket: %q", c.Risk())
	}
}

func TestFlagsStandAboveTheEnvironmentAndThatAboveTheFile(t *testing.T) {
	env := map[string]string{"FMQM_NODE": "B", "FMQM_DATA": "/env/data", "FMQM_LISTEN": "127.0.0.1:1", "FMQM_SOCKET": "/env/socket", "FMQM_STORE": "badger"}
	const file = "node: A\ndata: /file\nlisten: 127.0.0.1:3\ninsecure: true\nsocket: /file/socket\nstore: pebble\n"
	c, _, err := load(t, file, env, config.Overrides{Node: "C", Listen: "localhost:2"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Node != "C" || c.Listen != "localhost:2" || c.Data != "/env/data" || c.Socket != "/env/socket" || c.Store != "badger" {
		t.Errorf("got %+v", c)
	}
	c, _, err = load(t, "data: x\n", nil, config.Overrides{Node: "C", Data: "/flag/data", Socket: "/flag/socket", Store: "badger"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "/flag/data" || c.Socket != "/flag/socket" {
		t.Errorf("got %+v", c)
	}
}

func TestARelativeFlagStartsAtTheWorkingDirectory(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := load(t, "node: A\n", nil, config.Overrides{Data: "mine"})
	if err != nil || c.Data != filepath.Join(wd, "mine") {
		t.Errorf("data %v, error %v", c, err)
	}
}

// Every way to get the file wrong, with what is said: the first is the text after the
// file's name, the others must occur.
func TestMistakes(t *testing.T) {
	const node = "node: A\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"empty", " \n", []string{`: the configuration is empty: write at least ` + "`node: NAME`"}},
		{"only a comment", "# later\n", []string{": not YAML: no documents in stream", "with at least `node: NAME`"}},
		{"two documents", "node: A\n---\nnode: B\n", []string{": not YAML: expected single document, found multiple", "write one YAML document"}},
		{"not YAML", "node: A\ndata: [x\n", []string{":3:1: not YAML: did not find expected ',' or ']'"}},
		{"not UTF-8", "node: \xff\n", []string{": not YAML: invalid leading UTF-8 octet", "as UTF-8"}},
		{"a list", "- node: A\n", []string{":1:1: the file is not a mapping", "    - node: A\n    ^"}},
		{"no name", "data: /x\n", []string{": this node has no name: write `node: NAME`"}},
		{"bad name", "node: A.B\n", []string{`:1:7: "A.B" cannot name a node: use letters`, "    node: A.B\n          ^"}},
		{"no value", "node:\n", []string{":1:6: there is no value: write a text, or remove the key"}},
		{"no single value", node + "data: [x]\n", []string{":2:7: this is not a single value: write a text"}},
		{"unknown key", node + "dada: x\n", []string{`:2:1: unknown key "dada": did you mean data?`}},
		{"unknown key, none near", node + "xyzzyx: x\n", []string{`:2:1: unknown key "xyzzyx": remove it or correct it; the file has accept, audit, data, definers, events, identity, insecure, limits, links, listen, logs, network, node, old_signatures, operators, programs, remote_operators, retired, rights, schedules, socket, staff, store`}},
		{"twice", node + "data: x\nnode: B\n", []string{":3:1: node occurs twice; the first is in line 1: remove one of the two"}},
		{"alias", "node: &n A\n", []string{":1:7: anchors, aliases and merge keys are not part of the configuration"}},
		{"alias of a section", node + "limits: &x {}\n", []string{":2:9: anchors, aliases and merge keys"}},
		{"tag", "node: !!str A\n", []string{":1:7: tags are not part of the configuration: remove the !!str"}},
		{"a key that is a list", node + "? [a]\n: 1\n", []string{":2:3: this key is not a word"}},
		{"insecure", node + "insecure: maybe\n", []string{`:2:11: "maybe" is neither true nor false`}},
		{"store", node + "store: bolt\n", []string{`:2:8: no store is called "bolt": write ` + "`store: badger`"}},
		{"pebble", node + "store: pebble\n", []string{":2:8: the store pebble is not in this version"}},
		{"no address", node + "listen: here\n", []string{`:2:9: "here" is not an address to listen on: write HOST:PORT, such as 127.0.0.1:7411`}},
		{"no port", node + "listen: 127.0.0.1:99999\n", []string{`:2:9: "127.0.0.1:99999" is not an address to listen on`}},
		{"listen beyond this machine", node + "listen: 0.0.0.0:7411\n", []string{
			":2:9: other machines can reach 0.0.0.0:7411, and this node could not tell who calls: write identity: {certificate: FILE, key: FILE, ca: FILE}, which `fmqmd pki issue A` makes, or remove `listen`, so that there is the socket only, or accept with `insecure: true`",
			"whoever can reach the port can start, change and read work",
		}},
		{"listen on all", node + "listen: :7411\n", []string{":2:9: other machines can reach :7411"}},
		{"listen on this machine", node + "listen: 127.0.0.1:7411\n", []string{
			":2:9: every user of this machine can reach 127.0.0.1:7411, and this node could not tell who calls: write identity: ", "`insecure: true`",
		}},
		{"listen by name", node + "listen: localhost:7411\n", []string{":2:9: every user of this machine can reach localhost:7411"}},
		{"long socket", node + "socket: /" + strings.Repeat("s", 107) + "\n", []string{":2:9: the path of the socket, /sss", "has 108 bytes; the system allows 107: use a shorter one"}},
		{"links", node + "links: x\n", []string{":2:8: links is not a mapping"}},
		{"peers", node + "links: {peer: {}}\n", []string{`:2:9: unknown key "peer": did you mean peers?`}},
		{"peer's name", node + "links: {peers: {b.org: {}}}\n", []string{`:2:17: "b.org" cannot name a node`}},
		{"peer is this node", node + "links: {peers: {A: {}}}\n", []string{":2:17: A is this node itself: remove it"}},
		{"peer without a value", node + "links:\n  peers:\n    B:\n", []string{":4:7: there is no value: write its address, https://HOST:PORT, or {} if the peer calls"}},
		{"peer's key", node + "links: {peers: {B: {uri: x}}}\n", []string{`:2:21: unknown key "uri": did you mean url?`}},
		{"peer's address", node + "links: {peers: {B: b.example.org}}\n", []string{`:2:20: "b.example.org" is not the address of a node: write https://HOST:PORT`}},
		{"peer over TLS", node + "links: {peers: {B: \"https://b.example.org:7411\"}}\n", []string{":2:20: a link over TLS needs a certificate of this node: write identity: {certificate: FILE, key: FILE, ca: FILE}, which `fmqmd pki issue A` makes"}},
		{"peer with a path", node + "links: {peers: {B: \"http://127.0.0.1/x\"}}\n", []string{`:2:20: "http://127.0.0.1/x" contains more than an address: write http://127.0.0.1`}},
		{"peer on another machine", node + "links: {peers: {B: \"http://b.example.org:7411\"}}\n", []string{":2:20: b.example.org:7411 is on another machine, and http:// is not encrypted: write https://b.example.org:7411 and give this node an `identity`", "`insecure: true`"}},
		{"peer twice", node + "links: {peers: {B: {}, B: {}}}\n", []string{":2:24: B occurs twice"}},
		{"program's name", node + "programs: {a b: {builtin: echo}}\n", []string{`:2:12: "a b" cannot name a program`}},
		{"program without a kind", node + "programs: {p: {timeout: 1s}}\n", []string{":2:12: program p does not say what runs: write one of exec: [PROGRAM, ARGUMENT...], http: URL, builtin: NAME"}},
		{"program of two kinds", node + "programs: {p: {builtin: echo, exec: [x]}}\n", []string{":2:31: program p says twice what runs"}},
		{"program's key", node + "programs: {p: {builtin: echo, time: 1s}}\n", []string{`:2:31: unknown key "time": remove it or correct it; a program has builtin, ca, certificate, concurrency, confine, dir, env, exec, headers, http, key, redact, secrets, tasks, timeout, user`}},
		{"program is a word", node + "programs: {p: echo}\n", []string{":2:15: a program is not a mapping"}},
		{"exec is a word", node + "programs: {p: {exec: ls -l}}\n", []string{":2:22: exec is not a list: write a list of the program and its arguments", "there is no shell"}},
		{"exec is empty", node + "programs: {p: {exec: []}}\n", []string{":2:22: exec is not a list"}},
		{"exec has no name", node + "programs: {p: {exec: [\"\", x]}}\n", []string{":2:23: the program has no name"}},
		{"exec has a list", node + "programs: {p: {exec: [x, [y]]}}\n", []string{":2:26: an argument is not a text"}},
		{"exec has NUL", node + "programs: {p: {exec: [\"x\\0\"]}}\n", []string{":2:23: an argument is not a text"}},
		{"exec has an alias", node + "programs: {p: {exec: [&x x]}}\n", []string{":2:23: anchors, aliases"}},
		{"http", node + "programs: {p: {http: hooks.example.org}}\n", []string{`:2:22: http: "hooks.example.org" is not an address of a web service: write http://HOST/PATH`}},
		{"builtin", node + "programs: {p: {builtin: ecko}}\n", []string{`:2:25: there is no builtin program "ecko": did you mean echo?`}},
		{"builtin, none near", node + "programs: {p: {builtin: transmogrify}}\n", []string{`:2:25: there is no builtin program "transmogrify": use one of echo, fail, noop, sleep`}},
		{"audit, a key", node + "audit: {days: 90}\n", []string{`:2:9: unknown key "days": remove it or correct it; audit has age, bytes`}},
		{"audit, no age", node + "audit: {age: 90}\n", []string{`:2:14: "90" is not an age: write an age in days, such as 90d`}},
		{"audit, months", node + "audit: {age: 90m}\n", []string{`:2:14: 90m is out of range: write an age from 1d to 36500d`}},
		{"audit, too long", node + "audit: {age: 36501d}\n", []string{`:2:14: 36501d is out of range`}},
		{"audit, negative", node + "audit: {age: -1d}\n", []string{`:2:14: "-1d" is not an age`}},
		{"audit, too small", node + "audit: {bytes: 15MiB}\n", []string{`:2:16: 15MiB is out of range: write a size from 16MiB to`}},
		{"timeout", node + "programs: {p: {builtin: echo, timeout: 5}}\n", []string{`:2:40: "5" is not a duration: write a duration with a unit, such as 90s, 5m or 1h30m`}},
		{"no time", node + "programs: {p: {builtin: echo, timeout: 0s}}\n", []string{":2:40: 0s is not a positive duration"}},
		{"concurrency", node + "programs: {p: {builtin: echo, concurrency: 0}}\n", []string{`:2:44: concurrency cannot be "0": write a whole number from 1 to 10000: how many invocations may run at once`}},
		{"dir of a builtin", node + "programs: {p: {builtin: echo, dir: /x}}\n", []string{":2:31: dir is for exec programs: remove it"}},
		{"user root", node + "programs: {p: {exec: [x], user: root}}\n", []string{":2:33: no program runs as root: let a service of its own do what needs root, or leave `user` out"}},
		{"user", node + "programs: {p: {exec: [x], user: a b}}\n", []string{`:2:33: "a b" cannot name a user`}},
		{"user of http", node + "programs: {p: {http: \"https://h/\", user: a}}\n", []string{":2:36: user is for exec programs: remove it"}},
		{"tasks", node + "programs: {p: {exec: [x], tasks: many}}\n", []string{`:2:34: tasks cannot be "many": write a whole number from 1 to 1000000: how many processes and threads it may have at once`}},
		{"confine", node + "programs: {p: {exec: [x], confine: maybe}}\n", []string{`:2:36: "maybe" is neither true nor false`}},
		{"env of http", node + "programs: {p: {http: \"http://x/\", env: {A: b}}}\n", []string{":2:35: env is for exec programs: remove it"}},
		{"env's name", node + "programs: {p: {exec: [x], env: {A-B: c}}}\n", []string{`:2:33: "A-B" cannot name an environment variable`}},
		{"env of the daemon", node + "programs: {p: {exec: [x], env: {FMQM_NODE: c}}}\n", []string{":2:33: only the daemon sets FMQM_NODE"}},
		{"env's value", node + "programs: {p: {exec: [x], env: {A: [b]}}}\n", []string{":2:36: the value is not a text: write the variable's value"}},
		{"secret's variable", node + "programs: {p: {exec: [x], secrets: {A-B: c}}}\n", []string{`:2:37: "A-B" cannot name an environment variable`}},
		{"secret of the daemon", node + "programs: {p: {exec: [x], secrets: {FMQM_KEY: c}}}\n", []string{":2:37: only the daemon sets FMQM_KEY"}},
		{"secret and not", node + "programs: {p: {exec: [x], secrets: {A: c}, env: {A: d}}}\n", []string{":2:37: A is given twice, as a secret and in the open: remove one of the two"}},
		{"secret of systemd", node + "programs: {p: {exec: [x], secrets: {A: \"credential:a\"}}}\n", []string{":2:40: there are no credentials: CREDENTIALS_DIRECTORY is not set: write LoadCredential=a:FILE into the unit"}},
		{"secret of a builtin", node + "programs: {p: {builtin: echo, secrets: {A: b}}}\n", []string{":2:41: builtin programs have no secrets: remove `secrets`"}},
		{"secret in plain text", node + "programs: {p: {http: \"http://h.org/\", secrets: {X-Key: b}}}\n", []string{":2:12: the secrets of program p would go to h.org in plain text: write https://, or accept with `insecure: true`"}},
		{"header's name", node + "programs: {p: {http: \"https://h/\", headers: {\"X Y\": b}}}\n", []string{`:2:46: "X Y" cannot name a header: use letters, digits and -`}},
		{"header of the daemon", node + "programs: {p: {http: \"https://h/\", headers: {fmqm-node: b}}}\n", []string{":2:46: only the daemon sets the header fmqm-node: use another name"}},
		{"header that is secret", node + "programs: {p: {http: \"https://h/\", secrets: {Host: b}}}\n", []string{":2:46: only the daemon sets the header Host"}},
		{"header's value", node + "programs: {p: {http: \"https://h/\", headers: {X-Y: \"a\\nb\"}}}\n", []string{":2:51: the value is not a text of one line: write the header's value; a secret one goes into a file that `secrets` names"}},
		{"headers of exec", node + "programs: {p: {exec: [x], headers: {A: b}}}\n", []string{":2:27: headers is for http programs: remove it"}},
		{"half a certificate", node + "programs: {p: {http: \"https://h/\", key: k}}\n", []string{":2:12: program p has only one of certificate and key: write both"}},
		{"certificate without TLS", node + "programs: {p: {http: \"http://127.0.0.1/\", ca: c}}\n", []string{":2:12: program p has a certificate for an address without TLS: write https://"}},
		{"certificate that is not there", node + "programs: {p: {http: \"https://h/\", certificate: /x/c, key: /x/k}}\n", []string{":2:12: program p: the certificate of the client: open /x/c: no such file or directory: write the names of PEM files"}},
		{"password in a wrong address", node + "programs: {p: {http: \"ftp://a:b@h/\"}}\n", []string{`:2:22: http: "ftp://xxxxx@h/" is not an address of a web service`}},
		{"rights", node + "rights: bob\n", []string{":2:9: rights is not a list: write [{who: NAME, roles: [ROLE, ...]}]"}},
		{"rights of nobody", node + "rights: [{roles: [clerk]}]\n", []string{":2:10: this entry of rights has no who: write {who: NAME, roles: [ROLE, ...]}"}},
		{"rights to nothing", node + "rights: [{who: bob}]\n", []string{":2:10: this entry of rights has no roles: write {who: NAME, roles: [ROLE, ...]}"}},
		{"rights of a stranger", node + "rights: [{who: [bob, 'host:b'], roles: [clerk]}]\n", []string{`:2:22: "host:b" cannot be somebody who has rights: write the NAME of an operator's certificate`}},
		{"rights of another kind", node + "rights: [{who: bob, roles: [clark]}]\n", []string{`:2:29: there is no role "clark": write one of: viewer, clerk, operator, definer, admin`}},
		{"rights over what is no process", node + "rights: [{who: bob, roles: [clerk], processes: [a/b]}]\n", []string{`:2:49: "a/b" cannot be the name of a process`}},
		{"remote operators", node + "remote_operators: B\n", []string{":2:19: remote_operators is not a list: write [{site: NAME, operators: [NAME, ...]}]"}},
		{"remote operator", node + "remote_operators: [B]\n", []string{":2:20: an entry of remote_operators is not a mapping"}},
		{"remote operators' key", node + "remote_operators: [{sites: B}]\n", []string{`:2:21: unknown key "sites": did you mean site?`}},
		{"remote operators of no site", node + "remote_operators: [{operators: [a]}]\n", []string{`:2:20: this entry of remote_operators has no site: write {site: NAME, operators: [NAME, ...]}; site: "*" is every site`}},
		{"remote operators' site", node + "remote_operators: [{site: b.org}]\n", []string{`:2:27: "b.org" cannot name a site: use letters, digits, _ and -, and * for any characters, as in branch-*`}},
		{"remote operators of this node", node + "remote_operators: [{site: B}, {site: A}]\n", []string{":2:38: A is this node itself: remove it"}},
		{"remote operators, none", node + "remote_operators: [{site: B, operators: []}]\n", []string{":2:41: operators is empty, so this entry accepts nobody: name some, or leave operators out"}},
		{"remote operator's name", node + "remote_operators: [{site: B, operators: [\"a b\"]}]\n", []string{`:2:42: "a b" cannot name an operator: use letters`}},
		{"limit's key", node + "limits: {containers: 1MiB}\n", []string{`:2:10: unknown key "containers": did you mean container?`}},
		{"limit's size", node + "limits: {container: 1MB}\n", []string{`:2:21: "1MB" is not a size: write a size such as 512KiB or 1MiB`}},
		{"limit too high", node + "limits: {container: 2MiB}\n", []string{":2:21: 2MiB is out of range: write a size from 1KiB to 1MiB"}},
		{"limit too low", node + "limits: {table: 1}\n", []string{":2:17: 1 is out of range: write a size from 1KiB to 8MiB"}},
		{"quota too low", node + "limits: {transmission: 1MiB}\n", []string{":2:24: 1MiB is out of range: write a size from 16MiB to"}},
		{"mark too low", node + "limits: {stop: 10MiB}\n", []string{":2:16: 10MiB is out of range: write a size from 96MiB to"}},
		{"marks the wrong way round", node + "limits: {free: 100MiB}\n", []string{":2:9: work would stop (stop: 128MiB) before it is slowed down (free: 100MiB): write a `free` above `stop`"}},
		{"marks that are equal may be", node + "limits: {free: 128MiB, stop: 128MiB, reserve: 1XB}\n", []string{":2:47: \"1XB\" is not a size"}},
		{"logs that find no room", node + "logs: {bytes: 1MiB, attempt: 256KiB}\n", []string{":2:7: few attempts of 256KiB find room in 1MiB: write `bytes` of at least 2MiB, or a smaller `attempt`"}},
		{"logs too small", node + "logs: {bytes: 64KiB}\n", []string{":2:15: 64KiB is out of range: write a size from 1MiB to"}},
		{"logs of an attempt too large", node + "logs: {attempt: 1MiB}\n", []string{":2:17: 1MiB is out of range: write a size from 4KiB to 256KiB"}},
		{"logs that are too young", node + "logs: {age: 1h}\n", []string{":2:13: 1h is out of range: write an age from 1d to"}},
		{"limit overflows", node + "limits: {table: 99999999999999GiB}\n", []string{":2:17: \"99999999999999GiB\" is not a size"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, dir, err := load(t, tc.text, nil, config.Overrides{})
			if err == nil {
				t.Fatalf("accepted as %+v", c)
			}
			if want := dir + "/fmqmd.yaml" + tc.want[0]; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
			for _, w := range tc.want[1:] {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in\n%v", w, err)
				}
			}
			var problems config.Problems
			if !errors.As(err, &problems) || len(problems) != 1 {
				t.Errorf("not one problem, but\n%v", err)
			}
		})
	}
}

func TestAllMistakesAreReportedInTheOrderOfTheFile(t *testing.T) {
	_, dir, err := load(t, "listen: x\nnode: 1a\nprograms: {p: {builtin: no, timeout: 1}}\nlimit: {}\n", nil, config.Overrides{})
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
		if p.Where != dir+"/fmqmd.yaml" {
			t.Errorf("problem in %q", p.Where)
		}
	}
	if d := cmp.Diff([]int{1, 2, 3, 3, 4}, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s\n%v", d, err)
	}
}

func TestAMistakeFromOutsideNamesWhereItIs(t *testing.T) {
	_, _, err := load(t, "node: A\n", map[string]string{"FMQM_LISTEN": "x"}, config.Overrides{Node: "?", Socket: "/" + strings.Repeat("s", 200)})
	for _, want := range []string{`--node: "?" cannot name a node`, `FMQM_LISTEN: "x" is not an address`, "--socket: the path of the socket"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	none := func(string) string { return "" }
	dir := t.TempDir()
	_, err := config.Load(dir+"/absent.yaml", none, config.Overrides{})
	if want := "absent.yaml: cannot read the configuration: no such file or directory: write one (`node: A` is enough to begin with), or name yours (fmqmd run --config FILE)"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = config.Load(dir, none, config.Overrides{})
	if err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = config.Load(large, none, config.Overrides{})
	if err == nil || !strings.Contains(err.Error(), "the file has over 4194304 bytes: this is not the configuration of a node") {
		t.Errorf("got %v", err)
	}
}

func TestTheCaretStandsUnderItsCharacter(t *testing.T) {
	_, _, err := load(t, "node: A\nlimits: {\"ü\": 1}\n", nil, config.Overrides{})
	if want := "    limits: {\"ü\": 1}\n             ^"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
