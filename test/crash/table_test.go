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
		kept: "The table is read at open, and its process thread is started. A repeated upload says `unchanged`.",
	},
	{
		kind: "start", what: "An instance is started: its record, the connectors out of source and the audit record are put.", victims: "A", scenario: finishes,
		lost: "No instance exists. The client has no answer and repeats the start with the same identifier.",
		kept: "The node finds the messages when it browses the queue, and goes on. The repeated start finds the instance and starts nothing (N2).",
	},
	{
		kind: "schedule", what: "How far the schedules of a process have come is noted: they are here, an instance was started, or an operator has suspended them (N23).", victims: "A", scenario: scheduled,
		lost: "What was started is known by its identifier, which follows from the time: it is not started again, and is noted now. The operator has no answer and repeats the word.",
		kept: "The node goes on from there: what was due since is what was missed.",
	},
	{
		kind: "termination", what: "An activity terminates: its messages are removed, its onward messages and its audit record are put.", victims: "AB", scenario: finishes,
		lost: "Its messages are still in the queue. The activity is decided again, and its program runs again under the same key (P1).",
		kept: "Nothing of the activity is left. What it sent is in the process queues and the transmission queues, and goes on from there.",
	},
	{
		kind: "iteration", what: "An exit condition is FALSE: a snapshot with the input of the next iteration replaces the one before.", victims: "B", scenario: finishes,
		lost: "The iteration runs again, under the same key.",
		kept: "The next iteration begins, with the input in the snapshot.",
	},
	{
		kind: "attempt", what: "An attempt has failed, and another will follow: a snapshot with the count and the time of the next attempt is put, and its timer.", victims: "B", scenario: finishes,
		lost: "The attempt is not counted, and is repeated.",
		kept: "The timer is found at open, and the next attempt is made when it is due.",
	},
	{
		kind: "error", what: "An activity goes in error: a snapshot with the reason is put, and a notice for the origin (N4).", victims: "B", scenario: finishes,
		lost: "The program runs again under the same key. It may fail again, or not.",
		kept: "The activity is in error, with the same reason, until an operator decides. The origin gets the notice.",
	},
	{
		kind: "word", what: "An operator's word about an activity of another node is put where it was asked: it is noted, and waits in the transmission queue (N15).", victims: "A", scenario: finishes,
		lost: "Nothing was asked. The operator has no answer and repeats the word with the same identifier.",
		kept: "The word is on its way. A repeat with the same identifier asks for nothing new, and waits for its answer.",
	},
	{
		kind: "retry", what: "An operator's word is carried out, here a retry of an activity in error: the word is removed, and its answer is put (N15).", victims: "B", scenario: finishes,
		lost: "The activity is still in error, and the word is in its queue. It is carried out after the start.",
		kept: "The activity has gone on, and the answer is in the transmission queue. A repeat of the word is answered as it was.",
	},
	{
		kind: "answer", what: "The answer to an operator's word is accepted by the node that was asked, as a line of history (N15).", victims: "A", scenario: finishes,
		lost: "The peer got no acknowledgement, and sends it again.",
		kept: "How the word was answered is in the history. A repeat of the word is answered from there.",
	},
	{
		kind: "accept", what: "Messages of a peer are accepted: they are put, with the link's number.", victims: "AB", scenario: finishes,
		lost: "The number on disk is the old one. The peer got no acknowledgement, and sends them again.",
		kept: "The number on disk says that they are here. The next hello tells the peer, which sends none of them again.",
	},
	{
		kind: "trim", what: "What a peer has acknowledged is removed from its transmission queue.", victims: "A", scenario: finishes,
		lost: "The messages are still there. The next hello says that the peer has them, and they are trimmed then.",
		kept: "They are gone, and the transmission queue begins after them.",
	},
	{
		kind: "terminate", what: "An operator terminates an instance: every node of the process puts a marker (N7).", victims: "AB", scenario: terminated,
		lost: "There is no marker. The operator repeats the command, or the sending node the message.",
		kept: "The marker is in the store. Every entry of the instance in the queue is ended, and what arrives later is absorbed.",
	},
	{
		kind: "stop", what: "An entry of a terminated instance ends.", victims: "AB", scenario: terminated,
		lost: "The entry is still there. The node finds the marker, and ends the entry again.",
		kept: "The entry is gone, and its record says `stopped`. What arrives for it is absorbed.",
	},
	{
		kind: "meet", what: "The incarnation of a peer's store is noted, at the first hello (L1).", victims: "AB", scenario: finishes,
		lost: "The peer is not known yet. Its next hello has the incarnation again.",
		kept: "The peer is known by its store. Another store under its name stops the link.",
	},
	{
		kind: "reads", what: "What a peer reads is noted, as its hello says it (N17).", victims: "AB", scenario: finishes,
		lost: "The peer is still taken to read what was noted before. Its next hello says it again.",
		kept: "The node goes by it until the peer says otherwise. What waits apart and can be read gets its numbers.",
	},
	{
		kind: "apart", what: "A message is put for a peer that does not read it, as far as that was heard, here an operator's word: it waits apart (N17).", victims: "A", scenario: newcomer,
		lost: "Nothing was put. The operator has no answer and repeats the word with the same identifier.",
		kept: "It waits apart, without a number of the link, and holds up nothing else.",
	},
	{
		kind: "move", what: "The peer reads what waits apart for it: that gets its numbers in the transmission queue, and in the audit (N17).", victims: "A", scenario: newcomer,
		lost: "All of it still waits apart. What the peer reads is noted, so the node moves it at its next start.",
		kept: "It is in the transmission queue, once, and nothing of it waits apart. It is sent after the next hello.",
	},
	{
		kind: "part", what: "Parts of a large message are accepted, and the last one has not come (L4).", victims: "B", scenario: large,
		lost: "None of them is here. The peer got no acknowledgement, and sends them again.",
		kept: "They are in the store, under the number of the first one. The hello says so, and only the others are sent.",
	},
	{
		kind: "whole", what: "The last part of a large message is accepted: the message is put, and its parts are removed.", victims: "B", scenario: large,
		lost: "The other parts are still in the store. The peer sends the last one again.",
		kept: "The message is in the queue, and no part of it is left.",
	},
	{
		kind: "park", what: "Messages are accepted for a process whose table is not here yet (N3).", victims: "B", scenario: parked,
		lost: "The peer got no acknowledgement, and sends them again.",
		kept: "They are in the queue and wait for the table. Nothing else waits because of them.",
	},
	{
		kind: "table", what: "The table comes that messages wait for (N3).", victims: "B", scenario: parked,
		lost: "The messages go on waiting, and the node says for what. The upload is repeated.",
		kept: "The table is read at open. Its process thread browses the queue and finds the messages.",
	},
	{
		kind: "table", what: "A table comes over a link, signed by a definer that the node trusts.", victims: "B", scenario: signed,
		lost: "The node does not have the table. Its sender still has it and sends it again, and it is checked again.",
		kept: "The table is here. Its signature is not checked again.",
	},
	{
		kind: "current", what: "A site knows that all sites of a version have stored it: it is current there (N19).", victims: "AB", scenario: versions,
		lost: "The version is pending, as it was stored. The site asks the others again, and they say again what they have.",
		kept: "The version is current. The others are told, or ask.",
	},
	{
		kind: "current", what: "An upload says that a version is current at once: it is, at the node that is asked, and at the others when that comes (N19).", victims: "AB", scenario: hurried,
		lost: "Nothing was stored at the node that was asked, and the upload is repeated; or its sender still has what it sent, and sends it again.",
		kept: "The version is current, whatever other sites have.",
	},
	{
		kind: "aside", what: "The node refuses what a peer sent, here a table of a definer that it does not know: the link accepts it, and it is kept as a refused message (L5).", victims: "B", scenario: untrusted,
		lost: "The peer got no acknowledgement, and sends it again. It is refused then.",
		kept: "It is kept with the reason, under a number. The peer does not send it again.",
	},
	{
		kind: "again", what: "`fmqm refused retry`: a refused table is accepted after all.", victims: "B", scenario: untrusted,
		lost: "It is still a refused message, under the same number. The operator has no answer and repeats the retry.",
		kept: "The table is here, and no refused message is left. A repeated retry finds nothing under the number.",
	},
	{
		kind: "refuse", what: "A message does not fit the table: it moves from its queue to the refused messages, and its activity goes in error (L5).", victims: "AB", scenario: refused,
		lost: "The message is still in the queue. It is folded again, and refused again.",
		kept: "It is a refused message, and the activity is in error with the reason, until an operator decides.",
	},
	{
		kind: "again", what: "`fmqm refused retry`: a refused message is put into its queue again.", victims: "B", scenario: refused,
		lost: "It is still a refused message, under the same number, and its activity is in error.",
		kept: "It is in the queue. If it still does not fit, it is refused again, under another number.",
	},
	{
		kind: "drop", what: "`fmqm refused drop`: a refused message is removed, and a message of the operator resolves its connector.", victims: "AB", scenario: refused,
		lost: "It is still a refused message, and its activity is in error. The operator has no answer and repeats the drop.",
		kept: "Its connector is resolved once: as FALSE, or without data. A repeated drop finds nothing under the number.",
	},
	{
		kind: "pass", what: "A dead path passes around a node that is down: a record for that node is put, and what leads out of its activity is resolved (N6).", victims: "A", scenario: around,
		lost: "The connector is not resolved. The activity before it is decided again, with the same result.",
		kept: "The record waits for the node that is down. What leads out of the dead activity has gone on without it.",
	},
	{
		kind: "skip", what: "The node that was down absorbs the record of its dead activity, and sends nothing (N6).", victims: "B", scenario: around,
		lost: "The record is still in its queue, and is absorbed again.",
		kept: "The activity has ended as skipped. Another node has sent what leads out of it, and it is not sent again.",
	},
	{
		kind: "inside", what: "A block begins an iteration: its snapshot is put, its source ends, and what leads to what is inside is put (N18).", victims: "B", scenario: scopes,
		lost: "The block has not begun the iteration. It is decided again, with the same input.",
		kept: "The iteration is under way, under its number. The block waits for what comes back.",
	},
	{
		kind: "return", what: "What is inside of a block has ended: its sink ends, and the block's entry gets what it has come to, or ends with it (N18).", victims: "B", scenario: scopes,
		lost: "What led to the sink is still in its entry. The sink is decided again, with the same output.",
		kept: "The block has what came back in its entry, or has ended. Nothing is left of the iteration.",
	},
	{
		kind: "deadline", what: "A deadline, or the time of a wait, is set when the activity is decided: a snapshot with the time, and its timer (N23).", victims: "B", scenario: scopes,
		lost: "Nothing has begun. The activity is decided again, and the time is counted from then on.",
		kept: "The timer is found at open, and comes when it would have: the time that the node was down counts.",
	},
	{
		kind: "expire", what: "A deadline has come, and ends the activity (N23).", victims: "B", scenario: scopes,
		lost: "The message of the timer is in its entry. The activity ends at its deadline after the start, and no program begins again.",
		kept: "The activity has ended with `_TIMEOUT`, and nothing of it is left.",
	},
	{
		kind: "carry", what: "The last attempt of an activity with `on_error: continue` has failed, and it ends (N22).", victims: "B", scenario: scopes,
		lost: "The program runs again under the same key. It may fail again, or not.",
		kept: "The activity has ended with `_ERROR`, and nobody is told of an error.",
	},
	{
		kind: "cancel", what: "An activity ends because another one has cancelled it (N25).", victims: "B", scenario: scopes,
		lost: "The message that cancels it is in its entry. It is cancelled after the start.",
		kept: "It has ended as cancelled, its timers are gone, and what leads out of it is FALSE.",
	},
	{
		kind: "decision", what: "An activity begins with the first connectors, and does not wait for the others: which counted, and the input, are in a snapshot (N14).", victims: "B", scenario: contest,
		lost: "What had come is in its entry, under the numbers with which it came. It is decided again, with the same outcome.",
		kept: "Which counted is known, whatever has come meanwhile, and its program runs with that input.",
	},
	{
		kind: "race", what: "A connector into such an activity has come too late: it goes with the activity's end, or is taken out after that, with a line of history (N14).", victims: "B", scenario: contest,
		lost: "It is still in the queue, and comes too late again.",
		kept: "It is gone, and has changed nothing. History says what had won.",
	},
	{
		kind: "notice", what: "A program of `notify` has run beside the work of an activity: its entry ends, or has the time of the next, with a line of history (N23).", victims: "B", scenario: contest,
		lost: "The message of the timer is in the notice's entry. Its program runs again under the same key, if the activity has not ended meanwhile.",
		kept: "History says that it has run. Nothing of it is left, or its next time is set.",
	},
	{
		kind: "child", what: "A subprocess begins: its snapshot is put, and what begins the instance of another process, for its source (N19).", victims: "A", scenario: family,
		lost: "Nothing has begun. It is found again whether the instance can begin, and it begins with the same identifier.",
		kept: "What begins the instance is in the queue of its process. The activity waits for what comes back.",
	},
	{
		kind: "born", what: "The instance of a subprocess is started: its source ends, its record and the connectors out of source are put (N19).", victims: "A", scenario: family,
		lost: "What begins it is still in the entry of its source, which starts it after the start of the node.",
		kept: "It goes on as any instance. Its record names its parent.",
	},
	{
		kind: "back", what: "The instance of a subprocess ends: its sink ends, and the activity that has begun it gets what it has come to, with a line of its history (N19).", victims: "A", scenario: family,
		lost: "What led to the sink is still in its entry. The sink is decided again, with the same output.",
		kept: "What came back is in the activity's entry, in the queue of its process, and is taken there.",
	},
	{
		kind: "abort", what: "A subprocess ends before its instance, here at its deadline: a marker for that is put with its end (N19).", victims: "A", scenario: family,
		lost: "The message of the timer is in its entry. The activity ends after the start, and its instance with it.",
		kept: "The activity has ended. The marker is in the store, and every entry of the instance here is ended.",
	},
	{
		kind: "relay", what: "The sink of an instance ends that its parent has ended: the other nodes of its process get their markers with that (N19).", victims: "A", scenario: family,
		lost: "The sink is still there, and nobody elsewhere was told. The node finds the marker, and ends it again.",
		kept: "The markers are in the transmission queues.",
	},
	{
		kind: "wait", what: "A receive is decided: its snapshot, and a message for the event queue of its node for each event that it may receive, are put (N24).", victims: "A", scenario: meeting,
		lost: "Nothing waits. The receive is decided again, and waits then.",
		kept: "What waits is found at open. An event that comes, or has come meanwhile, goes to it.",
	},
	{
		kind: "event", what: "An activity sends an event: it ends, and the event is put, here for the event queue of the other node (N24).", victims: "B", scenario: meeting,
		lost: "The activity has not ended, and nothing was sent. It is decided again, and sends the event under the same token.",
		kept: "The event is in the transmission queue. It is sent once.",
	},
	{
		kind: "match", what: "An event meets a receive: both are taken out of the event queue, and the event is put for the receive (N24).", victims: "A", scenario: meeting,
		lost: "Both are still in the event queue, and meet again after the start.",
		kept: "The event is the receive's, which ends with it. The event is remembered, so that a repeat of it is none.",
	},
	{
		kind: "bundle", what: "A bundle begins elements: its snapshot, and what begins each of them, are put (N21).", victims: "B", scenario: bundled,
		lost: "None of them has begun. The bundle is decided again, with the same list.",
		kept: "They begin, each under its number in the list. The bundle knows which are under way.",
	},
	{
		kind: "bundle:2", what: "The same, for the next elements, as there is room again.", victims: "B", scenario: bundled,
		lost: "Those before are under way, or have returned, and do not begin again. The next begin with the room that there is then.",
		kept: "They begin. None of them, and none of those before, begins again.",
	},
	{
		kind: "element", what: "An element of a bundle ends, and returns to the bundle what it has come to (N21).", victims: "B", scenario: bundled,
		lost: "It has not ended. Its program runs again under the same key.",
		kept: "What came back is in the bundle's entry, and counts in the order in which it came.",
	},
	{
		kind: "gather", what: "What has come back of elements is put together: a message with the outcomes takes the place of the returns, with a snapshot (N21).", victims: "B", scenario: bundled,
		lost: "The returns are in the bundle's entry, and are put together again.",
		kept: "The returns are gone, and each outcome is in the message once.",
	},
	{
		kind: "results", what: "A bundle ends with the results of its elements (N21).", victims: "B", scenario: bundled,
		lost: "All that came back is in its entry, in messages put together and in returns. It is decided again, with the same results.",
		kept: "The bundle has ended, with each result at its place in the list. Nothing of it is left.",
	},
	{
		kind: "call", what: "A call begins its work: a snapshot that names the node, and what begins the work there, are put (N20).", victims: "A", scenario: calls,
		lost: "Nothing has begun. It is decided again, and its input names the same node.",
		kept: "What begins the work is in the transmission queue to that node. The call waits for what comes back from there.",
	},
	{
		kind: "work", what: "The work of a call ends at the node where it was done: it is recorded, and what it has come to is put for the call (N20).", victims: "B", scenario: calls,
		lost: "It has not ended. Its program runs again under the same key.",
		kept: "Nothing of it is left there. What it has come to is in the transmission queue to the call.",
	},
	{
		kind: "called", what: "A call ends with what came back from its work (N20).", victims: "A", scenario: calls,
		lost: "What came back is in its entry. It is decided again, with the same output, and its work is not done again.",
		kept: "The call has ended, and what leads out of it is resolved.",
	},
	{
		kind: "cancel", what: "The work of a call is cancelled where it is done, here because the call's deadline has come (N20, N25).", victims: "B", scenario: calls,
		lost: "The message that cancels it is in its entry. It is cancelled after the start.",
		kept: "It has ended as cancelled, and returns nothing.",
	},
	{
		kind: "termination", what: "The same, in a process of which activities are hosted where the instance was started (N20).", victims: "AB", scenario: origins,
		lost: "Its messages are still in the queue, and say where the instance was started. It is decided again, there.",
		kept: "What it sent to the origin is in the queues of the node that has started the instance, and nowhere else.",
	},
	{
		kind: "thin", what: "Iterations of a block go that its process does not keep, while the instance goes on; one record stays, which says that they are over (N16).", victims: "A", scenario: rounds,
		lost: "They are all still there. They go with those that are over when it is next looked, after more iterations.",
		kept: "They are gone, and what would come for one of them is absorbed. The loop goes on.",
	},
	{
		kind: "finish", what: "An operator's word ends an activity by hand, with an output: its messages and the word are removed, its onward messages, two lines of history and the answer are put (N30).", victims: "B", scenario: hands,
		lost: "The activity is still in error, and the word is in its queue. It is carried out after the start.",
		kept: "The activity has ended with that output, and no program runs for it again. The answer is in the transmission queue.",
	},
	{
		kind: "skip", what: "An operator's word skips an activity: it ends as on a dead path, and the answer is put (N30).", victims: "B", scenario: hands,
		lost: "The activity is still in error, and the word is in its queue. It is carried out after the start.",
		kept: "The activity has ended as skipped, what leads out of it is FALSE, and the answer is in the transmission queue.",
	},
	{
		kind: "recall", what: "An activity is to be restarted: its home asks those after it for what it had come to, with a snapshot and a line of history; and they give it back, or say why not (N30).", victims: "AB", scenario: again,
		lost: "At home the word is in the queue, and is looked at after the start. At the other site the recall is in its queue; it is decided after the start by what had come before it, and so in the same way.",
		kept: "What home asks for is in the queues of all, and the word waits for their answers. The other site has taken out what it had, or not, and its answer is in the transmission queue; the recall stays until the activity there ends.",
	},
	{
		kind: "restart", what: "All have given it back: the activity begins its next run, its end becomes a line of history, its connectors are asked for again, and the word is answered (N30).", victims: "A", scenario: again,
		lost: "The snapshot and the answers are in its entry. It is restarted after the start.",
		kept: "It has begun its next run, and waits for its connectors. A repeat of the word is answered as it was.",
	},
	{
		kind: "keep", what: "A restart is given up, here since what comes after has been decided: who had given something back gets it again, and the word is answered (N30).", victims: "A", scenario: again,
		lost: "The snapshot and the answers are in its entry. It is given up after the start.",
		kept: "Its end stands. What goes back is in the queues. A repeat of the word is answered as it was.",
	},
	{
		kind: "offer", what: "A manual activity is decided: it is offered to people, with a line of history (N27).", victims: "A", scenario: people,
		lost: "Nobody was offered it. It is decided again, and offered under the same name.",
		kept: "The item is found when the node browses its queues, and is on the worklists. History has one line of it.",
	},
	{
		kind: "claim", what: "Somebody claims an item (N27).", victims: "A", scenario: people,
		lost: "It is offered as before. Who claimed it has no answer, and repeats the word; or somebody else is faster.",
		kept: "It is his, also after the start. A repeat with the same identifier is answered as it was, and anybody else is refused.",
	},
	{
		kind: "release", what: "Somebody gives an item back (N27).", victims: "A", scenario: people,
		lost: "He still has it, and repeats the word.",
		kept: "It is offered again, to all who may have it.",
	},
	{
		kind: "draft", what: "Somebody saves what he has done so far (N27).", victims: "A", scenario: people,
		lost: "The item has the draft before. He has no answer, and saves it again.",
		kept: "The draft is in the item, whoever has it next.",
	},
	{
		kind: "transfer", what: "Somebody gives an item to another (N27).", victims: "A", scenario: people,
		lost: "He still has it, and repeats the word.",
		kept: "The other one has it, with the draft.",
	},
	{
		kind: "complete", what: "Somebody completes an item: it is gone, and the activity ends with the draft as its output (N27).", victims: "A", scenario: people,
		lost: "He still has it, with the draft before. He has no answer, and completes it again.",
		kept: "The activity has ended with that output, and goes on from there. A repeat finds no such item, and says that history has what has ended.",
	},
	{
		kind: "withdraw", what: "An item is taken from people before anybody completed it, here because its deadline has come (N27).", victims: "A", scenario: people,
		lost: "The message of the timer is in its entry. The item is on the worklists until the activity ends at its deadline, after the start.",
		kept: "The item is on no worklist, and the activity has ended with `_TIMEOUT`.",
	},
	{
		kind: "escalation", what: "A notice of an activity has come to people, or somebody has taken it off their worklists (N27).", victims: "A", scenario: people,
		lost: "The message of the timer is in the notice's entry, and it comes after the start. Who took it off has no answer, and says it again.",
		kept: "It is on the worklists of those for whom it is, until the activity ends or somebody takes it off; history says that it came.",
	},
	{
		kind: "tell", what: "Sink has heard of an error, or of a deadline that has ended something, and begins the notices that tell of it; its snapshot says so (R58).", victims: "A", scenario: tells,
		lost: "What sink has heard is still in its entry, and it begins the notices after the start.",
		kept: "Each notice is an entry of its own, and comes to people, or runs its program. Sink does not tell of it again.",
	},
	{
		kind: "told", what: "An instance ends, and with it the notices of its end begin (R58).", victims: "A", scenario: tells,
		lost: "What led to the sink is still in its entry. The instance has not ended, and nobody is told that it has. The sink is decided again.",
		kept: "The instance has ended, and each notice of that is an entry of its own, which stays until its program has run and somebody has taken it off.",
	},
	{
		kind: "expedite", what: "A mark gives an instance another priority: as an operator says where it was started, and as that comes to the other sites (N31).", victims: "AB", scenario: expedited,
		lost: "The instance has the priority that it had. The operator has no answer and repeats the command; another site is sent the mark again.",
		kept: "The mark is in the store: what waits there has its turn by it after the start, and what tells the other sites is in their transmission queues. A repeat with the same identifier changes nothing.",
	},
	{
		kind: "suspend", what: "A mark suspends an instance, here until a time: as an operator says where it was started, and as that comes to the other sites (N29).", victims: "AB", scenario: rested,
		lost: "Nothing is suspended. The operator has no answer and repeats the command; another site is sent the mark again.",
		kept: "The mark is in the store, and what it suspends stands still after the start. It is new: the site acts on it then, and sets its time. A repeat with the same identifier changes nothing.",
	},
	{
		kind: "heed", what: "A site has acted on a mark that has a time, or of a process of which activities there begin instances: it puts it once more, as one that is not new any more, with that time, with what tells those instances and the other sites, and with the line of history where it is not written.", victims: "AB", scenario: rested,
		lost: "The mark is still new, and the site acts on it once more. Who is told twice has it once.",
		kept: "Nothing is left to do about it. The mark lies there as long as the store.",
	},
	{
		kind: "resume", what: "The time of a suspend has come: each site puts the mark that lifts it, and takes the message that its time has come (N29).", victims: "AB", scenario: rested,
		lost: "It is still suspended there, and the message says so after the start.",
		kept: "The mark is in the store. It is new: the site acts on it after the start, and writes the line about it where the instance was started.",
	},
	{
		kind: "retire", what: "A site notes that a version begins nothing new, or that it may again, as an operator or another site has said (N31).", victims: "AB", scenario: retired,
		lost: "The version is as before. The operator has no answer and repeats it; another site tells it again, or is asked.",
		kept: "Nothing of the version begins there. Sites that are not known to have heard it are told after the start. A repeat changes nothing.",
	},
	{
		kind: "final", what: "A site gives its final word about a retired version, or notes that of another site: nothing of it begins there any more, and all that began there has ended (N31).", victims: "AB", scenario: removed,
		lost: "The version is retired, as before, and the site looks again after the start; or it is told again of the other's word.",
		kept: "The word is given, for ever. The others are told when they ask, or when the site asks them.",
	},
	{
		kind: "without", what: "An operator writes a site off that is gone for ever: the table of a retired version goes here without it; or the site is heard, and that is over (N31).", victims: "A", scenario: abandoned,
		lost: "The table still waits for the site. The operator has no answer and repeats it; a site that is heard answers again.",
		kept: "The table goes once nothing else needs it. A repeat changes nothing.",
	},
	{
		kind: "remove", what: "The table of a retired version goes, with its text, and a tombstone is put.", victims: "AB", scenario: removed,
		lost: "The table is as before, and the site looks again after the start whether anybody needs it.",
		kept: "The site has no such table after the start. What comes late for the version is dropped, and nobody uploads it again.",
	},
	{
		kind: "erase", what: "A site notes that data of an instance that has ended are to be overwritten: its administrator wants it, or the site where it was started.", victims: "AB", scenario: erased,
		lost: "Nothing is overwritten. Who has asked has no answer, or is told that the site has not answered, and repeats the command.",
		kept: "The site goes on with it by itself. A repeat joins what has begun.",
	},
	{
		kind: "overwrite", what: "Records of the instance are rewritten, with how many have been.", victims: "AB", scenario: erased,
		lost: "The records are as they were, and the note is in the store: all records are looked at again.",
		kept: "What is overwritten is not touched again, and the others follow.",
	},
	{
		kind: "erased", what: "All records are overwritten: that is noted, with a line of history.", victims: "AB", scenario: erased,
		lost: "All records are looked at again; none changes, and the line is written then.",
		kept: "The files of the store are written anew, so that nothing is in them of what was overwritten.",
	},
	{
		kind: "scrubbed", what: "The files of the store are written anew, and the note goes.", victims: "AB", scenario: erased,
		lost: "The files are written anew once more.",
		kept: "All is done. A repeat of the command looks at all records, and changes nothing.",
	},
	{
		kind: "rebuild", what: "An operator orders a rebuild: a peer that lost its store is sent again what it lost (S4).", victims: "A", scenario: lost,
		lost: "The link is stopped as before. The operator has no answer and repeats the command.",
		kept: "The order is in the store, and the node goes on with it by itself. A repeated command joins the rebuild that has begun.",
	},
	{
		kind: "rebind", what: "The peer's new store is noted, and the conversation begins anew (L1).", victims: "A", scenario: lost,
		lost: "The next hello stops the link again, and it is decided again, because the order is in the store.",
		kept: "The hello names the new store, which is known. What waits in the transmission queue is sent to it.",
	},
	{
		kind: "rebind", what: "The same, for a peer that was restored from a backup.", victims: "A", scenario: restored,
		lost: "The next hello stops the link again, and it is decided again, because the order is in the store.",
		kept: "The hello names the restored store, which is known.",
	},
	{
		kind: "begin", what: "A new store notes the number at which its conversation begins (L1).", victims: "B", scenario: lost,
		lost: "Nothing was accepted. The next hello has the number again.",
		kept: "The conversation goes on from there. The next hello has the same number, and nothing begins twice.",
	},
	{
		kind: "anew", what: "A new store notes that others know its node with an earlier store (S4).", victims: "B", scenario: lost,
		lost: "The peer has no answer, or its conversation does not begin: its next question or hello comes again.",
		kept: "From now on repeats of what has ended are dropped, instead of refused.",
	},
	{
		kind: "asked", what: "A rebuild has learnt what the peer still has.", victims: "A", scenario: lost,
		lost: "The peer is asked again.",
		kept: "It begins with the first instance.",
	},
	{
		kind: "chunk", what: "What was sent for an instance is put again, with a mark of how far the rebuild is.", victims: "A", scenario: lost,
		lost: "None of it is in the transmission queue. It is built again from the audit queue.",
		kept: "It is in the transmission queue, once. The mark is after it, and the rebuild goes on there.",
	},
	{
		kind: "chunk:2", what: "The same, for the second instance.", victims: "A", scenario: lost,
		lost: "The first instance was put before, and is not put again.",
		kept: "Neither is put again.",
	},
	{
		kind: "rebuilt", what: "A rebuild is done.", victims: "A", scenario: lost,
		lost: "No instance is left after the mark, so it is done at once.",
		kept: "It is done. A repeated command does it again, and changes nothing twice.",
	},
	{
		kind: "absorb", what: "A repeat for what has ended is removed from its queue. Its sender lost its store, and ran it again.", victims: "A", scenario: lost,
		lost: "It is still in the queue, and is absorbed again.",
		kept: "It is gone, and changed nothing.",
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

Every durable change of a node is one transaction. So a crash comes either before the transaction, or after it when nobody knows of it yet. This page lists
every point between two writes, and what the node does at its next start.

A test of its own hits each line on purpose, with ` + "`kill -9`" + ` (` + "`test/crash`" + `). It has two daemons and a process over both; one dies at the point, and is started again. Then:

- Each instance equals what ` + "`fmqm-define run`" + ` says.
- Its history has every event once.
- Every program ran under one key for each iteration.
- Every queue is empty, and no store has anything left that was on its way.

The page is written from the table of the tests (` + "`UPDATE=1 go test ./test/crash -run Document`" + `).

Recovery is only this: the node opens its store, which finishes or removes what takes several writes, and browses its queues.

## Transactions

Each has three points: **before** the group is given to the disk; **written**, when nobody in the node knows of it; **published**,
when the queues show it and the submitter has not been told. From outside the last two look the same.

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
