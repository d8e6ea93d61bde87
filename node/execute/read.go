package execute

import (
	"slices"

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
		err = t.marked(f, key.Instance)
	}
	return err
}

// marked reads what ends an instance, suspends it, and lets it go on.
func (t *Thread) marked(f *thread.Facts, i message.InstanceID) error {
	marker, found, err := t.of.Queue.Marked(t.ID(), i)
	if err != nil {
		return err
	}
	f.Marker, f.Marks = marker, make([]message.Marked, len(found))
	for at := range found {
		if f.Marks[at], err = message.MarkOf(&found[at]); err != nil {
			return err
		}
	}
	return nil
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
	stored, err := t.of.Queue.Entries(t.ID(), e.Instance)
	if err != nil {
		return thread.Unread{Token: e.Token, Err: err}
	}
	of := slices.DeleteFunc(stored, func(key message.Entry) bool { return key.Activity == "" }) // that of the instance as a whole
	return thread.Listed{Token: e.Token, Entries: of}
}

func (t *Thread) readOn(b thread.Browse) thread.Event {
	entries, more, err := t.of.Queue.BrowseFrom(t.ID(), b.After, b.Limit)
	if err != nil {
		return thread.Unread{Token: b.Token, Err: err}
	}
	return thread.Browsed{Token: b.Token, Entries: entries, More: more}
}
