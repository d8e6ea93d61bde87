package instancetable

// order lists entries in the order of their use. Its links lie in the entries: a list
// of its own objects would be one more for the garbage collector with each entry.
type order struct {
	oldest, newest *Entry
	len            int
}

// add lists e, which is not listed yet, as the one used last.
func (o *order) add(e *Entry) {
	e.listed, e.older = true, o.newest
	if o.newest == nil {
		o.oldest = e
	} else {
		o.newest.newer = e
	}
	o.newest = e
	o.len++
}

// remove takes e, which is listed, out.
func (o *order) remove(e *Entry) {
	if e.older == nil {
		o.oldest = e.newer
	} else {
		e.older.newer = e.newer
	}
	if e.newer == nil {
		o.newest = e.older
	} else {
		e.newer.older = e.older
	}
	e.listed, e.older, e.newer = false, nil, nil
	o.len--
}
