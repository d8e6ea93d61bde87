// Package who says who may do a manual activity (N27): it asks a staff expression of a process table
// of each person of a node's staff.
//
//	expression, err := who.Load(row.Manual.Staff, row.Input) // once for a row
//	question, err := expression.Ask(who.Ask{Staff: staff, Now: now, Input: input, Did: did})
//	standsFor, ok, err := question.Eligible("bob")
//
// What it guarantees:
//
//   - Who is eligible is so directly, or as a substitute: in place of somebody who is absent and would be
//     eligible. Who is absent may still work himself: he may have come in.
//   - Four eyes in doubt deny. Under `!` counts who surely is meant, whom he stood in for, and who only has
//     the same name as somebody of another site, unless the staff says who that is; and what bars somebody bars
//     him as a substitute too, whomever he would stand in for. Positively counts only who surely is meant, and of
//     the two who did something the one who has done it. A `!` inside of a `!` is positive again.
//   - The answer is of one staff and one time, which are handed in; how long it holds, [Question.Until] says.
//   - The texts and lists of the expression are worked out once, whoever is asked about. What then takes
//     time is bounded: an answer about one person by [MaxSteps], one about everybody by [MaxAll].
package who
