package daemon

import (
	"errors"
	"fmt"
	"path/filepath"

	"fmqm/node/config"
	"fmqm/program"
)

// openPrograms kills what has outlived the daemon before this one, and registers the
// programs. The caller holds the node's store.
func (d *Daemon) openPrograms(c *config.Config) error {
	ledger, err := program.OpenLedger(filepath.Join(c.Data, "ledger"), c.Node)
	if err != nil {
		return err
	}
	if d.registry, err = program.NewRegistry(c.Programs, program.Options{Ledger: ledger}); err != nil {
		return errors.Join(fmt.Errorf("programs: %w", err), ledger.Release())
	}
	d.ledger = ledger
	found := ledger.Found()
	if found.Running > 0 || found.Suspect > 0 || found.Damaged > 0 {
		d.log.Warn().Int("unclean_stops", found.Unclean).Int("running", found.Running).Int("killed", found.Killed).
			Int("suspect", found.Suspect).Int("damaged_lines", found.Damaged).
			Msg("the last stop was unclean: programs that were running then run again, under the same keys")
	}
	return nil
}

// closePrograms takes openPrograms back: the daemon did not start.
func (d *Daemon) closePrograms() {
	d.registry.Close()
	_ = d.ledger.Release()
}
