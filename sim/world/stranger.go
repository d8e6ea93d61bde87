package world

import (
	"time"

	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/queue/record"
)

// stranger is a site that nobody has configured.
const stranger name = "Z"

// hangUpTime is how long a site may take to hang up.
const hangUpTime = 10 * time.Second

// knock has a stranger call a site, and say something: who it is, that it is another site, or
// nothing that makes sense. The site must hang up; what comes of it is watch's to see.
func (w *World) knock(at name, way_ int) {
	w.wires.ports[stranger] = &port{by: w.control, accept: func(c link.Conn) { _ = c.Close() }}
	conn, err := dialer{wires: w.wires, by: w.control, way: way{stranger, at}}.Dial(background)
	if err != nil {
		return // the site is down
	}
	hello := &frame.Hello{
		Node: stranger, Expected: at, Incarnation: record.Incarnation{9}, MinVersion: frame.MinVersion, MaxVersion: frame.MaxVersion,
	}
	said := []byte("GET / HTTP/1.1\r\n\r\n")
	switch way_ {
	case 0:
		hello.Expected = stranger
		fallthrough
	case 1:
		f := &frame.Frame{Version: frame.MaxVersion, Type: frame.TypeHello, From: 99, Seq: 1, Challenge: 5, Hello: hello}
		if said, err = frame.Encode(f); err != nil {
			w.breaks("plan", "the stranger's hello: %v", err)
			return
		}
	}
	heard, l := false, w.site(at).life
	w.control.AfterFunc(hangUpTime, func() {
		if !heard && w.site(at).life == l {
			w.breaks("11", "%s was called by %s, and has not hung up within %v", at, stranger, hangUpTime)
		}
		_ = conn.Close()
	})
	if conn.Send(said) != nil {
		return
	}
	for {
		if _, err := conn.Recv(); err != nil {
			break
		}
	}
	heard = true
	w.journal.note(string(stranger), "was heard out", "")
}
