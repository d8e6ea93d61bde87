// Package https carries a link's frames directly between two daemons: an HTTP/1.1
// request that is upgraded (`POST /v1/link`, `Upgrade: fmqm-link/1`), so that it goes
// through what lets HTTP through and shares the daemon's port with its API.
//
// After the upgrade each side sends frames: four bytes with the length, most
// significant first, then the frame. Length 0 is a ping: it keeps an idle connection
// from being cut, and shows within [Timeout] that the other side is gone. It is not
// answered; both sides send their own.
//
// What it guarantees: no frame larger than [frame.MaxFrame] is sent or taken, and none
// larger than [frame.MaxHello] before the first is read, for which pings gain no time; an
// answer that is no link is not read to its end; every read and write has a
// deadline, by which a line that carries 1 KiB a second is fast enough for any frame; Close ends both, and after CloseWrite the other side still gets what was sent.
//
// Over TLS both ends show certificates: a [Dialer] takes no other node than the one it
// calls, a [Server] nobody who is no node, and [Conn.Peer] says which node it is. That the
// caller's first frame names that node is for who accepts to see ([link.Acceptor] reads
// it), and so is whether plain HTTP will do.
package https
