// Package failpoint lets a test kill the daemon at a named point of its work, as
// kill -9 or a power cut would, or hold it there, as a slow disk would. Only builds with
// the tag `failpoint` have it: in others Enabled is a constant false and nothing of it
// is left.
//
// Where to die is named by the environment variable FMQM_FAILPOINT=name[:n]: when the point
// is passed for the n-th time (default: the first) the process sends SIGKILL to itself.
//
// Where to wait is named by FMQM_HOLD=name=FILE: whoever passes the point waits there while
// FILE exists. Somebody waits, or has not been woken yet, while FILE.held exists.
//
// Points of a commit have the kind of what is committed behind a slash:
//
//	commit.before/KIND     the group is built, and not given to the disk
//	commit.written/KIND    it is on disk, and nobody in the node knows
//	commit.published/KIND  the queues' ends and tables show it; submitters are not told
//	commit.staged/stage    bodies are on disk as chunks, what names them is not
//
// where KIND is
//
//	table, start, termination, iteration, attempt, error, retry    of a process
//	inside, return      a block begins an iteration; that has ended
//	bundle, element     a bundle begins elements; one of them has ended
//	gather, results     outcomes of elements are put together; the bundle ends with them
//	call, work, called  a call begins its work; that has ended; the call ends with it
//	child, born, back   the instance of a subprocess is begun, starts, has ended
//	abort, relay        a parent ends it; the other nodes are told
//	terminate, stop     a marker of a terminated instance; an entry of it ends
//	suspend, resume     a mark of an instance is put: it rests, or goes on
//	expedite            likewise: it has another priority
//	heed                the node has acted on a mark
//	finish, skip        an operator ends an activity by hand
//	offer, withdraw     a manual activity is offered to people, taken from them
//	claim, release, transfer, draft, complete   what a person does with it
//	retire              a version begins nothing new, or does again
//	final, remove       a site's final word about it; its table is removed
//	thin                iterations of a loop go that its process does not keep
//	pass, skip          a dead path passes around a node; that node absorbs its record
//	accept, trim        of a link's messages; and, of what is accepted,
//	part, whole         parts of a large message; the last of them
//	park                messages whose process table is not here
//	aside, refuse       set aside as it comes, or by the process thread
//	again, drop         an operator's word about what was set aside
//	absorb              what has come for what has ended goes
//	meet, rebind, begin a peer's store is met, taken for known; where its messages begin
//	anew                the store says that it is not its node's first
//	rebuild, asked, chunk, page, rebuilt   the steps of a rebuilding
//
// The others are:
//
//	thread.taken           newcomers were taken from the mailbox
//	thread.born            what begins the instance of a subprocess was among them
//	thread.browsed         a part of a queue was read again after an open
//	thread.decided         a transaction is decided, and not submitted
//	program.begin          an attempt was decided, its program has not begun
//	program.noted          it is noted in the ledger
//	program.started        it runs, and its process is not noted
//	program.runs           its process is noted
//	program.over           it has ended, and the ledger does not say so
//	program.ended          a program has ended, its result is in memory only
//	ledger.written         a new ledger is written, beside the old one
//	ledger.replaced        it has taken the old one's place
//	ledger.closing         the ledger is about to be removed, at a stop
//	link.sent              messages were given to the connection
//	link.received          messages have come, and are not given to the store
//	link.accepted          they are on disk, the acknowledgement has not left
//	link.acknowledged      the acknowledgement was given to the connection
//	link.confirmed         the acknowledgement has come, the trim is not requested
//	rebuild.chunk          some of what a peer lost was put again, with how far that has come
//	large.piece            a piece of a transaction that the engine cannot take at once is on disk
//	large.head             its head is
//	large.change           some of its changes are made
//	large.end              its head and pieces are gone
//	large.sweep            pieces without a head are gone, at open
//	open.creating          a new store has no record yet
//	open.created           it has its name and its incarnation
//	migrate.begun          a step of the store's format has begun
//	migrate.page           some records are brought to it
//	migrate.end            all are
//	open.swept             a body that nothing names was removed, at open
//	store.copied           a file of an unclean stop is copied
//	store.renewed          the copy has taken its place
//	store.opened           the engine is open
//	store.closing          the engine is about to be closed
//	store.closed           it is closed
//	side.before            the side file is about to be written
//	side.written           it is on disk
//	restore.part           some records of a backup are in the new store
//	restore.written        all are
package failpoint
