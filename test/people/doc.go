// Package people holds tests with real daemons that are asked by several people, each of whom is who he is by a
// proof of his own: users of this machine on one socket, who become themselves with su, and holders of
// certificates that `fmqmd pki` made.
//
//   - Who is asked for is who is told: `fmqm whoami`, his worklist, his name in history and log.
//   - Nobody may more than his rights say, and what he may not see is in no list and no count.
//   - Every refusal says who could, or what to do, and changes nothing.
package people
