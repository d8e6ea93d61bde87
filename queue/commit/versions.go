package commit

import "fmt"

// checkVersions says why w cannot be committed after what was said of versions (N31).
func (c *Core) checkVersions(w *Work) error {
	for _, q := range w.Quiet {
		if put := c.queue(q.Process).put; put > q.Since {
			return fmt.Errorf("%w: something was put for %s by commit %d, and it looked after commit %d", ErrStale, q.Process, put, q.Since)
		}
	}
	for _, p := range w.Begins {
		if c.Closed[p] || c.Gone[p] {
			return fmt.Errorf("%s is retired, and this node has given its final word: %w: start another version (fmqm-define list)", p, ErrClosed)
		}
	}
	for i := range w.Tables {
		if t := &w.Tables[i]; c.Gone[t.Process] {
			return fmt.Errorf("table of %s: %w: it was retired, and its table was removed: raise the version of the process", t.Process, ErrBound)
		}
	}
	for i := range w.Removes {
		if t := &w.Removes[i]; c.Tables[t.Process] != t.Definition {
			return fmt.Errorf("remove the table of %s: %w: it is not here", t.Process, ErrBound)
		}
	}
	return nil
}

// applyVersions takes up what w says of versions: what stands behind it in the order goes by that.
func (c *Core) applyVersions(w *Work) {
	facts := &c.group.facts
	facts.Retired = append(facts.Retired, w.Retired...)
	facts.Final = append(facts.Final, w.Final...)
	facts.Without = append(facts.Without, w.Without...)
	facts.Removed = append(facts.Removed, w.Removes...)
	for _, p := range w.Closes {
		c.Closed[p] = true
	}
	for i := range w.Removes {
		id := w.Removes[i].Process
		delete(c.Tables, id)
		c.Gone[id] = true
	}
}
