package main

import (
	"fmt"
	"strings"
)

const chainLength = 10

const head = "process: bench\nversion: 1\nstructures:\n  Order: {customer: string, item: string, quantity: int, amount: double}\ninput: Order\noutput: Order\nactivities:\n"

func activity(name, node string) string {
	return fmt.Sprintf("  %s: {node: %s, program: noop, input: Order, output: Order}\n", name, node)
}

// chain is a chain of noop activities that hand on a small container, over nodes in turn.
func chain(nodes ...string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range chainLength {
		b.WriteString(activity(fmt.Sprintf("a%d", i), nodes[i%len(nodes)]))
	}
	b.WriteString("control:\n")
	for i := range chainLength - 1 {
		fmt.Fprintf(&b, "  - a%d -> a%d: quantity >= 0\n", i, i+1)
	}
	b.WriteString("data:\n  - source -> a0\n")
	for i := range chainLength - 1 {
		fmt.Fprintf(&b, "  - a%d -> a%d\n", i, i+1)
	}
	fmt.Fprintf(&b, "  - a%d -> sink\n", chainLength-1)
	return b.String()
}

// fanOut is one activity, n behind it, and one that joins them.
func fanOut(n int) string {
	var b strings.Builder
	b.WriteString(head + activity("fork", "A") + activity("join", "A"))
	for i := range n {
		b.WriteString(activity(fmt.Sprintf("b%d", i), "A"))
	}
	b.WriteString("control:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - fork -> b%d\n  - b%d -> join\n", i, i)
	}
	return b.String()
}

// deadEnd is an activity, and behind a condition that never holds n more in a chain.
func deadEnd(n int) string {
	var b strings.Builder
	b.WriteString(head + activity("fork", "A"))
	for i := range n {
		b.WriteString(activity(fmt.Sprintf("b%d", i), "A"))
	}
	b.WriteString("control:\n  - fork -> b0: quantity > 1000\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - b%d -> b%d\n", i, i+1)
	}
	return b.String()
}

// renamed is a definition under another name.
func renamed(text, name string) string {
	return strings.Replace(text, "process: bench", "process: "+name, 1)
}

// parkedJoin is a join of two branches, of which the one at site B never comes.
func parkedJoin() string {
	return head + activity("here", "A") + activity("there", "B") + activity("join", "A") +
		"control:\n  - here -> join\n  - there -> join\ndata:\n  - source -> here\n  - here -> join\n"
}
