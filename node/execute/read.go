package execute

import (
	"fmqm/message"
	"fmqm/node/thread"
)

// What a process thread's machine asks for, and what it is told of configuration.

// load reads what the machine asks for.
func (t *Thread) load(e thread.Load) thread.Event {
	facts := make([]thread.Facts, len(e.Entries))
	for i, key := range e.Entries {
		err := t.facts(&facts[i], key, e.What)
		if err == nil && e.What&thread.Said != 0 {
			_, facts[i].Said, err = t.of.Queue.Word(key, "", e.Word)
		}
		if err != nil {
			return thread.Unread{Token: e.Token, Err: err}
		}
	}
	return thread.Loaded{Token: e.Token, Facts: facts}
}

func (t *Thread) facts(f *thread.Facts, key message.Entry, what thread.What) (err error) {
	q := t.of.Queue
	if what&thread.Messages != 0 {
		if f.Messages, err = q.Browse(t.ID(), key); err != nil {
			return err
		}
	}
	if what&thread.HowEnded != 0 {
		end, ended, err := q.Ended(key)
		if err != nil {
			return err
		}
		if ended {
			kept := end // most entries that are looked up have not ended: those cost nothing
			f.End = &kept
		}
	}
	if what&thread.Marker != 0 {
		f.Marker, err = q.Marker(t.ID(), key.Instance)
	}
	return err
}

func (t *Thread) list(e thread.List) thread.Event {
	stored, err := t.of.Queue.BrowseInstance(t.ID(), e.Instance)
	if err != nil {
		return thread.Unread{Token: e.Token, Err: err}
	}
	out := thread.Listed{Token: e.Token}
	seen := map[message.Entry]bool{}
	for i := range stored {
		if key := stored[i].Entry(); key.Activity != "" && !seen[key] {
			seen[key] = true
			out.Entries = append(out.Entries, key)
		}
	}
	return out
}

func (t *Thread) readOn(b thread.Browse) thread.Event {
	entries, more, err := t.of.Queue.BrowseFrom(t.ID(), b.After, b.Limit)
	if err != nil {
		return thread.Unread{Token: b.Token, Err: err}
	}
	return thread.Browsed{Token: b.Token, Entries: entries, More: more}
}
