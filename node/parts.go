package node

import (
	"bytes"
	"fmt"
	"slices"

	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/queue"
)

// Parts of a large message follow one another in their lane (L4). So of a lane no more is
// kept than what came of one message of the largest size; what does not follow is never put
// together with anything, and an item that is no next part ends the message before it.

// part keeps a piece of a large message, and gives the whole of it with the last; nothing if
// the piece is not, or is set aside.
func (a *acceptance) part(lane message.Lane, number uint64, piece queue.Piece) ([]byte, error) {
	if why := a.misplaced(number, piece); why != "" {
		a.abandon(number)
		if piece.Last() { // once for the message, and not for each of its parts
			a.aside(piece.Data, why)
		}
		return nil, nil
	}
	if piece.Index == 0 {
		a.abandon(number)
		a.open.First = number
	}
	a.open.Count++
	accept := a.tx.Accept
	if !piece.Last() {
		accept.Parts = append(accept.Parts, queue.Part{First: a.open.First, Index: piece.Index, Data: piece.Data})
		return nil, nil
	}
	whole, err := a.join(lane, piece)
	if err != nil {
		return nil, err
	}
	a.close()
	if len(whole) > message.MaxEncoded {
		a.aside(piece.Data, fmt.Sprintf("a message in parts has %d bytes, and at most %d are allowed", len(whole), message.MaxEncoded))
		return nil, nil
	}
	return whole, nil
}

// misplaced says why a piece cannot be the next one, or nothing.
func (a *acceptance) misplaced(number uint64, piece queue.Piece) string {
	switch {
	case piece.Of > queue.MaxParts:
		return fmt.Sprintf("a message has %d parts, and at most %d are allowed", piece.Of, queue.MaxParts)
	case piece.Index > 0 && (a.open.First == 0 || a.open.Count != piece.Index || a.open.First+uint64(piece.Index) != number):
		return fmt.Sprintf("part %d of %d of a message came without the parts before it", piece.Index+1, piece.Of)
	}
	return ""
}

// join puts the open message together: what is on disk, what came with this transaction, and
// the last piece.
func (a *acceptance) join(lane message.Lane, last queue.Piece) ([]byte, error) {
	parts, err := a.node.queue.Parts(a.peer, lane, a.open.First)
	if err != nil {
		return nil, fmt.Errorf("accept from %s: read the parts of message %d: %w", a.peer, a.open.First, err)
	}
	for _, p := range a.tx.Accept.Parts {
		parts = append(parts, p.Data)
	}
	if len(parts) != last.Index {
		return nil, fmt.Errorf("accept from %s: %d parts of message %d are stored, and %d came", a.peer, len(parts), a.open.First, last.Index)
	}
	return bytes.Join(append(parts, last.Data), nil), nil
}

// abandon ends the open message, if there is one: the item number is none of it.
func (a *acceptance) abandon(number uint64) {
	if a.open.First == 0 {
		return
	}
	a.aside(nil, fmt.Sprintf("only %s of a message came, from item %d on, and item %d is not one of them", text.Counted(a.open.Count, "part", "parts"), a.open.First, number))
	a.close()
}

// close lets go of what is kept of the open message.
func (a *acceptance) close() {
	accept := a.tx.Accept
	accept.Parts = slices.DeleteFunc(accept.Parts, func(p queue.Part) bool { return p.First == a.open.First })
	accept.Whole = append(accept.Whole, a.open.First)
	a.open = queue.Incoming{}
}
