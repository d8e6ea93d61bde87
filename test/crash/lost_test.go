package crash

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"fmqm/api"
)

// B loses its store, and A sends it again what it had sent (S4).
var lost = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.ids = append(w.ids, uuid.Must(uuid.NewV7()))
	w.begin(ctx)
	w.inError(ctx)
	w.settle(ctx, false)
	w.b.Stop()
	w.loseStore(w.b)
	w.b.Start()
	w.rebuild(ctx)
	w.inError(ctx)
	w.operate(ctx)
}}

// B is restored from a backup. The restore may be cut off, too: then it is made again.
var restored = &scenario{process: process, input: order, want: whole, play: func(w *world, ctx context.Context) {
	w.begin(ctx)
	w.inError(ctx)
	w.settle(ctx, false)
	file := w.backup(ctx)
	w.b.Stop()
	w.loseStore(w.b)
	w.restore(ctx, file)
	w.b.Start()
	w.rebuild(ctx)
	w.operate(ctx)
}}

// backup makes one of B, which runs, and gives the file.
func (w *world) backup(ctx context.Context) (file string) {
	w.Helper()
	dir := w.b.File("backups")
	until(ctx, w.T, "backup", func() error {
		if out, err := command(ctx, w.b, "", "backup", dir, "--to", w.b.To()); err != nil {
			return notYet("%v: %s", err, out)
		}
		return nil
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		w.Fatal(files, err)
	}
	return filepath.Join(dir, files[0].Name())
}

// restore makes B's store of a backup. Where that is killed, another restore is refused,
// and, unless all was written, so is what there is by the daemon.
func (w *world) restore(ctx context.Context, file string) {
	w.Helper()
	restore := []string{"restore", file, "--data", w.b.File("data")}
	if w.row.command != "" {
		if out, err := command(ctx, w.b, w.row.command, restore...); err == nil || !strings.Contains(err.Error(), "killed") {
			w.Fatalf("restore: %v, and not killed: %s", err, out)
		}
		if out, err := command(ctx, w.b, "", restore...); err == nil || !strings.Contains(out, "is not empty: move it away") {
			w.Errorf("a second restore: %v: %s", err, out)
		}
		if w.row.command == "restore.written" {
			return
		}
		out, err := command(ctx, w.b, "", "run", "--config", w.b.File("fmqmd.yaml"), "--log-format", "json")
		if want := "if a restore was cut off here, empty the directory and restore again"; err == nil || !strings.Contains(out, want) {
			w.Errorf("the daemon runs on half a store: %v: %s", err, out)
		}
		w.loseStore(w.b)
	}
	if out, err := command(ctx, w.b, "", restore...); err != nil {
		w.Fatalf("restore: %v: %s", err, out)
	}
}

// rebuild has A take B's new store for known, and send it again what it lost.
func (w *world) rebuild(ctx context.Context) {
	w.Helper()
	until(ctx, w.T, "A stops its link to the new store", func() error {
		links, err := w.a.Client.Links(ctx)
		if err == nil && (len(links.Links) != 1 || links.Links[0].Stopped == 0) {
			err = notYet("%+v", links.Links)
		}
		return err
	})
	w.uploadTo(ctx, w.b, tablesFor(w.tables, "B"))
	until(ctx, w.T, "rebuild", func() error {
		answer, err := w.a.Client.Rebuild(ctx, api.RebuildRequest{Peer: "B", Do: true})
		if err == nil && answer.Rebuilds[0].Stage != api.RebuildDone {
			err = notYet("%+v", answer.Rebuilds[0])
		}
		return err
	}, api.CodeFailed, api.CodeRefused)
}
