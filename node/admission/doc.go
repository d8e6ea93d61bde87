// Package admission judges what a site's peers send before any of it is kept: what a link brings, and
// what waited here for the table of its process. Of each batch it builds one transaction, which puts
// what is taken, sets aside what is not, and advances the link's number.
//
//	admission.go   what it uses of the node
//	inbox.go       a batch of a link: judged, and put in one transaction; when a link may bring more
//	header.go      what no message from another site can be (pure)
//	judge.go       who may send what, by the table of the process and by what is known of the instance
//	parts.go       a large message is put together of its parts (pure)
//	contradict.go  what has come before counts
//	arrivals.go    what is about to be put, and by which transaction
//	parked.go      what waited for a table
//
// # Who owns what
//
//   - What is about to be put (arrivals) is this package's, in memory: until a transaction is on disk
//     the store cannot be compared with. All else is read where it is: in the store, or of the Site.
//   - What a word of an operator, or its answer, comes to is ruled by package command.
//   - A transaction is the committer's from its Submit on. The Site is told of it once it is on disk.
//
// # What it guarantees
//
//   - A peer is believed only who it is. Whatever else a message says is held against what this
//     site knows by itself: its name, the lane, its table of the process, its store (invariant 11).
//   - A message that is not taken is set aside with its reason in the transaction that advances the
//     link's number (invariant 5, L5). So bad content stops no link, and is never lost silently.
//   - A connector is resolved once (invariant 4): what came first counts, whether it is on disk, in
//     the same transaction or in another one under way. A repeat changes nothing, and what has
//     come keeps its place in the order of arrival (N11).
//   - Of a lane no more than one message in parts is kept (L4).
//   - A message whose table is not here waits (N3), with the peer that brought it (L1: its identity is
//     proved on the link), and is judged as from that peer when the table comes.
//   - While a table is on disk and not taken up yet, what comes for it is judged again after pauses that
//     double, up to 100 ms.
//   - What one peer leaves here that nothing takes up has a quota: at it that peer's link is paused.
//   - No lock is held while the store is read or the Site is called.
package admission
