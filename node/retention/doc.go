// Package retention removes audit records that are older, or more, than the policy of a site
// says (S4). retention.go has the reasoning, and the walk over the audit queue; thinning.go
// the order in which instances go.
//
// What it guarantees:
//
//   - An instance's audit goes only once its origin says that it has ended, and nothing of it
//     is under way here: nothing but repeats can come of it.
//   - One record of the instance stays, put with the first removal. It refuses a repeat of the
//     start (N2) and late messages (N7).
//   - Nothing is removed by a policy that the site has no more: a round stops when it changes, between
//     two instances, and one by the new policy begins.
//   - There is no other state: what a kill left over is found by that record.
package retention
