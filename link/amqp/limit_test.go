package amqp

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func amqpFrame(kind byte, channel uint16, body []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(append(b, body...), 0xCE)
}

func amqpMethod(class, id uint16, args ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, class)
	return append(binary.BigEndian.AppendUint16(b, id), args...)
}

// hostileBroker lets somebody log in and consume, and delivers a message whose head says a size:
// so much of its body, or less if the connection ends. It gives how much that was.
func hostileBroker(c net.Conn, size uint64, much int) (sent int) {
	defer c.Close()
	in := bufio.NewReader(c)
	if _, err := io.ReadFull(in, make([]byte, 8)); err != nil {
		return 0
	}
	start := append([]byte{0, 9, 0, 0, 0, 0, 0, 0, 0, 5}, "PLAIN\x00\x00\x00\x05en_US"...)
	say := func(channel uint16, class, id uint16, args ...byte) {
		_, _ = c.Write(amqpFrame(1, channel, amqpMethod(class, id, args...)))
	}
	say(0, 10, 10, start...)
	for {
		head := make([]byte, frameHead)
		if _, err := io.ReadFull(in, head); err != nil {
			return sent
		}
		body := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(in, body); err != nil {
			return sent
		}
		if head[0] != 1 {
			continue
		}
		switch [2]uint16{binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:])} {
		case [2]uint16{10, 11}: // the login
			say(0, 10, 30, 0, 0, 0, 2, 0, 0, 0, 0)
		case [2]uint16{10, 40}: // open
			say(0, 10, 41, 0)
		case [2]uint16{20, 10}: // a channel
			say(1, 20, 11, 0, 0, 0, 0)
		case [2]uint16{60, 10}: // its prefetch
			say(1, 60, 11)
		case [2]uint16{60, 20}: // consume
			say(1, 60, 21, 1, 'q')
			say(1, 60, 60, 1, 'q', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 'q')
			_, _ = c.Write(amqpFrame(2, 1, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, size), 0)))
			part := make([]byte, frameSize-8)
			for sent < much {
				part = part[:min(len(part), much-sent)]
				if _, err := c.Write(amqpFrame(3, 1, part)); err != nil {
					return sent
				}
				sent += len(part)
			}
			if uint64(sent) < size {
				return sent
			}
		}
	}
}

// consume has somebody consume from a hostile broker, whose delivery may come before it has said
// that it lets one consume.
func consume(t *testing.T, size uint64, much int) (conn connection, in <-chan delivery, sent chan int, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent = make(chan int, 1)
	go func() {
		defer l.Close()
		if c, err := l.Accept(); err == nil {
			sent <- hostileBroker(c, size, much)
		}
	}()
	to := target{
		addr: l.Addr().String(), vhost: "/", user: "u", secret: func() (string, error) { return "p", nil }, queue: "q",
		heartbeat: time.Minute, timeout: time.Minute,
	}
	conn, err = openRabbit(t.Context(), to, "x", connectionEvents{blocked: func(string) {}, free: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Kill(errClosed)
		<-conn.Done()
	})
	ch, err := conn.Channel(channelEvents{confirmed: func(uint64, bool) {}})
	if err != nil {
		t.Fatal(err)
	}
	in, err = ch.Consume("q", prefetch)
	return conn, in, sent, err
}

// A broker that begins a message without an end does not fill the memory.
func TestAMessageWithoutAnEnd(t *testing.T) {
	const much = 64 << 20 // more than sockets hold
	for _, size := range []uint64{maxMessage + 1, 1 << 62, 1<<64 - 1} {
		conn, in, sent, err := consume(t, size, much)
		if err == nil {
			if d, more := <-in; more {
				t.Errorf("%d bytes were delivered", len(d.body))
			}
		}
		<-conn.Done()
		if err := conn.Err(); err == nil || !strings.Contains(err.Error(), "and this side takes at most 134217728: set max_message_size there, and purge this site's queue, since it comes again") {
			t.Errorf("a message of %d bytes: %v", size, err)
		}
		if n := <-sent; n >= much {
			t.Errorf("%d bytes of a message of %d were taken", n, size)
		}
	}
}

// One that a broker may have by its own limits is delivered, and does not end the connection: it
// would come again.
func TestALargeMessageIsDelivered(t *testing.T) {
	const size = 17 << 20
	conn, in, _, err := consume(t, size, size)
	if err != nil {
		t.Fatal(err)
	}
	if d := <-in; len(d.body) != size {
		t.Errorf("%d bytes were delivered, expected %d", len(d.body), size)
	}
	if err := conn.Err(); err != nil {
		t.Error(err)
	}
}

// The follower finds a head wherever reads end.
func TestTheFollowerSeesEachFrame(t *testing.T) {
	var honest []byte
	for _, f := range [][]byte{
		amqpFrame(1, 1, amqpMethod(60, 60, 1, 2, 3)),
		amqpFrame(2, 1, binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, maxMessage)),
		amqpFrame(3, 1, binary.BigEndian.AppendUint64([]byte{2, 0, 1, 0, 0, 0, 12, 0, 60, 0, 0}, 1<<63)), // a body that looks like a head
		amqpFrame(8, 0, nil),
		amqpFrame(2, 1, []byte{1, 2}), // cut short: the client's to refuse
	} {
		honest = append(honest, f...)
	}
	large := amqpFrame(2, 1, binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, maxMessage+1))
	for step := 1; step < len(honest)+len(large); step++ {
		var f follower
		all := append(append([]byte(nil), honest...), large...)
		for at := 0; at < len(all); at += step {
			end := min(at+step, len(all))
			if err := f.see(all[at:end]); (err != nil) != (end >= len(honest)+contentHead) {
				t.Fatalf("in steps of %d: at %d of %d: %v", step, end, len(all), err)
			} else if err != nil {
				break
			}
		}
	}
}
