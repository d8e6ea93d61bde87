package node

import (
	"context"
	"io"

	"fmqm/api"
)

var _ api.Backuper = (*Node)(nil)

// WriteBackup writes the state of the store, as it is now, to w, while work goes on.
func (n *Node) WriteBackup(ctx context.Context, w io.Writer) error {
	info, err := n.queue.Backup(contextWriter{ctx, w})
	if err != nil {
		n.log.Error().Err(err).Msg("backup not written")
		return err
	}
	n.log.Info().Uint64("records", info.Records).Uint64("bytes", info.Bytes).Uint64("commit", info.Commit).Msg("backup written")
	return nil
}

// contextWriter ends a long write when its context does.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c contextWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
