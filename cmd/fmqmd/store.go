package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/internal/text"
	"fmqm/processtable"
	"fmqm/queue/backup"
	"fmqm/queue/inspect"
)

func backupCommand() *ucli.Command {
	return &ucli.Command{
		Name: "backup", Usage: "write a verified backup of a running daemon's store", ArgsUsage: "DIR",
		Description: "Asks the daemon at its local socket for all records of its store at one moment, while work goes\n" +
			"on. Writes them to DIR/NODE-TIME.fmqmbackup, verifies the file and prints its name. It takes as\n" +
			"long as it takes: --timeout is how long the daemon may say nothing.",
		UsageText: "fmqmd backup /var/backups/fmqm\nfmqmd backup /var/backups/fmqm --to unix:/run/fmqm/fmqmd.sock",
		Flags:     []ucli.Flag{cli.ToFlag(), cli.TimeoutFlag(), cli.OutputFlag()},
		Action:    backUp,
	}
}

// backedUp is what backup prints; its keys are API.
type backedUp struct {
	File string `json:"file"`
	backup.Info
}

func backUp(c *ucli.Context) error {
	printer, client, err := cli.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	dir := c.Args().First()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cli.Failedf("backup: %v", err)
	}
	removed, err := removeAbandoned(dir)
	for _, path := range removed {
		cli.Talk(c, "removed %s: a backup that was killed had left it", path)
	}
	if err != nil {
		return cli.Failedf("backup: %v", err)
	}
	part, err := newPart(dir)
	if err != nil {
		return cli.Failedf("backup: %v", err)
	}
	defer part.Close()
	defer os.Remove(part.Name())
	if err := errors.Join(client.Backup(c.Context, part), part.Sync()); err != nil {
		return err
	}
	info, err := verifyBackupFile(c.Context, part.Name())
	if err != nil {
		return cli.Failedf("backup: the file that was written is damaged: %v", err)
	}
	if !processtable.ValidNode(string(info.Node)) { // it becomes the name of a file
		return cli.Failedf("backup: the node calls itself %q, which cannot name a node", info.Node)
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%s.fmqmbackup", info.Node, time.Now().UTC().Format("20060102T150405Z")))
	if err := os.Rename(part.Name(), file); err != nil {
		return cli.Failedf("backup: %v", err)
	}
	return printer.Object(backedUp{file, info}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: node %s, %s, %d bytes, after commit %d\n", file, cli.OneLine(string(info.Node)), records(info.Records), info.Bytes, info.Commit)
		return err
	})
}

func verifyBackupFile(ctx context.Context, path string) (backup.Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return backup.Info{}, err
	}
	defer f.Close()
	return backup.Verify(untilOver{ctx, f})
}

func dataFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "data", Required: true, Usage: "`DIR` of the store, as `data` in the configuration"}
}

func restoreCommand() *ucli.Command {
	return &ucli.Command{
		Name: "restore", Usage: "make a new data directory from a backup", ArgsUsage: "FILE",
		Description: "Fills a data directory that is empty or missing. Its peers know what the node did after the\n" +
			"backup, and the node does not. So the node has a new store to them: each link stops and says\n" +
			"so, until an operator decides (fmqm rebuild).",
		UsageText: "fmqmd restore /var/backups/fmqm/A-20261121T020000Z.fmqmbackup --data /var/lib/fmqm",
		Flags:     []ucli.Flag{dataFlag()},
		Action: func(c *ucli.Context) error {
			file, dir := c.Args().First(), c.String("data")
			if err := notEmpty(dir); err != nil {
				return err
			}
			if _, err := verifyBackupFile(c.Context, file); err != nil {
				return cli.Failedf("restore: %s: %v", file, err)
			}
			if err := notEmpty(dir); err != nil { // a daemon may have been started meanwhile
				return err
			}
			info, err := restore(c.Context, file, dir)
			if err != nil {
				return cli.Failedf("restore: %v", err)
			}
			if o, err := ownerOf(dir); err == nil && o.uid == 0 {
				cli.Talk(c, "%s belongs to root: give it to the user that runs the daemon (chown -R USER: %s)", dir, dir)
			}
			_, err = fmt.Fprintf(cli.From(c).Out, "%s: node %s, %s, as after commit %d\n", dir, cli.OneLine(string(info.Node)), records(info.Records), info.Commit)
			return err
		},
	}
}

func notEmpty(dir string) error {
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		return nil //nolint:nilerr // who makes files there says it
	}
	return &cli.Error{Exit: cli.ExitRefused, Text: fmt.Sprintf("restore: %s is not empty: move it away, or name another directory", dir)}
}

// takeBack removes what a restore that failed has left in a directory that was empty, or
// not there: the next one would find it in its way.
func takeBack(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// restore fills dir, which is empty or not there. After an error it is so again; but what
// is not its own it leaves: a daemon that has the directory open has made a store there.
func restore(ctx context.Context, file, dir string) (info backup.Info, err error) {
	f, err := os.Open(file)
	if err != nil {
		return info, err
	}
	defer f.Close()
	_, missing := os.Stat(dir)
	locked := false
	err = asOwner(dir, func() error {
		engine, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			locked = errors.Is(err, badger.ErrLocked)
			return err
		}
		info, err = backup.Restore(untilOver{ctx, f}, engine, nil)
		return errors.Join(err, engine.Close())
	})
	if err != nil && !locked {
		err = errors.Join(err, takeBack(dir, errors.Is(missing, fs.ErrNotExist)))
	}
	return info, err
}

func verifyCommand() *ucli.Command {
	return &ucli.Command{
		Name: "verify", Usage: "check every record of a stopped daemon's store, or of a backup", ArgsUsage: "[FILE]",
		Description: "Reads every record: checksums, contents, bodies, the running hashes of the links. The exit code\n" +
			"is 1 if something is wrong, else 0. The daemon must not run on the directory.",
		UsageText: "fmqmd verify --data /var/lib/fmqm\nfmqmd verify /var/backups/fmqm/A-20261121T020000Z.fmqmbackup",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "data", Usage: "`DIR` of the store, as `data` in the configuration"},
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			switch file, dir := c.Args().First(), c.String("data"); {
			case (file == "") == (dir == ""):
				return cli.Usagef("verify: name a backup, or a store with --data DIR")
			case file != "":
				info, err := verifyBackupFile(c.Context, file)
				if err != nil {
					return cli.Failedf("verify: %s: %v", file, err)
				}
				return printer.Object(backedUp{file, info}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s: good: node %s, %s, after commit %d\n", file, cli.OneLine(string(info.Node)), records(info.Records), info.Commit)
					return err
				})
			default:
				return verifyStore(c.Context, printer, dir)
			}
		},
	}
}

func verifyStore(ctx context.Context, printer *cli.Printer, dir string) error {
	report, err := atRest(dir, func(e *badger.Engine) (inspect.Report, error) { return inspect.Verify(readable{e, ctx}) })
	if err != nil {
		return cli.Failedf("verify: %v", err)
	}
	err = printer.Object(report, func(w io.Writer) error {
		total := uint64(0)
		for _, n := range report.Records {
			total += n
		}
		for _, problem := range report.Problems {
			fmt.Fprintln(w, cli.OneLine(problem))
		}
		for _, what := range report.Unfinished {
			fmt.Fprintf(w, "%s; verify again after that: until then it judges each record by itself\n", cli.OneLine(what))
		}
		_, err := fmt.Fprintf(w, "%s: node %s, %s, after commit %d, %s\n", dir, cli.OneLine(string(report.Node)), records(total), report.Commit, text.Counted(len(report.Problems), "problem", "problems"))
		return err
	})
	if err == nil && len(report.Problems) > 0 {
		return &cli.Error{Exit: cli.ExitFailed}
	}
	return err
}

// atRest opens a store that is there, for reading.
func atRest[T any](dir string, f func(e *badger.Engine) (T, error)) (out T, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "MANIFEST" || e.Name() == "COMMITTED" || filepath.Ext(e.Name()) == ".sst"
	}) {
		return out, fmt.Errorf("%s has no store: name the directory that is `data` in the configuration", dir)
	}
	err = asOwner(dir, func() error {
		engine, err := daemon.UntilFree(func() (*badger.Engine, error) { return badger.Open(badger.Options{Dir: dir}) })
		if err != nil {
			return err
		}
		out, err = f(engine)
		return errors.Join(err, engine.Close())
	})
	return out, err
}

func dumpCommand() *ucli.Command {
	return &ucli.Command{
		Name: "dump", Usage: "print every record of a stopped daemon's store",
		Description: "Prints one line for each record, in the order of the store; with -o jsonl all its fields.\nThe daemon must not run on the directory.",
		UsageText:   "fmqmd dump --data /var/lib/fmqm -o jsonl",
		Flags:       []ucli.Flag{dataFlag(), cli.OutputFlag()},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			list := printer.List(true, "KIND", "PROCESS", "INSTANCE", "ACTIVITY", "PEER", "BYTES", "PROBLEM")
			_, err = atRest(c.String("data"), func(e *badger.Engine) (struct{}, error) {
				return struct{}{}, inspect.Dump(readable{e, c.Context}, func(d inspect.Dumped) error {
					return list.Row(d, d.Kind, d.Process, d.Instance, d.Activity, d.Peer, fmt.Sprint(d.Bytes), d.Problem)
				})
			})
			if err != nil {
				return cli.Failedf("dump: %v", err)
			}
			return list.End()
		},
	}
}

// untilOver is a stream that cannot be read any more when ctx has ended.
type untilOver struct {
	ctx context.Context //nolint:containedctx // of the command
	r   io.Reader
}

func (u untilOver) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// readable is the same of a store.
type readable struct {
	store.Engine
	ctx context.Context //nolint:containedctx // of the command
}

func (r readable) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	err := r.Engine.Scan(o, func(key, value []byte) bool { return r.ctx.Err() == nil && visit(key, value) })
	return cmp.Or(err, r.ctx.Err())
}

// records is how many records a store or a backup has.
func records(n uint64) string { return text.Counted(n, "record", "records") }
