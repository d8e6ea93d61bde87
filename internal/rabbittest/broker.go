package rabbittest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"fmqm/internal/faultnet"
)

// User and Password are of the account that may do everything in every virtual host.
const (
	User     = "fmqm"
	Password = "fmqm-test"
)

const (
	startLimit = 5 * time.Minute // a cold start takes 4 to 9 s, and minutes where many others compute
	stopLimit  = 60 * time.Second
)

// Options says how a broker is to be. Only Dir is needed.
type Options struct {
	Dir    string   // for everything of the broker; the caller removes it
	TLS    *TLS     // nil: no TLS listener
	Config []string // more lines of rabbitmq.conf
}

// TLS is a second listener, at [Broker.TLSAddr]. Clients with a certificate may log in
// by SASL EXTERNAL as the user with its common name.
type TLS struct {
	CA, Cert, Key string // files, PEM
	Require       bool   // a client must have a certificate
}

// Broker is a RabbitMQ. Its methods may be called by one goroutine at a time, but for
// Eval and what is built on it, LogTail, Addr, TLSAddr and URL, which any may call.
type Broker struct {
	o      Options
	tools  tools
	ports  struct{ amqp, tls, dist, epmd int }
	held   []io.Closer // what keeps the ports from other tests
	cookie string

	mapper *process // epmd
	server *process
	log    tail

	mu    sync.Mutex
	setup []string // expressions that make users and virtual hosts, for after a Wipe
	evals int
}

// tools are the programs of RabbitMQ and Erlang.
type tools struct{ server, ctl, mapper, call string }

// New prepares a broker and does not start it. Close it in any case.
func New(o Options) (*Broker, error) {
	t, err := find()
	if err != nil {
		return nil, err
	}
	b := &Broker{o: o, tools: t, cookie: rand.Text()}
	if b.o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("prepare RabbitMQ: %w", err)
	}
	for _, p := range []*int{&b.ports.amqp, &b.ports.tls, &b.ports.dist, &b.ports.epmd} {
		var hold io.Closer
		if *p, hold, err = faultnet.Port(); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare RabbitMQ: %w", err), b.release())
		}
		b.held = append(b.held, hold)
	}
	if err := b.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare RabbitMQ: %w", err), b.release())
	}
	return b, nil
}

// release gives the ports back.
func (b *Broker) release() (err error) {
	for _, hold := range b.held {
		err = errors.Join(err, hold.Close())
	}
	b.held = nil
	return err
}

// find looks for what is needed. Debian's /usr/sbin/rabbitmq-server changes the user
// and the directory, so the script behind it is used.
func find() (tools, error) {
	var t tools
	scripts, _ := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
	switch path, err := exec.LookPath("rabbitmq-server"); {
	case len(scripts) > 0:
		t.server = scripts[len(scripts)-1]
	case err == nil:
		t.server = path
	default:
		return t, errors.New("RabbitMQ is not installed: as root on Debian run scripts/install-rabbitmq.sh (it starts no service)")
	}
	t.ctl = filepath.Join(filepath.Dir(t.server), "rabbitmqctl")
	for _, p := range []struct {
		name string
		path *string
	}{{"epmd", &t.mapper}, {"erl_call", &t.call}} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			path = "/usr/lib/erlang/bin/" + p.name
		}
		if _, err := os.Stat(path); err != nil {
			return t, fmt.Errorf("RabbitMQ is installed, and %s of Erlang is missing: install erlang-base", p.name)
		}
		*p.path = path
	}
	return t, nil
}

func (b *Broker) path(name ...string) string {
	return filepath.Join(append([]string{b.o.Dir}, name...)...)
}

func (b *Broker) prepare() error {
	for _, dir := range []string{"home", "log", "data", "eval"} {
		if err := os.MkdirAll(b.path(dir), 0o700); err != nil {
			return err
		}
	}
	plugins := "[]."
	conf := []string{
		"listeners.tcp.1 = " + b.Addr(),
		"default_user = " + User,
		"default_pass = " + Password,
		"loopback_users = none",
		"vm_memory_high_watermark.absolute = 1GiB",
		"disk_free_limit.absolute = 10MB",
		"log.console = true",
		"log.console.level = warning",
		"log.file = false",
	}
	if t := b.o.TLS; t != nil {
		plugins = "[rabbitmq_auth_mechanism_ssl]."
		conf = append(conf,
			"listeners.ssl.1 = "+b.TLSAddr(),
			"ssl_options.cacertfile = "+t.CA, "ssl_options.certfile = "+t.Cert, "ssl_options.keyfile = "+t.Key,
			"ssl_options.verify = verify_peer",
			fmt.Sprintf("ssl_options.fail_if_no_peer_cert = %t", t.Require),
			"auth_mechanisms.1 = EXTERNAL", "auth_mechanisms.2 = PLAIN",
			"ssl_cert_login_from = common_name")
	}
	conf = append(conf, b.o.Config...)
	for name, text := range map[string]string{
		"home/.erlang.cookie": b.cookie, "enabled_plugins": plugins + "\n",
		"env.conf": "", "rabbitmq.conf": strings.Join(conf, "\n") + "\n",
	} {
		if err := os.WriteFile(b.path(name), []byte(text), 0o400); err != nil {
			return err
		}
	}
	return nil
}

const nodeName = "fmqm-test@localhost"

// env is the environment of everything that belongs to this broker.
func (b *Broker) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"HOME=" + b.path("home"),
		fmt.Sprintf("ERL_EPMD_PORT=%d", b.ports.epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_CRASH_DUMP=/dev/null", "ERL_CRASH_DUMP_SECONDS=0",
		"RABBITMQ_NODENAME=" + nodeName,
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", b.ports.dist),
		"RABBITMQ_MNESIA_BASE=" + b.path("data"), "RABBITMQ_LOG_BASE=" + b.path("log"),
		"RABBITMQ_CONFIG_FILE=" + b.path("rabbitmq.conf"), "RABBITMQ_ADVANCED_CONFIG_FILE=" + b.path("advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + b.path("enabled_plugins"), "RABBITMQ_CONF_ENV_FILE=" + b.path("env.conf"),
		"RABBITMQ_PID_FILE=" + b.path("pid"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RUNNING_UNDER_SYSTEMD=1", // the script becomes the server, and the signals reach it
	}
}

func (b *Broker) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = b.o.Dir, b.env()
	return cmd
}

// Start starts the broker, on the same ports and with the same data as before, and
// returns when it takes connections: after 4 to 9 s.
func (b *Broker) Start() error {
	if b.server.running() {
		return errors.New("start RabbitMQ: it runs")
	}
	if !b.mapper.running() {
		p, err := launch(b.command(b.tools.mapper, "-d", "-d", "-d", "-address", "127.0.0.1", "-port", fmt.Sprint(b.ports.epmd)),
			&tail{}, "entering the main select")
		if err != nil {
			return err
		}
		b.mapper = p
		if err := p.await(startLimit); err != nil {
			return fmt.Errorf("start RabbitMQ: %w", err)
		}
	}
	if err := b.boot(); err != nil {
		return fmt.Errorf("start RabbitMQ: %w", err)
	}
	return b.replay()
}

// boot starts the server, again where it ends while it starts: steps of that have time-outs
// of 5 s of their own, which a machine that stalls lets pass.
func (b *Broker) boot() (err error) {
	const tries = 5
	for range tries {
		if b.server, err = launch(b.command(b.tools.server), &b.log, "completed with"); err != nil {
			return err
		}
		if err = b.server.await(startLimit); err == nil {
			return nil
		}
		again := !b.server.running()
		b.server.kill()
		if !again {
			return err
		}
	}
	return err
}

// Running says whether the broker's process runs.
func (b *Broker) Running() bool { return b.server.running() }

// Stop stops the broker in order; its data stays.
func (b *Broker) Stop() { b.server.terminate(stopLimit) }

// Kill ends the broker as kill -9 does, and waits until it is gone.
func (b *Broker) Kill() { b.server.kill() }

// Restart kills the broker if it runs, and starts it.
func (b *Broker) Restart() error {
	b.Kill()
	return b.Start()
}

// Freeze stops the broker's processes where they are: its sockets stay open and nothing
// answers. Thaw lets them go on.
func (b *Broker) Freeze() error { return b.server.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (b *Broker) Thaw() error { return b.server.signal(syscall.SIGCONT) }

// Wipe kills the broker and removes its data. What AddUser, AddVHost and Permit made
// is made again by the next Start, as by a broker whose definitions are in a file.
func (b *Broker) Wipe() error {
	b.Kill()
	if err := os.RemoveAll(b.path("data")); err != nil {
		return fmt.Errorf("wipe RabbitMQ: %w", err)
	}
	return os.MkdirAll(b.path("data"), 0o700)
}

// Close kills everything that belongs to the broker.
func (b *Broker) Close() error {
	b.Kill()
	b.mapper.kill()
	return b.release()
}

// Addr is where clients connect, host:port.
func (b *Broker) Addr() string { return fmt.Sprintf("127.0.0.1:%d", b.ports.amqp) }

// TLSAddr is where clients connect with TLS, host:port, if Options.TLS says so.
func (b *Broker) TLSAddr() string { return fmt.Sprintf("127.0.0.1:%d", b.ports.tls) }

// URL is amqp://addr/vhost, without user and password; addr may be of a proxy.
func URL(addr, vhost string) string { return "amqp://" + addr + "/" + url.PathEscape(vhost) }

// LogTail is the end of the broker's log.
func (b *Broker) LogTail() string { return b.log.String() }
