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
	scenario   *scenario
}

var transactions = []transaction{
	{
		kind: "table", what: "A process table is stored: by an upload at the node, or as it comes over a link.", victims: "AB", scenario: finishes,
		lost: "The node does not have the table. The upload is repeated; one that was on its way is still with its sender, which sends it again.",
		kept: "The table is read at open and its process thread is started. A repeated upload says `unchanged`.",
	},
	{
		kind: "start", what: "An instance is started: its record, the connectors out of source, the audit record.", victims: "A", scenario: finishes,
		lost: "No instance exists. The client has no answer and repeats the start with the same identifier.",
		kept: "The browse finds the messages and goes on. The repeated start finds the instance and starts nothing (N2).",
	},
	{
		kind: "termination", what: "An activity terminates: its messages go, its onward messages and its audit record come.", victims: "AB", scenario: finishes,
		lost: "Its messages are still in the queue: the activity is decided again, its program runs again under the same key (P1).",
		kept: "Nothing of the activity is left. What it sent is found in the process queues and the transmission queues, and taken from there.",
	},
	{
		kind: "iteration", what: "An exit condition is FALSE: a snapshot with the next iteration's input replaces the one before.", victims: "B", scenario: finishes,
		lost: "The iteration is run again, under the same key.",
		kept: "The next iteration begins, with the input that the snapshot has.",
	},
	{
		kind: "attempt", what: "An attempt has failed and another is left: a snapshot with the count and the time of the next, and its timer.", victims: "B", scenario: finishes,
		lost: "The attempt counts as never made and is repeated.",
		kept: "The timer is found at open, and the next attempt is made when it is due.",
	},
	{
		kind: "error", what: "An activity goes in error: a snapshot with the reason, a notice for the origin (N4).", victims: "B", scenario: finishes,
		lost: "The program runs again under the same key, and fails or not.",
		kept: "The activity is in error, with the same reason, until an operator decides. The origin gets the notice.",
	},
	{
		kind: "retry", what: "An operator retries an activity in error.", victims: "B", scenario: finishes,
		lost: "The activity is still in error. The operator has no answer and repeats the retry.",
		kept: "The activity has gone on. A repeated retry is refused: it is not in error any more.",
	},
	{
		kind: "accept", what: "Messages of a peer are accepted: they and the link's number.", victims: "AB", scenario: finishes,
		lost: "The number on disk is the old one. The peer was told of nothing and sends them again.",
		kept: "The number on disk says that they are here. The peer learns it from the next hello, and sends none of them again.",
	},
	{
		kind: "trim", what: "What a peer has acknowledged is removed from its transmission queue.", victims: "A", scenario: finishes,
		lost: "The items are still there. The peer's number says at the next hello that it has them, and they are trimmed then.",
		kept: "They are gone, and the transmission queue begins behind them.",
	},
	{
		kind: "terminate", what: "An operator terminates an instance: a marker at every node of the process (N7).", victims: "AB", scenario: terminated,
		lost: "There is no marker. The operator, or the node that sends it, repeats it.",
		kept: "The marker is in the store: every entry of the instance that the browse finds is ended, and what arrives later is absorbed.",
	},
	{
		kind: "stop", what: "An entry of a terminated instance ends.", victims: "AB", scenario: terminated,
		lost: "The entry is still there. The browse finds the marker, and ends it again.",
		kept: "The entry is gone, and its record says `stopped`. What arrives for it is absorbed.",
	},
	{
		kind: "meet", what: "The store of a peer is noted, at the first hello (L1).", victims: "AB", scenario: finishes,
		lost: "The peer is not known. The next hello says it again.",
		kept: "The peer is known by its store, and another one under its name stops the link.",
	},
	{
		kind: "part", what: "Parts of a large message are accepted, and the last has not come (L4).", victims: "B", scenario: large,
		lost: "None of them is here. The peer was told of nothing, and sends them again.",
		kept: "They are in the store, under the number of the first. The hello says so, and only the others are sent.",
	},
	{
		kind: "whole", what: "The last part of a large message is accepted: it is put, and its parts go.", victims: "B", scenario: large,
		lost: "The parts before it are still in the store. The peer sends the last one again.",
		kept: "The message is in the queue, and no part of it is left.",
	},
	{
		kind: "park", what: "Messages are accepted whose process table is not here yet (N3).", victims: "B", scenario: parked,
		lost: "The peer was told of nothing and sends them again.",
		kept: "They are in the queue and wait for the table. Nothing else waits for them.",
	},
	{
		kind: "table", what: "The table comes for which messages wait (N3).", victims: "B", scenario: parked,
		lost: "The messages wait on, and the node says for what. The upload is repeated.",
		kept: "The table is read at open, its thread browses the queue, and finds the messages.",
	},
	{
		kind: "table", what: "A table comes over a link, signed by a definer whom the node trusts.", victims: "B", scenario: signed,
		lost: "The node does not have the table. The sender has it still, and it is judged again as it comes again.",
		kept: "The table is here. Who signed it is not asked again: it was accepted once.",
	},
	{
		kind: "aside", what: "What a peer sent cannot be for here, and is accepted and set aside: a table of a definer whom nobody has named (L5).", victims: "B", scenario: untrusted,
		lost: "The peer was told of nothing, and sends it again: it is set aside then.",
		kept: "It is set aside with its reason, under a number. The peer sends it no more.",
	},
	{
		kind: "again", what: "`fmqm dead retry`: a table that was set aside is taken after all.", victims: "B", scenario: untrusted,
		lost: "It is still set aside, under the same number. The operator has no answer and repeats the retry.",
		kept: "The table is here, and nothing is set aside. A repeated retry finds nothing under the number.",
	},
	{
		kind: "refuse", what: "A message does not fit the table: it goes from its queue to what is set aside, and its activity in error (L5).", victims: "AB", scenario: refused,
		lost: "The message is still in the queue: it is folded again, and refused again.",
		kept: "It is set aside, and the activity in error with the reason, until an operator decides.",
	},
	{
		kind: "again", what: "`fmqm dead retry`: a message that was set aside is in its queue again.", victims: "B", scenario: refused,
		lost: "It is still set aside, under the same number, and its activity in error.",
		kept: "It is in the queue. If it does not fit either now, it is set aside under another number.",
	},
	{
		kind: "drop", what: "`fmqm dead drop`: a message that was set aside goes, and one of the operator's resolves its connector.", victims: "AB", scenario: refused,
		lost: "It is still set aside, and its activity in error. The operator has no answer and repeats the drop.",
		kept: "Its connector is resolved FALSE, or without data, once. A repeated drop finds nothing under the number.",
	},
	{
		kind: "pass", what: "A dead path passes around a node that is down: a record for it, and what leads out of its activity (N6).", victims: "A", scenario: around,
		lost: "The connector is not resolved: the activity before it is decided again, and passes it around again.",
		kept: "The record waits for the node that is down; what leads out of the dead activity has gone on without it.",
	},
	{
		kind: "skip", what: "The node was down meanwhile: it absorbs the record of its dead activity, and sends nothing (N6).", victims: "B", scenario: around,
		lost: "The record is still in its queue, and is absorbed again.",
		kept: "The activity has ended as skipped. What leads out of it was sent by another, and is not sent again.",
	},
	{
		kind: "rebuild", what: "An operator's word: a peer that lost its store is sent again what it lost (S4).", victims: "A", scenario: lost,
		lost: "The link is stopped as before. The operator has no answer and repeats the command.",
		kept: "The word is in the store: the node goes on with it by itself. A repeated command follows what was begun.",
	},
	{
		kind: "rebind", what: "The peer's new store is known from now on, and the conversation begins anew (L1).", victims: "A", scenario: lost,
		lost: "The link is stopped by the next hello again, and is decided again: the word is in the store.",
		kept: "The hello finds the new store to be the known one. What waits in the transmission queue is sent to it.",
	},
	{
		kind: "rebind", what: "The same, with a peer that was restored from a backup.", victims: "A", scenario: restored,
		lost: "The link is stopped by the next hello again, and is decided again: the word is in the store.",
		kept: "The hello finds the restored store to be the known one.",
	},
	{
		kind: "begin", what: "A new store notes where the conversation begins that it takes up (L1).", victims: "B", scenario: lost,
		lost: "Nothing was accepted. The next hello says again where the conversation begins.",
		kept: "What is sent goes on from there. The next hello says the same, and nothing begins twice.",
	},
	{
		kind: "anew", what: "A new store notes that others know its node from an earlier one (S4).", victims: "B", scenario: lost,
		lost: "The peer has no answer, and asks again.",
		kept: "From now on repeats of what has ended are dropped, and are no cause for alarm.",
	},
	{
		kind: "asked", what: "A rebuilding has learnt what the peer still has.", victims: "A", scenario: lost,
		lost: "The peer is asked again.",
		kept: "The sending begins with the first instance.",
	},
	{
		kind: "chunk", what: "What an instance had been sent is put again, with how far that has come.", victims: "A", scenario: lost,
		lost: "None of it is in the transmission queue. It is built again from the audit queue.",
		kept: "It is in the transmission queue, once: the mark stands behind it, and the rebuilding goes on there.",
	},
	{
		kind: "chunk:2", what: "The same, of the second instance.", victims: "A", scenario: lost,
		lost: "The first instance was put, and is not put again.",
		kept: "Neither is put again.",
	},
	{
		kind: "rebuilt", what: "A rebuilding is done.", victims: "A", scenario: lost,
		lost: "No instance is left behind the mark: it is done at once.",
		kept: "It is done. A repeated command does it again, which changes nothing twice.",
	},
	{
		kind: "absorb", what: "A repeat for what has ended goes from its queue: its sender lost its store, and ran again.", victims: "A", scenario: lost,
		lost: "It is still in the queue, and is absorbed again.",
		kept: "It is gone, and has changed nothing.",
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

// row is one line of the table, and one test.
type row struct {
	point    string // of the failpoint, with :n
	then     string // a second point, for the start after the first kill
	command  string // a point of a command beside the daemon, in place of point
	victim   string
	scenario *scenario
	when     string
	next     string
	variant  int // of those that have a point in common
}

func (r row) name() string {
	name := strings.NewReplacer("/", "_", ":", "_").Replace(r.point+r.command) + "_at_" + r.victim
	if r.then != "" {
		name += "_then_" + r.then
	}
	if r.variant > 0 {
		name += fmt.Sprintf("_%d", r.variant+1)
	}
	return name
}

// points are those at which the victim's daemon dies.
func (r row) points() (points []string) {
	for _, point := range []string{r.point, r.then} {
		if point != "" {
			points = append(points, point)
		}
	}
	return points
}

// rows is every point that is hit.
func rows() (all []row) {
	variants := map[string]int{}
	for _, tx := range transactions {
		for _, p := range positions {
			for _, victim := range strings.Split(tx.victims, "") {
				next := tx.lost
				if p.written {
					next = tx.kept
				}
				r := row{point: p.name + "/" + tx.kind, victim: victim, scenario: tx.scenario, when: p.when, next: next}
				r.variant = variants[r.name()]
				variants[row{point: r.point, victim: victim}.name()]++
				all = append(all, r)
			}
		}
	}
	return append(all, others...)
}

const head = `# The crash table

Every durable change of a node is one transaction, so a crash falls before it, or after it with nobody knowing yet. This
is every point between two writes, and what the node does at its next start. Each line is hit on purpose, with kill -9,
by a test of its own (` + "`test/crash`" + `): two daemons, a process over both, the victim dies at the point and is started
again; then each instance has to equal what ` + "`fmqm-define run`" + ` says, with every event of its history there once, every
program run under one key for each iteration, every queue empty, and nothing left in a store that was on its way. This
page is written from the same table
(` + "`UPDATE=1 go test ./test/crash -run Document`" + `).

There is no other recovery than to open the store, which finishes or sweeps what takes several writes, and to browse the queues.

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
		point := "`" + r.point + r.command + "`"
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
