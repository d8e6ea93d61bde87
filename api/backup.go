package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Backuper is a node that can be backed up while it works. What it writes ends with a
// checksum of its own: a stream that was cut short is seen by who verifies it.
type Backuper interface {
	WriteBackup(ctx context.Context, w io.Writer) error
}

// BackupPath is where BackupHandler belongs: on the local socket only, since a backup
// is everything that a node knows.
const BackupPath = "/v1/backup"

// BackupHandler serves a node's backup as one stream.
func BackupHandler(b Backuper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writeError(w, http.StatusMethodNotAllowed, Errorf(CodeUsage, "use GET", "a backup is not for %s", r.Method))
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		out := &patientWriter{w: w, control: http.NewResponseController(w)}
		if err := b.WriteBackup(r.Context(), out); err != nil {
			// What was sent cannot be taken back: the connection is cut, so that the reader
			// does not take it for the end.
			panic(http.ErrAbortHandler)
		}
	})
}

// patientWriter gives each write a deadline of its own: the whole may take long.
type patientWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (p *patientWriter) Write(b []byte) (int, error) {
	// Without a deadline of its own (a test's recorder) the connection's holds.
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return p.w.Write(b)
}

// Backup writes the node's backup to w. It takes as long as it takes, but the node may not
// say nothing for longer than the client's timeout. ctx ends it.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(c.timeout, cancel)
	defer silence.Stop()
	silent := func() bool { return reading.Err() != nil && ctx.Err() == nil }
	resp, err := c.send(reading, http.MethodGet, BackupPath, nil)
	if err != nil {
		if silent() {
			err = context.DeadlineExceeded
		}
		return c.unreachable(err, c.timeout, false)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return Errorf(CodeUsage, "ask its local socket: --to unix:/PATH", "%s gives no backups", c.to)
	}
	if resp.StatusCode != http.StatusOK {
		return c.readError(resp)
	}
	for part := make([]byte, backupPart); ; {
		silence.Reset(c.timeout)
		n, err := resp.Body.Read(part)
		silence.Stop() // w takes as long as it likes
		if _, err := w.Write(part[:n]); err != nil {
			return fmt.Errorf("write the backup of %s: %w", c.to, err)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && silent():
			return c.unreachable(context.DeadlineExceeded, c.timeout, false)
		case err != nil:
			return fmt.Errorf("read the backup of %s: %w", c.to, err)
		}
	}
}

// backupPart is how much of a backup is read at once, in bytes.
const backupPart = 256 << 10
