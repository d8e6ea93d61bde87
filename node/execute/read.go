package execute

import (
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/queue/record"
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
	if what&thread.Children != 0 {
		if f.Children, err = t.children(key.Instance); err != nil {
			return err
		}
	}
	if what&thread.Marker != 0 {
		if f.Marker, err = q.Marker(t.ID(), key.Instance); err == nil {
			f.Marks, err = t.marks(key.Instance)
		}
	}
	return err
}

// marks are what suspends and resumes an instance.
func (t *Thread) marks(i message.InstanceID) ([]message.Marked, error) {
	found, err := t.of.Queue.Marks(t.ID(), i)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	marks := make([]message.Marked, len(found))
	for at := range found {
		if marks[at], err = message.MarkOf(&found[at]); err != nil {
			return nil, err
		}
	}
	return marks, nil
}

// children are those that an instance has begun here, and that have not ended.
func (t *Thread) children(i message.InstanceID) (under []thread.Child, err error) {
	q := t.of.Queue
	history, err := q.History(i)
	if err != nil {
		return nil, err
	}
	for at := range history {
		r := &history[at]
		if r.Event != record.EventBegun || r.Child == nil || r.Process != t.ID() {
			continue
		}
		_, ended, found, err := q.Instance(r.Child.Instance)
		if err != nil {
			return nil, err
		}
		if !found || ended == nil { // it may not have taken its start yet
			under = append(under, thread.Child{By: message.Entry{Instance: i, Scope: r.Scope, Activity: r.Activity}, Child: *r.Child})
		}
	}
	return under, nil
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
