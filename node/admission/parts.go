package admission

import (
	"bytes"
	"fmt"
	"slices"

	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/queue/record"
)

// Parts of a large message follow one another in their lane (L4). So of a lane no more is
// kept than what came of one message of the largest size; what does not follow is never put
// together with anything, and an item that is no next part ends the message before it.

// parts puts together the messages that come in parts in one lane, with one transaction.
type parts struct {
	open   record.Incoming // what came of a message whose last part has not
	accept *record.Accept  // of the transaction
	// stored gives what is on disk of the message that begins with the item first.
	stored func(first uint64) ([][]byte, error)
	aside  func(encoded []byte, reason string)
}

// take takes a piece of a large message, and gives the whole of it with the last; nothing if the
// piece is not, or is set aside.
func (p *parts) take(number uint64, piece record.Piece) ([]byte, error) {
	if why := p.misplaced(number, piece); why != "" {
		p.abandon(number)
		if piece.Last() { // once for the message, and not for each of its parts
			p.aside(piece.Data, why)
		}
		return nil, nil
	}
	if piece.Index == 0 {
		p.abandon(number)
		p.open.First = number
	}
	p.open.Count++
	if !piece.Last() {
		p.accept.Parts = append(p.accept.Parts, record.Part{First: p.open.First, Index: piece.Index, Data: piece.Data})
		return nil, nil
	}
	whole, err := p.join(piece)
	if err != nil {
		return nil, err
	}
	p.close()
	if len(whole) > message.MaxEncoded {
		p.aside(piece.Data, fmt.Sprintf("a message in parts has %d bytes, and at most %d are allowed", len(whole), message.MaxEncoded))
		return nil, nil
	}
	return whole, nil
}

// misplaced says why a piece cannot be the next one, or nothing.
func (p *parts) misplaced(number uint64, piece record.Piece) string {
	switch {
	case piece.Of > record.MaxParts:
		return fmt.Sprintf("a message has %d parts, and at most %d are allowed", piece.Of, record.MaxParts)
	case piece.Index > 0 && (p.open.First == 0 || p.open.Count != piece.Index || p.open.First+uint64(piece.Index) != number):
		return fmt.Sprintf("part %d of %d of a message came without the parts before it", piece.Index+1, piece.Of)
	}
	return ""
}

// join puts the open message together: what is on disk, what came with this transaction, and
// the last piece.
func (p *parts) join(last record.Piece) ([]byte, error) {
	all, err := p.stored(p.open.First)
	if err != nil {
		return nil, fmt.Errorf("read the parts of message %d: %w", p.open.First, err)
	}
	for _, part := range p.accept.Parts {
		all = append(all, part.Data)
	}
	if len(all) != last.Index {
		return nil, fmt.Errorf("%d parts of message %d are stored, and %d came", len(all), p.open.First, last.Index)
	}
	return bytes.Join(append(all, last.Data), nil), nil
}

// abandon ends the open message, if there is one: the item number is none of it.
func (p *parts) abandon(number uint64) {
	if p.open.First == 0 {
		return
	}
	p.aside(nil, fmt.Sprintf("only %s of a message came, from item %d on, and item %d is not one of them", text.Counted(p.open.Count, "part", "parts"), p.open.First, number))
	p.close()
}

// close lets go of what is kept of the open message.
func (p *parts) close() {
	p.accept.Parts = slices.DeleteFunc(p.accept.Parts, func(part record.Part) bool { return part.First == p.open.First })
	p.accept.Whole = append(p.accept.Whole, p.open.First)
	p.open = record.Incoming{}
}
