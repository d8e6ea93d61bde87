package daemon

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fmqm/internal/cgroup"
	"fmqm/internal/landlock"
	"fmqm/node/config"
	"fmqm/program"
)

// openPrograms kills what has outlived the daemon before this one, and registers the
// programs. The caller holds the node's store.
func (d *Daemon) openPrograms(c *config.Config) error {
	tree, err := cgroup.Open()
	children := slices.ContainsFunc(slices.Collect(maps.Values(c.Programs)), func(s program.Spec) bool { return s.Kind == program.KindExec })
	switch {
	case !children:
	case err != nil:
		d.log.Info().Err(err).Msg("programs have no control groups: a process that hides can outlive its program")
	case tree.Limits() != nil:
		d.log.Info().Err(tree.Limits()).Msg("nothing limits how many processes one program starts")
	}
	d.groups = program.NewGroups(tree)
	ledger, err := program.OpenLedger(filepath.Join(c.Data, "ledger"), c.Node, d.groups)
	if err != nil {
		return err
	}
	d.ledger = ledger
	if d.registry, err = d.register(c); err != nil {
		return errors.Join(err, ledger.Release())
	}
	found := ledger.Found()
	if found.Running > 0 || found.Suspect > 0 || found.Damaged > 0 {
		d.log.Warn().Int("unclean_stops", found.Unclean).Int("running", found.Running).Int("killed", found.Killed).
			Int("suspect", found.Suspect).Int("damaged_lines", found.Damaged).
			Msg("the last stop was unclean: programs that were running then run again, under the same keys")
	}
	return nil
}

// register registers the programs of a configuration, and says what they are not kept from.
func (d *Daemon) register(c *config.Config) (*program.Registry, error) {
	options := program.Options{Ledger: d.ledger, Groups: d.groups}
	var open string
	options.Fence, open = Fence(c)
	options.Apart, _ = landlock.New(nil, nil) // nil where the kernel has none
	registry, err := program.NewRegistry(c.Programs, options)
	if err != nil {
		options.Fence.Close()
		options.Apart.Close()
		return nil, fmt.Errorf("programs: %w", err)
	}
	if open != "" {
		d.log.Warn().Msg(open)
	}
	return registry, nil
}

// Fence is around what programs of the daemon's own user must not reach: the store with
// its ledger, keys, passwords and secrets; and keeps them from leaving their control
// groups. open says what they can come at nevertheless; empty: nothing.
func Fence(c *config.Config) (fence *landlock.Fence, open string) {
	var names []string
	for _, id := range slices.Sorted(maps.Keys(c.Programs)) {
		if s := c.Programs[id]; s.Kind == program.KindExec && s.User == "" && !s.Unconfined {
			names = append(names, string(id))
		}
	}
	if len(names) == 0 {
		return nil, ""
	}
	who := "programs that run as the daemon's own user (" + strings.Join(names, ", ") + ")"
	const remedy = ": give them a `user`"
	fence, err := landlock.New(c.Private(), []string{"/sys/fs/cgroup"})
	if err != nil {
		apart, _ := landlock.New(nil, nil)
		return apart, who + " can read and change its store and its keys, since " + err.Error() + remedy
	}
	if gaps := fence.Gaps(); len(gaps) > 0 {
		open = who + " are kept from its store and its keys, and can still " + strings.Join(gaps, ", and ") + remedy
	}
	return fence, open
}

// closePrograms takes openPrograms back: the daemon did not start.
func (d *Daemon) closePrograms() {
	d.registry.Close()
	_ = d.ledger.Release()
}
