package crash

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// transaction is a kind of transaction: what a kill before it is on disk costs, and
// what goes on from it if it is.
type transaction struct {
	kind, what string
	lost, kept string
	victims    string // nodes at which it is hit
	scenario   scenario
}

// scenario is what the operator does with the instance.
type scenario int

const (
	finishes   scenario = iota // one activity goes in error and is retried with an output
	terminated                 // the operator terminates it while one activity is in error
	large                      // finishes, with bodies that do not fit one commit
)

var transactions = []transaction{
	{
		kind: "table", what: "A process table is stored: by an upload at the node, or as it comes over a link.", victims: "AB",
		lost: "The node does not have the table. The upload is repeated; one that was on its way is still with its sender, which sends it again.",
		kept: "The table is read at open and its process thread is started. A repeated upload says `unchanged`.",
	},
	{
		kind: "start", what: "An instance is started: its record, the connectors out of source, the audit record.", victims: "A",
		lost: "No instance exists. The client has no answer and repeats the start with the same identifier.",
		kept: "The browse finds the messages and goes on. The repeated start finds the instance and starts nothing (N2).",
	},
	{
		kind: "termination", what: "An activity terminates: its messages go, its onward messages and its audit record come.", victims: "AB",
		lost: "Its messages are still in the queue: the activity is decided again, its program runs again under the same key (P1).",
		kept: "Nothing of the activity is left. What it sent is found in the process queues and the transmission queues, and taken from there.",
	},
	{
		kind: "iteration", what: "An exit condition is FALSE: a snapshot with the next iteration's input replaces the one before.", victims: "B",
		lost: "The iteration is run again, under the same key.",
		kept: "The next iteration begins, with the input that the snapshot has.",
	},
	{
		kind: "attempt", what: "An attempt has failed and another is left: a snapshot with the count and the time of the next, and its timer.", victims: "B",
		lost: "The attempt counts as never made and is repeated.",
		kept: "The timer is found at open, and the next attempt is made when it is due.",
	},
	{
		kind: "error", what: "An activity goes in error: a snapshot with the reason, a notice for the origin (N4).", victims: "B",
		lost: "The program runs again under the same key, and fails or not.",
		kept: "The activity is in error, with the same reason, until an operator decides. The origin gets the notice.",
	},
	{
		kind: "retry", what: "An operator retries an activity in error.", victims: "B",
		lost: "The activity is still in error. The operator has no answer and repeats the retry.",
		kept: "The activity has gone on. A repeated retry is refused: it is not in error any more.",
	},
	{
		kind: "accept", what: "Messages of a peer are accepted: they and the link's number.", victims: "AB",
		lost: "The number on disk is the old one. The peer was told of nothing and sends them again.",
		kept: "The number on disk says that they are here. The peer learns it from the next hello, and sends none of them again.",
	},
	{
		kind: "trim", what: "What a peer has acknowledged is removed from its transmission queue.", victims: "A",
		lost: "The items are still there. The peer's number says at the next hello that it has them, and they are trimmed then.",
		kept: "They are gone, and the transmission queue begins behind them.",
	},
	{
		kind: "terminate", what: "An operator terminates an instance: a marker at every node of the process (N7).", victims: "AB", scenario: terminated,
		lost: "There is no marker. The operator, or the node that sends it, repeats it.",
		kept: "The marker is in the store: every entry of the instance that the browse finds is ended, and what arrives later is absorbed.",
	},
}

// position is a point of a commit.
type position struct {
	name, when string
	written    bool
}

var positions = []position{
	{"commit.before", "the group is built and not given to the disk", false},
	{"commit.written", "it is on disk, nobody in the node knows", true},
	{"commit.published", "the queues show it, the submitter is not told", true},
}

// others are the points outside of commits.
var others = []row{
	{
		point: "commit.staged/stage", victim: "A", scenario: large,
		when: "bodies are on disk as chunks, the transaction that names them is not",
		next: "The chunks that nothing names are swept at open. The client repeats the start, which stages them again.",
	},
	{
		point: "thread.decided", victim: "A",
		when: "a transaction is decided and not submitted",
		next: "Nothing was written: it is decided again from the same messages, or by the client's repeated request.",
	},
	{
		point: "thread.decided:2", victim: "B",
		when: "the same, later in an instance's life",
		next: "The entry is folded again from its messages and decides the same.",
	},
	{
		point: "thread.taken", victim: "A",
		when: "newcomers were taken out of the mailbox and are in no entry",
		next: "The mailbox is memory; the messages are in the queue, and the browse finds them.",
	},
	{
		point: "thread.taken:2", victim: "B",
		when: "the same, of what a link brought",
		next: "The messages were accepted and acknowledged: they are in the queue, and the browse finds them.",
	},
	{
		point: "program.begin", victim: "A",
		when: "an attempt was decided, its program has not begun",
		next: "The activity is decided again and its program runs, for the first time, under the same key.",
	},
	{
		point: "program.ended", victim: "A",
		when: "a program has ended, its result is only in memory",
		next: "The result is lost. The program runs again under the same key (invariant 9), as its own attempt 1.",
	},
	{
		point: "program.ended:2", victim: "B",
		when: "the same, in a second iteration",
		next: "The second iteration runs again; the first, whose snapshot is on disk, does not.",
	},
	{
		point: "link.sent", victim: "A",
		when: "messages were given to the connection",
		next: "They are still in the transmission queue. The next hello says whether they arrived; what did not is sent again.",
	},
	{
		point: "link.received", victim: "B",
		when: "messages have come and are not given to the store",
		next: "The peer was told of nothing and sends them again.",
	},
	{
		point: "link.accepted", victim: "B",
		when: "messages are on disk, the acknowledgement has not left",
		next: "The next hello carries number and hash: the peer trims and sends none of them again.",
	},
	{
		point: "link.accepted:2", victim: "A",
		when: "the same, of what came back",
		next: "The browse finds the messages; the peer hears of them with the next hello.",
	},
	{
		point: "link.acknowledged", victim: "B",
		when: "the acknowledgement was given to the connection",
		next: "Whether it arrived does not matter: the next hello says the same.",
	},
	{
		point: "link.confirmed", victim: "A",
		when: "the acknowledgement has come, the trim is not requested",
		next: "The items are still in the transmission queue and are trimmed after the next hello. The peer gets none of them again.",
	},
	{
		point: "commit.written/termination", then: "thread.browsed", victim: "A",
		when: "a termination is on disk, and a second kill comes while the queue is browsed at open",
		next: "Recovery has written nothing that it would not write in any order: the third start browses again.",
	},
	{
		point: "link.accepted", then: "thread.taken", victim: "B",
		when: "messages are accepted, and a second kill comes with the first newcomers after open",
		next: "The third start finds everything in the queue.",
	},
}

// row is one line of the table, and one test.
type row struct {
	point    string // of the failpoint, with :n
	then     string // a second point, for the start after the first kill
	victim   string
	scenario scenario
	when     string
	next     string
}

func (r row) name() string {
	name := strings.NewReplacer("/", "_", ":", "_").Replace(r.point) + "_at_" + r.victim
	if r.then != "" {
		name += "_then_" + r.then
	}
	return name
}

// rows is every point that is hit.
func rows() (all []row) {
	for _, tx := range transactions {
		for _, p := range positions {
			for _, victim := range strings.Split(tx.victims, "") {
				next := tx.lost
				if p.written {
					next = tx.kept
				}
				all = append(all, row{point: p.name + "/" + tx.kind, victim: victim, scenario: tx.scenario, when: p.when, next: next})
			}
		}
	}
	return append(all, others...)
}

const head = `# The crash table

Every durable change of a node is one transaction, so a crash falls before it, or after it with nobody knowing yet. This
is every point between two writes, and what the node does at its next start. Each line is hit on purpose, with kill -9,
by a test of its own (` + "`test/crash`" + `): two daemons, a process over both, the victim dies at the point and is started
again; then the instance has to equal what ` + "`fmqm-define run`" + ` says, with every event of its history there once, every
program run under one key for each iteration, and every queue empty. This page is written from the same table
(` + "`UPDATE=1 go test ./test/crash -run Document`" + `).

There is no other recovery than to open the store and to browse the queues.

## Transactions

Three points of each: **before** the group is given to the disk; **written**, when nobody in the node knows; **published**,
when the queues show it and the submitter is not told. The last two differ for nobody outside.

| transaction | at | killed before | killed when written or published |
|---|---|---|---|
`

// document is docs/crash-table.md.
func document() string {
	var b strings.Builder
	b.WriteString(head)
	for _, tx := range transactions {
		fmt.Fprintf(&b, "| **%s**: %s | %s | %s | %s |\n", tx.kind, tx.what, strings.Join(strings.Split(tx.victims, ""), ", "), tx.lost, tx.kept)
	}
	b.WriteString("\n## Other points\n\n| point | at | killed when | what the node does next |\n|---|---|---|---|\n")
	for _, r := range others {
		point := "`" + r.point + "`"
		if r.then != "" {
			point += ", then `" + r.then + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", point, r.victim, r.when, r.next)
	}
	return b.String()
}

// The page says what the tests do.
func TestDocument(t *testing.T) {
	const file = "../../docs/crash-table.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(document()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != document() {
		t.Errorf("%s is not what the table says: UPDATE=1 go test ./test/crash -run Document", file)
	}
}
