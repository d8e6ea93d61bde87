// Package tables is the process tables of a site: which it takes, how they are made ready and taken
// up, and how an upload brings the tables of processes to all their sites (N3, invariants 11 and 12).
//
//	tables.go   what may be stored here, is made ready and taken up
//	answers.go  what sites ask one another about tables, and what people are told
//	plan.go     what an upload would change, and where
//	current.go  which versions are current: what the sites of a process tell each other
//	retire.go   what is said of retiring a version, here and at its other sites (N31)
//	final.go    final words: nothing of a version begins at a site any more, and all that began there has ended
//	without.go  nodes that are gone for ever: written off by an operator, at this site
//	remove.go   removes tables that nobody needs; what comes late for them
//	upload.go   the upload: stored here and put on its way to the others in one transaction
//	warn.go     what its sender should know although nobody refuses
//
// # Who owns what
//
//   - Tables, and which definition name@version is bound to, are the store's (package queue).
//   - What is taken up, that is, has a process thread, is the node manager's (Site.Process). A table
//     is stored first and taken up then (Install); between the two it is not told of.
//   - Whose tables are trusted, and why those that came were refused, is this package's, in memory. The
//     first comes from the configuration, the second may vanish at any instant.
//   - An upload under way is of the task that carries the request out.
//
// # What it guarantees
//
//   - name@version is bound to one definition for ever. What may be stored is judged alike however a
//     table comes: in an upload, over a link, or from the refused messages.
//   - An upload is for all its sites or for none of those that can be asked; a plan, and an upload
//     that is refused, leave nothing behind. All tables of a process have one format (N6).
//   - A version is current once it is known here that all its sites have stored it (N19), or a table that could be
//     stored has come with the word that it is. Of whom a site has heard it is in memory, and asked again after a
//     start: it only grows, so no order and no repeat matters. The store has which versions are pending, put with
//     their tables. Only who has a part in a process is believed that others have stored it. A site that is cut
//     off keeps a version from being current, and nothing else.
//   - A table goes only when all sites that may start its version have given their final word, each of the store that it
//     has, and this site needs it for nothing: nothing lies here, and the audit has nothing of it but what retention leaves.
//     A site that may start the version keeps its table until that is so at all its sites: it alone knows what has ended.
//   - A final word is for ever. A node gives it in a transaction that is refused if anything has come since it has looked,
//     and behind which nothing of the version begins, so an instance that begins is known to it.
//   - Who is written off here counts as if it had given its word and needed nothing, here only, and while it is not heard.
//     Once it answers it is written off no more.
//   - What stays of a table, for ever, is name, version and definition, so none is bound to another definition.
//   - What an upload has put on disk is taken up, and has its links, also where who sent it has gone.
//   - No lock is held while the store is read, a peer is asked, or the Site is called. So Install
//     may be called by the committer, which waits for nobody.
package tables
