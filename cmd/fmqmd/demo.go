package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// demoTimeout bounds each thing that the demo waits for, on a machine with other things
// to do: here none takes longer than some seconds.
const demoTimeout = time.Minute

// brokerTimeout bounds the trial of a broker.
const brokerTimeout = 20 * time.Second

// demoLog is the file to which all sites log.
const demoLog = "fmqmd.log"

// demoOrder is an order that takes the long way: over the credit office at B.
const demoOrder = `{"customer": "carol", "item": "anchor", "quantity": 3, "amount": 4800}`

func demoCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "demo",
		Usage: "see it work: four sites, an order, a count of stock, an invoice for people, two power cuts",
		Description: "Starts four sites in this process, with stores in a temporary directory. Sends an order through\n" +
			"them, kills one site in the middle, and brings it back. Then three sites count their stock at once;\n" +
			"one is killed and stays away, until a deadline goes on without it. Last an invoice is offered to\n" +
			"people of two sites, one of whom takes it. This takes some 20 seconds. The sites talk directly, or\n" +
			"with --broker through a RabbitMQ. With a broker they use certificates, and leave the queues fmqm.A\n" +
			"to fmqm.D in its virtual host.",
		UsageText: "fmqmd demo\nfmqmd demo --keep /tmp/fmqm-demo\nfmqmd demo --broker amqp://localhost/fmqm-demo",
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "keep", Usage: "use `DIR` for the stores and programs, and keep it"},
		}, demoBrokerFlags()...),
		Action: runDemo,
	}
}

func runDemo(c *ucli.Context) (err error) {
	broker, err := demoBrokerOf(c)
	if err != nil {
		return err
	}
	dir := c.String("keep")
	if dir == "" {
		if dir, err = os.MkdirTemp("", "fmqm-demo-"); err != nil {
			return err
		}
		defer func() { err = cleared(c.Context, dir, err) }()
	}
	s := cli.From(c)
	d := &demo{dir: dir, broker: broker, stage: newStage(s.Out, cli.NewStyle(s.Out, s.Env)), daemons: map[string]*daemon.Daemon{}}
	defer func() { err = errors.Join(err, d.stop()) }()
	ctx, cancel := context.WithTimeout(c.Context, 2*demoTimeout)
	defer cancel()
	return d.play(ctx, c.String("keep") != "")
}

// cleared removes what the demo made, unless it failed and there is a log that says why. A
// demo whose ctx has ended was interrupted.
func cleared(ctx context.Context, dir string, failed error) error {
	log := filepath.Join(dir, demoLog)
	if _, err := os.Stat(log); failed == nil || err != nil || ctx.Err() != nil {
		return errors.Join(failed, os.RemoveAll(dir))
	}
	return fmt.Errorf("%w: read the logs of the sites in %s, then remove %s", failed, log, dir)
}

// demo is the play: its sites, and the stage on which they are seen.
type demo struct {
	dir      string
	broker   demoBroker
	definer  ed25519.PrivateKey // nil: tables are not signed
	stage    *stage
	daemons  map[string]*daemon.Daemon
	instance uuid.UUID
}

// play goes through the scenes.
func (d *demo) play(ctx context.Context, kept bool) error {
	d.stage.title("Four sites, each with its own store. No database and no head office between them.")
	if d.broker.url != "" {
		d.stage.say("Their messages go through the broker %s, which they do not trust.", d.broker.host)
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	if err := d.upload(ctx); err != nil {
		return err
	}
	if err := d.order(ctx); err != nil {
		return err
	}
	if err := d.count(ctx); err != nil {
		return err
	}
	if err := d.invoice(ctx); err != nil {
		return err
	}
	d.stage.epilogue(d.dir, kept)
	return nil
}

// order plays the first half: an order over four sites, one of which dies and comes back.
func (d *demo) order(ctx context.Context) error {
	d.stage.subject("order")
	d.stage.title("An order of 4,800 comes in at site A. Above 1,000 the credit office at B has to agree.")
	if err := d.begin(ctx, demoProcess, json.RawMessage(demoOrder)); err != nil {
		return err
	}
	if err := d.until(ctx, "credit at B to run", func(s api.Status) bool { return stateOf(s, "credit") == api.ActivityRunning }); err != nil {
		return err
	}
	d.stage.title("Power cut at B, in the middle of its program. The other sites go on with their work.")
	if err := d.kill("B"); err != nil {
		return err
	}
	if err := d.until(ctx, "stock at A to end", func(s api.Status) bool { return stateOf(s, "stock") == api.ActivityTerminated }); err != nil {
		return err
	}
	if err := d.tellWaiting(ctx); err != nil {
		return err
	}
	d.stage.title("B is back. The order is still in its queues, so the program runs again, under the same key.")
	if err := d.start("B"); err != nil {
		return err
	}
	d.stage.back("B")
	status, err := d.finished(ctx)
	if err != nil {
		return err
	}
	d.stage.settle()
	d.stage.result(status)
	return nil
}

// kill cuts the power of a site.
func (d *demo) kill(site string) error {
	if err := d.daemons[site].Kill(); err != nil {
		return err
	}
	delete(d.daemons, site)
	d.stage.kill(site)
	return nil
}

func (d *demo) upload(ctx context.Context) error {
	if err := d.connected(ctx); err != nil {
		return err
	}
	for _, process := range []string{demoProcess, demoCount, demoInvoice} {
		r, err := demoTables(d.dir, process, d.definer)
		if err != nil {
			return err
		}
		answer, err := d.daemons["A"].Node.Upload(ctx, r)
		if err != nil {
			return err
		}
		for _, line := range answer.Nodes {
			if line.Result != api.ResultStored && line.Result != api.ResultUnchanged {
				return cli.Failedf("the table of %s for %s is %s: %s", process, line.Node, line.Result, line.Reason)
			}
			d.stage.note(line.Node, "has its table of the process "+process)
		}
	}
	return nil
}

// connected waits until all sites hear one another.
func (d *demo) connected(ctx context.Context) error {
	return d.poll(ctx, "the sites to connect", func() (bool, error) {
		for _, one := range d.daemons {
			nodes, err := one.Node.Nodes(ctx)
			if err != nil {
				return false, err
			}
			for _, n := range nodes.Nodes {
				if n.State != api.NodeSelf && n.State != "connected" {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// begin starts what the next scenes are about, at A.
func (d *demo) begin(ctx context.Context, process string, input json.RawMessage) error {
	d.instance = uuid.Must(uuid.NewV7())
	_, err := d.daemons["A"].Node.Start(ctx, api.StartRequest{Instance: d.instance, Process: process, Input: input})
	return err
}

// until waits for something to be true of what was begun, with all that is inside.
func (d *demo) until(ctx context.Context, what string, is func(api.Status) bool) error {
	return d.poll(ctx, what, func() (bool, error) {
		s, err := d.daemons["A"].Node.StatusOf(ctx, d.instance, api.StatusRequest{Tree: true})
		return err == nil && is(s), err
	})
}

func (d *demo) poll(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		done, err := is()
		if err != nil || done {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return cli.Failedf("waited %v for %s", demoTimeout, what)
		}
	}
}

// stateOf gives the state of an activity, or of an element of a bundle by its PATH.
func stateOf(s api.Status, path string) api.ActivityState {
	for _, a := range s.Activities {
		if a.Activity == path || a.Scope == path {
			return a.State
		}
	}
	return ""
}

// tellWaiting says what waits for what while a site is down, as fmqm why does.
func (d *demo) tellWaiting(ctx context.Context) error {
	d.stage.settle()
	why, err := d.daemons["A"].Node.Why(ctx, d.instance, "")
	if err != nil {
		return err
	}
	for _, w := range why.Waits {
		d.stage.why(w)
	}
	return nil
}

// stop ends the sites that still run.
func (d *demo) stop() error {
	var errs []error
	for _, one := range d.daemons {
		ctx, cancel := context.WithTimeout(context.Background(), demoTimeout)
		errs = append(errs, one.Stop(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// open starts all sites.
func (d *demo) open(ctx context.Context) error {
	var err error
	if d.definer, err = demoFiles(d.dir, d.broker); err != nil {
		return err
	}
	if err := d.tryBroker(ctx); err != nil {
		return err
	}
	for _, name := range demoSites {
		if err := d.start(name); err != nil {
			return err
		}
	}
	return nil
}

// tryBroker says in plain words what keeps the sites from the broker, as
// check-config --connect does.
func (d *demo) tryBroker(ctx context.Context) error {
	if d.broker.url == "" {
		return nil
	}
	conf, err := demoConfig(d.dir, demoSites[0])
	if err != nil {
		return err
	}
	found, err := daemon.Connect(ctx, conf, brokerTimeout)
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Result == daemon.ResultFailed {
			return cli.Failedf("%s", f.Text)
		}
	}
	return nil
}

func (d *demo) start(name string) error {
	conf, err := demoConfig(d.dir, name)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(d.dir, demoLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	one, err := daemon.Start(daemon.Options{
		Config: conf, Log: zerolog.New(log).With().Timestamp().Logger(),
		Observe: func(node processtable.NodeID, r record.AuditRecord) { d.stage.record(string(node), r) },
	})
	if err != nil {
		return fmt.Errorf("site %s: %w", name, err)
	}
	d.daemons[name] = one
	return nil
}
