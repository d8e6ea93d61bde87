// Package failpoint lets a test kill the daemon at a named point of its work, as
// kill -9 or a power cut would. Only builds with the tag `failpoint` have it: in
// others Enabled is a constant false and nothing of it is left.
//
// The point is named by the environment variable FMQM_FAILPOINT=name[:n]: when it is
// passed for the n-th time (default: the first) the process sends SIGKILL to itself.
//
// Points of a commit have the kind of what is committed behind a slash:
//
//	commit.before/KIND     the group is built, and not given to the disk
//	commit.written/KIND    it is on disk, and nobody in the node knows
//	commit.published/KIND  the queues' ends and tables show it; submitters are not told
//	commit.staged/stage    bodies are on disk as chunks, what names them is not
//
// where KIND is start, termination, error, retry, iteration, attempt, accept, table,
// terminate or trim. The others are:
//
//	thread.taken           newcomers were taken from the mailbox
//	thread.browsed         a part of a queue was read again after an open
//	thread.decided         a transaction is decided, and not submitted
//	program.begin          an attempt was decided, its program has not begun
//	program.ended          a program has ended, its result is in memory only
//	link.sent              messages were given to the connection
//	link.received          messages have come, and are not given to the store
//	link.accepted          they are on disk, the acknowledgement has not left
//	link.acknowledged      the acknowledgement was given to the connection
//	link.confirmed         the acknowledgement has come, the trim is not requested
//	rebuild.chunk          some of what a peer lost was put again, with how far that has come
package failpoint
