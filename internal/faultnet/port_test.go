package faultnet

import "testing"

// Who is given a port has it alone, also while nothing listens there.
func TestPortsAreHeld(t *testing.T) {
	seen := map[int]bool{}
	for range 600 { // of 22,000: without a hold some would be given twice
		port, hold, err := Port()
		if err != nil {
			t.Fatal(err)
		}
		defer hold.Close()
		if seen[port] {
			t.Fatalf("port %d is given twice", port)
		}
		seen[port] = true
	}
}
