// Package people holds tests with real daemons that are asked by several people, each of whom is who he is by a
// proof of his own: users of this machine on one socket, who become themselves with su, and holders of
// certificates that `fmqmd pki` made.
//
//   - Who is asked for is who is told: `fmqm whoami`, his worklist, his name in history and log.
//   - Nobody may more than his rights say, and what he may not see is in no list and no count.
//   - A group of the machine has the rights that the configuration gives it, for as long as one is its member.
//   - What somebody has started is found at whichever site he did, by those who may see it.
//   - Every refusal says who could, or what to do, and changes nothing.
package people
