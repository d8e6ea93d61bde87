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
//   - Start condition FALSE: it is skipped. Every control connector out of it is FALSE,
//     every data connector resolved without data (dead path elimination, paper §2.3).
//   - Its input has its defaults; onto them the mappings of the data connectors whose
//     source ran apply, in file order (N8): the one listed last wins.
//   - A failed attempt is an error of the program, an output that is not its container,
//     or a return code other than 0 that is no data. After retry's attempts the
//     activity is in error.
//   - Exit condition FALSE: it runs again, with the feedback applied onto a copy of
//     this iteration's input. FALSE after max_iterations: it is in error (N9).
//   - Then the transition conditions give each control connector its truth; otherwise
//     is TRUE if every other one is FALSE. Where the first match is taken the others are
//     FALSE and not asked. A condition that fails puts the activity in error, and nothing
//     of it is sent (N4).
//   - The conditions out of source are over the input; what source begins without one is not
//     beside its otherwise. One that fails refuses the start; of a block it skips everything
//     inside, and puts the block in error.
//
// It does no I/O.
package interpret
