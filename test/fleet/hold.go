package fleet

import (
	"context"
	"os"
)

// Hold is a failpoint at which a daemon waits while it is on. It is off at first.
type Hold struct {
	site        *Site
	point, file string
}

// On holds whoever passes the point from now on.
func (h *Hold) On() {
	h.site.t.Helper()
	if err := os.WriteFile(h.file, nil, 0o600); err != nil {
		h.site.t.Fatal(err)
	}
}

// Reached waits until somebody is held.
func (h *Hold) Reached(ctx context.Context) {
	h.site.t.Helper()
	h.site.fleet.Until(ctx, h.site.Name+" waits at "+h.point, func() bool {
		_, err := os.Stat(h.file + ".held")
		return err == nil
	})
}

// Off lets everybody go on.
func (h *Hold) Off() {
	h.site.t.Helper()
	if err := os.Remove(h.file); err != nil {
		h.site.t.Fatal(err)
	}
}
