// Package navigator decides what an activity does next. It is the FlowMark
// behaviour behind the contract that every behaviour keeps:
//
//	Fold(state, message)  what is known: any order, no effects
//	Decide(state)         what should be: asked once everything present is folded
//	Conclude(state, result) what follows from a program's end
//
// Effects are data: messages to put, the program to invoke, a wake-up, the entry's
// end. The process thread makes them happen, all durable ones in one transaction.
//
// The package is pure: no I/O, clock, goroutine or log. A prepared [Process] is
// immutable and safe for concurrent use; a [State] belongs to its process thread.
//
// # The rules of navigation
//
// Each rule names its source: the paper (Exotica/FMQM, by section) or the design's
// own number. Tests cite the numbers.
//
//	R1   An entry's state is a function of the set of its messages: any order, and any
//	     repeat, gives the same state. (invariant 2; paper §4: recovery browses)
//	R2   An activity is decided once all its incoming connectors, control and data, are
//	     resolved; until then nothing happens, but for R18. (invariant 4; paper §3.3)
//	R3   Start condition FALSE: the activity counts as terminated. It sends FALSE on every
//	     outgoing control connector and "no data" on every data connector. (paper §2.3,
//	     dead path elimination)
//	R4   Start condition TRUE: the program is invoked with the input container. (paper §3.3)
//	R5   The input container has its defaults; then the mappings of each data connector
//	     whose source ran apply in file order, leaf by leaf. (N8; paper §3.2 FILTER)
//	R6   Exit condition FALSE: the program runs again. The next input is this iteration's,
//	     with the feedback mappings applied. (paper §2.3, §3.3)
//	R7   Exit condition TRUE: the transition conditions are evaluated over the output
//	     container and _RC, and the activity is terminated. (paper §3.3)
//	R8   otherwise is TRUE if every other control connector out of the activity is FALSE;
//	     an activity that was skipped makes it FALSE. (language)
//	R9   What one termination sends to one target travels as one message. (design §6)
//	R10  A return code other than 0 is data where something of the activity reads _RC;
//	     elsewhere it is a failed attempt. (language)
//	R11  A failed attempt is repeated while attempts are left, after a pause that doubles;
//	     then, or at once where another must not be made (P2), the activity is in error,
//	     and the origin is told. (N4)
//	R12  A condition that fails puts the activity in error; none of its connectors is
//	     sent. The output is kept: a retry evaluates again without running the program. (N4)
//	R13  While _RC is not 0, the next iteration waits after the third quick one; past
//	     max_iterations the activity is in error. (N9)
//	R14  An empty activity terminates without a program: its output takes the members of
//	     its input that have the same name and type, _RC is 0. (language)
//	R15  source terminates when the instance is started; its output is the process's
//	     input. sink runs whatever the outcome of its connectors; when it terminates, the
//	     instance has ended. (N1; paper §4)
//	R16  A terminated instance's entries end as stopped and send nothing. (N7)
//	R17  An operator's retry of an activity in error runs the program under a new run
//	     number, or takes the operator's output in its place. (P1, N4)
//	R18  An activity that is skipped as soon as the only control connector into it is
//	     FALSE is passed around: who resolves that connector resolves those out of it in
//	     the same transaction, on its host's behalf, and so on along the path. Its host
//	     gets the message as a record that this was done: it absorbs what else comes,
//	     then ends as skipped and sends nothing. Where the record does not say so, the host
//	     resolves them at once, without waiting for data. (N6)
//	R19  A pause is over when the message of its timer came, whatever a clock says: a timer is
//	     known by its name and its time, and one of another pause means nothing. What is decided
//	     next takes the messages of all timers that came. (N13, invariant 14)
//	R20  A block whose start condition is TRUE begins an iteration: its snapshot, and a message
//	     for the source inside of it. Source takes the iteration's input for its output and
//	     terminates at once. When sink has terminated, its input returns to the block, with
//	     _RC 0: then R6 and R7 apply as to a program's end. A return of another iteration or
//	     run than is under way is none: of one before it is let go, of one that is still to
//	     begin (its site has lost its store) it waits for that. (N12, N18)
//	R21  A deadline is counted from when the activity was decided TRUE, once, through
//	     iterations, attempts and errors. When its message has come the activity terminates: its
//	     output has the defaults, _TIMEOUT is TRUE, _RC is -1, and the exit condition is not
//	     asked. What runs of it is ended, what is inside of it is cancelled. A block that has
//	     returned has come before it. A wait terminates as an empty activity does, when the
//	     message of its time has come. (N23)
//	R22  When no attempt is left, an activity that goes on after errors terminates: its output
//	     has the defaults, _ERROR says why, and the exit condition is not asked. A block that
//	     does is told of what would wait for an operator inside of it, cancels the rest of that
//	     iteration and terminates so. After such an end, and after a deadline, data connectors
//	     carry the engine's words only, and set nothing else. (N22)
//	R23  An activity that is cancelled ends: what runs of it is ended, what is inside of it is
//	     cancelled, and what leads out of it is dead. One that is not decided ends once its
//	     incoming connectors are resolved, so that sink, and with it the instance, still ends
//	     last. Where all around it is cancelled as well it ends at once, and sends nothing.
//	     What had ended stays so. (N25)
//	R24  source has transition conditions too, over its output, without _RC; what it begins
//	     without one is not beside its otherwise. One that fails refuses the start: nothing is
//	     put. In a block it gives the iteration up: what is inside is on a dead path, and the
//	     block is in error; a retry begins anew. (language)
//	R25  Where an activity takes the first match, its control connectors are evaluated in the
//	     order of the table up to the first that is TRUE: it alone is. (language)
//	R26  What a mapping works out is evaluated once, over the output that an activity ends with:
//	     after its transition conditions, in the order of the table; that of a feedback where
//	     the exit condition is FALSE. One that fails puts the activity in error as R12 has it, and
//	     refuses or gives up as R24 has it. After such an end as of R22 those are evaluated that
//	     read the engine's words and no member, and no other is. (language, N22)
//	R27  A mapping that appends makes one more element at the end of its list, in the place that
//	     R5 gives it among the mappings, whatever came first. Above the limit of a list the
//	     receiver is in error, as for an input that is too large. (N8)
//	R28  Where the table is of format 6, a control connector says how its activity has ended: by
//	     itself, by a deadline or an error (R21, R22), or not at all, which a dead path and what
//	     is cancelled have in common, since both may be told of one activity (R18, R23). A start
//	     condition may ask for it, when R2 holds. (language)
//	R29  A subprocess whose start condition is TRUE begins an instance of another process, once
//	     an invocation has found that it can: its snapshot, which names the child, and a
//	     message for the child's source, which has the input. Source terminates with that, as a
//	     start does, and the instance's record names the parent. When the child's sink has
//	     terminated, its input returns, with _RC 0: then R6 and R7 apply. A child that has
//	     ended otherwise is a failed attempt (R11), and each attempt is another child; a return
//	     of another one than is under way is none. Where the activity ends before its child, or
//	     begins anew, a marker ends the child, unless it is independent; sink tells the other
//	     nodes of it. (N19)
//	R30  The deadline of a process is sink's: it is reckoned over the input, from the start, once
//	     sink has the instance's record. Where it has come before sink is decided, a marker is
//	     put at the origin, as an operator's is, and sink tells the other nodes of it (R16,
//	     R29). An instance for which it cannot be reckoned is not started. (N23)
//	R35  An activity that is decided with the first k connectors is decided TRUE once k control
//	     connectors into it are TRUE, by the order in which the store numbered them, and FALSE once
//	     so many are FALSE that k cannot be. Its snapshot keeps, before anything runs, which counted
//	     and the input of what had come by then; data of a source whose control connector did not count
//	     are no part of that. What source sends without beginning it is waited for. What comes later is
//	     absorbed, also when its entry is gone, and history says what had won. Sink waits for what leads
//	     to such activities only. (N11, N14)
//	R36  A notice of an activity is an entry of its own, in a frame of source, which no activity is inside of.
//	     The transaction that decides the activity TRUE puts its snapshot, with its time and the input; those of
//	     the process are sink's, once it has the instance's record. When its time has come its program runs, and again every
//	     so often; nobody waits for it, and what fails is told in history. The end of its activity cancels it. (N23)
//	R31  A bundle whose start condition is TRUE begins one execution for each element of its list, in
//	     the list's order, as long as fewer than its parallel are under way, once an invocation has
//	     found room (S3): a message with the element's input, and the snapshot. An execution is another row of its name, in a scope with
//	     the element; its end returns, and is none of another run. Until is evaluated after each
//	     return, in the order in which they came: once it is TRUE no other return counts, and what
//	     is open is cancelled. When nothing is open, and nothing is to begin, the bundle terminates:
//	     its output has what is read of the outcomes, in the list's order, defaults and the error
//	     "cancelled" where until has left an element. Failed is what its deadline or an error has
//	     ended, and what the bundle's condition says. Returns are put together into chunks, so that
//	     each is written a few times however many there are. Results above the limit of a container put
//	     the bundle in error, as does a list above 100,000. (N21)
//	R32  What is in error inside of a bundle tells the bundle, in place of the origin; of several the
//	     nearest, unless a block around goes on after errors (R22). The bundle tells what is around
//	     it, or the origin, how many elements are in error, and of the first; and when none is. (N21, N4)
//	R33  A call whose start condition is TRUE has its work done at the node that its expression gives,
//	     one of its list, else it is in error: once an invocation has found room in the queue to there
//	     (S3), a message with the input, and the snapshot, which names the node. The work is another row of its name, in a scope of its own. Its end
//	     returns output, _RC, and how it has ended, and then R7 applies, and no exit condition. A
//	     return says of which node it is; one of another node, or run, is none. Where the call ends
//	     before its work, that is cancelled. (N20)
//	R34  Nothing is decided of what a bundle or a call has begun before its begin has come, but that
//	     it is cancelled (R23) or stopped (R16). (N12)
//	R37  A receive whose start condition is TRUE waits: its snapshot, and a message for the event
//	     queue of its node for each event that it may receive, with its key. The first that
//	     comes back, by arrival, ends the round: output takes the members of the same name and
//	     type, _EVENT names it, then R6 and R7 apply. One that is there when the deadline has
//	     come as well has come before it. A key that is empty or cannot be evaluated puts the
//	     activity in error. (N24)
//	R38  When a round of a receive is over, in whatever way, the transaction takes out what still
//	     waits of it, and puts back what had come beside the event that it took, to its place
//	     in the queue; so does what absorbs an event that comes later. (N24)
//	R39  A send terminates as an empty activity does, and its event goes with that, to the event
//	     queue of the node that is named or that its input says: once for each execution, by a
//	     token that is made of it. What cannot be sent puts it in error before anything is. One for
//	     another node waits for room in the queue to there. (N24, S3)
//	R40  What the table has at the origin is hosted where the instance was started, as source and sink are:
//	     whoever sends to it takes the node from the header's origin, and only that node may speak for it. Every node
//	     that may start an instance has its row, and takes what is for it only of instances that it has started
//	     itself. Nobody passes around it (R18): where the origin is not heard the instance could not end either. In a
//	     subprocess the origin is where the child began. (N20)
//	R41  An activity that has ended and told nobody of that, since another node had passed around it (R18) or all
//	     around it was cancelled (R23), tells a node that has lost its store: that it is dead, and so, of one
//	     that was passed around, before it ends; and of the work of a call, that it was cancelled: then the call
//	     waits for its deadline, and is in error if it has none. (N14, S4)
//	R42  Who did an activity, and whom that person stood in for, is the last value of a hidden connector (processtable.Manual): it sets no
//	     member. It comes with all values and with those of words, so that nobody is known of what was skipped. An
//	     element of a bundle has it from its begin, and a subprocess gives its child who has started its own instance. (N27)
//	R44  A manual activity whose start condition is TRUE is offered: its snapshot has a work item, and people
//	     have the word. Each iteration is offered anew, and so is what a retry runs again. Where what the staff
//	     expression asks of the data has no answer, or the priority, it is in error. (N27)
//	R45  Of those who want an item one has it: the first whose word is taken. He keeps it until he gives it back or
//	     to another, or who may does so for him. Its draft begins with the members of the input that have the same
//	     name and type, and a word changes the members that it names; what is not of the output's type changes nothing. (N27)
//	R46  Complete gives the iteration's output, _RC is 0, _BY who has done it: then R6 and R7 apply. What nobody has is
//	     claimed with it. Whatever else ends the activity, or puts it in error, withdraws the item. (N27)
//	R47  A manual activity that is offered at other nodes than its home is offered once there is room in the queues
//	     to them (S3): the transaction of the offer begins a row of its name at each of them, in a scope with the iteration, with
//	     the input, its deadline, and who did what its staff expression asks for. That row offers the item to the people of its node,
//	     and decides nothing. Home is among them only if it is listed. (N27, paper §4)
//	R48  Home has the item, and takes all words about it (R45). The offers are told, in the transaction of the word, who has
//	     it, or that it is offered again, under a number that grows: of several the highest counts, and an offer keeps that in
//	     its snapshot. When the item is completed, or people lose it (R46), home cancels its offers, and waits for
//	     nobody; what comes to them later is absorbed by the record of their end. (N14, N25)
//	R49  To a home that has lost its store those who have ended an offer of an item say so (R41), as a return with an error. Home
//	     withdraws the item and goes on to another run of the iteration, which it offers anew: in scopes of which nothing has ended
//	     anywhere. Who has it keeps it, where his own node still offers it. (N12, N27)
//	R50  An operator's hand ends an activity that was decided TRUE, whatever runs or waits of it: that is ended, what
//	     is inside of it is cancelled. Finished, its output is the operator's, _RC is 0, the exit condition is not
//	     asked, and R7 applies; where that fails the hand is refused, and nothing has changed. It sends no event. Skipped,
//	     what leads out of it is dead, and one execution of a bundle counts as failed. Where what is inside is
//	     too much for one transaction, a snapshot says that it is being ended, until it is. One that is not decided cannot be ended: it
//	     would have ended before what leads to it. (N30)
//	R51  A notice (R36) with a staff expression, or of a manual activity without a program, is shown to people when its time has come, and
//	     history says so: an item that nobody has, which stays until it is taken off or its activity ends. When it comes once more it takes the
//	     place of the one before. Who sees it is asked whenever somebody looks: its expression knows who did what came before, and who has its activity
//	     then; without one it is for who has the activity, or may have it. Its program runs after that, and is told of them. Where the data give
//	     no answer nobody is shown it, and history says why. (N27, N23)
//	     An activity that is offered at other nodes (R47) has those for people there as well, each with times from when the offer came, for
//	     the people of that node: who sees one may take the item from others of his node, as who administers the process there
//	     may. Home runs the programs. (N27)
//	R52  A notice is completed by whoever sees it: it is off the worklists until its next time, and history says by whom. Nothing else is done to one,
//	     and nothing waits for it. (N27)
//	R53  The restart of an activity that has terminated is a recall. Its home keeps a snapshot in the activity's entry,
//	     beside the record of its end, which says who wants it, how it had ended, and an edition; with it goes a
//	     recall to each activity to which a connector of it leads, control or data. An edition is the number of an
//	     activity's connector messages, 0 at first: each recall has the next one. (N30; paper §4)
//	R54  A recall voids, in the entry of a successor, what its source has sent under a lower edition, whether it is there
//	     or comes later, unless the successor is decided. It is where all that it waits for came before the recall, by
//	     the numbers of the store: so a program that ran before a crash is never given another input. And it is
//	     where it begins with the first (R35), is on a dead path, or was restarted itself. One transaction takes out what is
//	     void, keeps the recall as answered, and answers; else it takes the recall, and answers what stands in the way. Of
//	     two messages of one source the one of the higher edition counts. (invariants 2, 4)
//	R55  When all have taken it out, one transaction restarts the activity: what its end was is a line of history, its
//	     snapshot begins the first iteration of the next run, and it asks for its connectors again. What brings no values
//	     its own record tells; the rest their hosts send once more, as for a store that was lost. Then it is
//	     an activity like any other, and what it sends is of the new edition. (N16)
//	R56  Where one cannot, or the operator withdraws it, or the activity is cancelled, it is given up: who has taken out
//	     what it had sent, or says later that he has, is sent it once more, under the new edition, which its end tells from
//	     then on. When all have answered the snapshot goes, and the end stands. A marker ends it at once. (R16)
//	R57  What cannot be recalled is refused at once: source and sink, what a bundle or a call has begun, what begins
//	     with the first of its connectors, has taken or sent an event, or has cancelled others; and what led to an activity
//	     of another node that was passed around (R18), since that one's end is on its way.
//	R58  A notice of a process may come when something has happened to an instance: it has ended, an activity of it has told sink of an error, or a
//	     deadline has ended one, or all of it. Sink begins it then: a snapshot in a frame of source with the notice's number and which of these things it
//	     is, from 1, with the instance's input, what has happened, and at the end the output. The end is told by the transaction that ends sink, so
//	     exactly once; the others one by one, before sink comes to anything else: its snapshot says how many those are, at most 1,000,
//	     and up to which message, by the numbers of the store. Of one activity the last error counts; what is over before sink has told of it is not. (N23, N27; paper §4)
//	R59  Such a notice has nothing to wait for: people are shown it at once, then its program runs. Neither the end of sink nor a marker ends it; it ends when its
//	     program has run and somebody has taken it off, or when it is cancelled, which removes it without a word: so who removes or
//	     overwrites what is kept of the instance takes it along. Its instance has ended all the same. (paper §4)
//	R61  An activity that a deadline has ended tells sink so, where a notice of its process is about deadlines: by a message that goes before those about its
//	     end, and that its own transaction lets sink have before these. What another node has sent by another lane may overtake it; what is heard after
//	     the end of the instance is not told. A lost store does not get such messages again. (N23)
//	R60  The priority of what is invoked or offered is that of the instance's last expedite; else the activity's own, over
//	     its input; else that which the instance was given, which each of its messages says: at the start, or by the
//	     activity that has begun it, or what its process says over its input; else the process's. One that cannot
//	     be reckoned puts the activity in error, or refuses the start. (N31)
package navigator
