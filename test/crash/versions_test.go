package crash

import (
	"context"

	"fmqm/api"
	"fmqm/test/fleet"
)

// versions: each site finds out that the other has stored the version too, and makes it current.
var versions = &scenario{process: pair, input: order, want: ofPair, play: func(w *world, ctx context.Context) {
	w.a.Start()
	w.b.Start()
	w.uploadTo(ctx, w.a, w.tables)
	w.everywhere(ctx)
	w.startAll(ctx)
}}

// hurried: B is down while an upload says that the version is current at once.
var hurried = &scenario{process: pair, input: order, want: ofPair, play: func(w *world, ctx context.Context) {
	w.a.Start()
	until(ctx, w.T, "upload", func() error {
		_, err := w.a.Client.Upload(ctx, api.UploadRequest{Tables: w.tables, Now: true})
		return err
	}, api.CodeFailed)
	w.b.Start()
	w.everywhere(ctx)
	w.startAll(ctx)
}}

// everywhere waits until the version is known at both sites to be at both.
func (w *world) everywhere(ctx context.Context) {
	w.Helper()
	for _, s := range []*fleet.Site{w.a, w.b} {
		until(ctx, w.T, "it is current at "+s.Name, func() error {
			a, err := s.Client.Definitions(ctx)
			if err == nil && (len(a.Definitions) != 1 || len(a.Definitions[0].Lacking) > 0 || a.Definitions[0].State != api.VersionCurrent) {
				err = notYet("%+v", a)
			}
			return err
		})
	}
}
