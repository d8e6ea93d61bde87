package faultnet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
)

// Port gives a port that is free on 127.0.0.1, and that no other test is given, in this process
// or another, until hold is closed. It lies below those that the kernel gives to outgoing
// connections: a server that is down finds it free when it comes back, and who dials it meanwhile
// does not connect to himself. Two servers that are not started yet would be given one port
// otherwise, once in a while.
func Port() (port int, hold io.Closer, err error) {
	for range 1000 {
		port = 10_000 + rand.IntN(22_000)
		if hold, err = net.Listen("unix", fmt.Sprintf("@fmqm-test-port-%d", port)); err != nil {
			continue // somebody else has it
		}
		l, taken := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if taken == nil {
			return port, hold, l.Close()
		}
		err = taken
		_ = hold.Close()
	}
	return 0, nil, fmt.Errorf("no free port: %w", err)
}
