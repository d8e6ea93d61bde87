// Package interpret runs a whole process in one place, in one goroutine, without
// nodes, queues or messages: for trying a definition out, and as the oracle that a
// distributed run is compared with (invariant 7).
//
// What it guarantees:
//
//   - [Run] is a function of process, input and program results. It waits for nothing:
//     repeats and retries follow at once.
//   - Its joins, loops and mappings are its own, over the definition and not over what
//     the compiler made of it: an oracle that shared code would prove nothing. Only
//     containers and conditions are shared.
//
// The rules, in the order in which they apply to one activity:
//
//   - It is decided once every incoming connector, control and data, is resolved
//     (invariant 4). Without predecessors its control flow comes from source (N1).
//
//   - Start condition FALSE: it is skipped. Every control connector out of it is FALSE,
//     every data connector resolved without data (dead path elimination, paper §2.3).
//
//   - Its input has its defaults; onto them the mappings of the data connectors whose
//     source ran apply, in file order (N8): the one listed last wins.
//
//   - A failed attempt is an error of the program, an output that is not its container,
//     or a return code other than 0 that is no data. After retry's attempts the
//     activity is in error.
//
//   - Exit condition FALSE: it runs again, with the feedback applied onto a copy of
//     this iteration's input. FALSE after max_iterations: it is in error (N9).
//
//   - Then the transition conditions give each control connector its truth; otherwise
//     is TRUE if every other one is FALSE. Where the first match is taken the others are
//     FALSE and not asked. A condition that fails puts the activity in error, and nothing
//     of it is sent (N4).
//
//   - The conditions out of source are over the input; what source begins without one is not
//     beside its otherwise. One that fails refuses the start; of a block it skips everything
//     inside, and puts the block in error.
//
//   - A receive (N24) takes the first event of its names and key that activities of this run have sent to
//     its node and that no other has taken, whoever has waited longest, and waits for it where it is not
//     there. What it gets may be an outcome, too ([Got]): then it comes from outside, or from one send, and
//     what ends a block around it comes later than the event. Where nothing of
//     the run goes on, deadlines come, in file order: of what waits, or of what is around it.
//
//   - An activity that begins with the first connectors is decided as soon as so many are TRUE, or cannot be: in the
//     order in which their sources end in this run, or as [Races] say. What did not count by then is none of its input. Sink
//     waits for what leads to such activities only.
//
//   - What ends an activity otherwise than by itself is the outcome of a race (N14), and said
//     by who runs the process ([Races]). Where nobody says it, a deadline comes too late, and so
//     does what cancels, but for what cannot end without it.
//
//   - At its deadline (N23), and when attempts are used up where it goes on after errors (N22),
//     an activity terminates: with its output's defaults, _RC -1 where there is no return code,
//     and the engine's words, which are all that data connectors then set. A block that goes on
//     after errors does so once something inside is in error and nothing inside goes on.
//
//   - What is cancelled (N25), by an activity that has terminated or because a block around it
//     ended early, is like what is skipped; by another activity once all that leads into it is
//     resolved. Inside of a block that is cancelled or has ended
//     early all is cancelled that has not ended.
//
//   - Of a bundle (N21) each element is an execution by itself, with its own input; they return in
//     the list's order, or as who runs the process says ([Bundles]). One that waits for an
//     operator takes its place among those that may be under way at once. until is asked
//     after each return; what has not returned then is cancelled. Results are in the list's order.
//
//   - A call (N20) is done at the node that its input names, which [Call] says; another one than
//     those that it lists is an error.
//
// It does no I/O.
package interpret
