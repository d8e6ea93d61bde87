package world

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
)

// broker keeps frames for sites, whether they are there or not. It confirms all of them, and
// may lose, repeat, reorder and replay them; when it is started again it has nothing.
type broker struct {
	control *task.Site
	random  *rand.Rand
	journal *journal
	mood    mood
	boxes   map[way]*box
	users   []*session // in the order of their coming
	made    int
}

// box is what the broker keeps for one site from another.
type box struct {
	frames [][]byte
	old    [][]byte // delivered lately: they may come again
	reader *session

	put, laid uint64 // numbers of the frames that came, and of the highest that lies, or lay, there
}

// Bounds of a box.
const (
	maxBox = 500
	maxOld = 8
)

func newBroker(control *task.Site, r *rand.Rand, j *journal) *broker {
	return &broker{control: control, random: r, journal: j, boxes: map[way]*box{}}
}

func (b *broker) box(d way) *box {
	if b.boxes[d] == nil {
		b.boxes[d] = &box{}
	}
	return b.boxes[d]
}

// restart loses everything, and every connection.
func (b *broker) restart() {
	b.journal.note("broker", "restarts", "")
	for _, s := range slices.Clone(b.users) {
		s.end()
	}
	for _, x := range b.boxes {
		b.meets("forgotten", x.frames...)
		x.frames, x.old = nil, nil
	}
}

// setDown says whether it is down. What it had it keeps.
func (b *broker) setDown(down bool) {
	b.mood.down = down
	for _, s := range slices.Clone(b.users) {
		if down {
			b.journal.met("broker down")
			s.end()
		}
	}
}

// leave ends what a site that is down had of it.
func (b *broker) leave(site name) { b.end(func(s *session) bool { return s.way.from == site }) }

func (b *broker) end(of func(*session) bool) {
	for _, s := range slices.Clone(b.users) {
		if of(s) {
			s.end()
		}
	}
}

// put keeps a frame, as it pleases.
func (b *broker) put(d way, sent []byte) {
	copies := b.mood.copies(b.random)
	switch {
	case copies == 0:
		b.meets("lost", sent)
	case copies > 1:
		b.meets("repeated", sent)
	case b.mood.drowsy:
		b.meets("late", sent)
	}
	x := b.box(d)
	x.put++
	number := x.put
	for range copies {
		b.control.AfterFunc(b.mood.takes(b.random), func() {
			if number < x.laid {
				b.meets("reordered", sent)
			}
			x.laid = max(x.laid, number)
			b.lay(d, sent)
		})
	}
	if old := x.old; b.mood.lossy && len(old) > 0 && b.random.IntN(8) == 0 {
		again := old[b.random.IntN(len(old))]
		b.meets("replayed", again)
		b.control.AfterFunc(b.mood.takes(b.random), func() { b.lay(d, again) })
	}
}

// meets counts what has befallen frames that carry messages.
func (b *broker) meets(what string, frames ...[]byte) {
	for _, sent := range frames {
		if f, err := frame.Decode(sent); err == nil && f.Data != nil {
			b.journal.met(what)
		}
	}
}

// lay puts a frame behind the others, or where the broker reorders, before the last; a full
// box loses its oldest.
func (b *broker) lay(d way, sent []byte) {
	x := b.box(d)
	at := len(x.frames)
	if b.mood.lossy && at > 0 && b.random.IntN(4) == 0 {
		at--
	}
	x.frames = slices.Insert(x.frames, at, sent)
	if len(x.frames) > maxBox {
		x.frames = x.frames[1:]
	}
	if x.reader != nil {
		x.reader.filled.Ring()
	}
}

// brokered is the route of one site to another through the broker. It is a link.Dialer.
type brokered struct {
	broker *broker
	by     task.Scheduler
	way    way
}

// Dial opens a session, which ends the one that the same site had before.
func (d brokered) Dial(ctx context.Context) (link.Conn, error) {
	b := d.broker
	if err := task.Sleep(ctx, d.by, b.mood.takes(b.random)); err != nil {
		return nil, err
	}
	if b.mood.down {
		return nil, fmt.Errorf("dial broker: %w", errNoRoute)
	}
	b.made++
	s := &session{broker: b, by: d.by, way: d.way, number: b.made, gone: d.by.Gate(), filled: d.by.Bell()}
	in := b.box(d.way.back())
	if in.reader != nil {
		in.reader.end()
	}
	in.reader = s
	b.users = append(b.users, s)
	b.journal.note(string(d.way.from), "calls", "the broker for %s: session %d", d.way.to, s.number)
	if len(in.frames) > 0 {
		s.filled.Ring()
	}
	return s, nil
}

// session is one site's with the broker, for one peer. It is a link.Conn.
type session struct {
	broker *broker
	by     task.Scheduler
	way    way // of what is sent here
	number int
	gone   *task.Gate
	filled *task.Bell
	recent [][]byte // delivered, and not acknowledged yet
	closed bool
}

// Send gives a frame to the broker, which confirms it.
func (s *session) Send(sent []byte) error {
	if s.closed {
		return io.ErrClosedPipe
	}
	s.broker.journal.note(string(s.way.from), "sends", "%s through the broker: %d bytes %016x", s.way.to, len(sent), digest(sent))
	s.broker.put(s.way, slices.Clone(sent))
	return nil
}

// ackBatch is how many frames a site acknowledges together.
const ackBatch = 16

// Recv waits for the next frame.
func (s *session) Recv() ([]byte, error) {
	in := s.broker.box(s.way.back())
	for {
		if s.closed {
			return nil, io.EOF
		}
		if len(in.frames) > 0 {
			next := in.frames[0]
			in.frames = in.frames[1:]
			return s.deliver(in, next), nil
		}
		if _, err := s.by.Wait(context.Background(), s.filled, s.gone); err != nil {
			return nil, err
		}
	}
}

func (s *session) deliver(in *box, sent []byte) []byte {
	s.broker.journal.note(string(s.way.from), "gets", "%s through the broker: %016x", s.way.to, digest(sent))
	if in.old = append(in.old, sent); len(in.old) > maxOld {
		in.old = in.old[1:]
	}
	if s.recent = append(s.recent, sent); len(s.recent) == ackBatch {
		s.recent = nil
	}
	return slices.Clone(sent)
}

// Close ends the session.
func (s *session) Close() error {
	s.end()
	return nil
}

// end gives back what was not acknowledged, to come again.
func (s *session) end() {
	if s.closed {
		return
	}
	s.closed = true
	s.gone.Open()
	in := s.broker.box(s.way.back())
	in.frames = append(s.recent, in.frames...)
	if in.reader == s {
		in.reader = nil
	}
	s.broker.users = slices.DeleteFunc(s.broker.users, func(other *session) bool { return other == s })
}
