// Package badger is the default storage engine: Badger in managed mode, where the
// version of a change is the number of the commit that made it (S1).
//
// What it adds to Badger as it comes, and why:
//
//   - Every write is synced, and checksums are verified when tables and blocks are
//     read (invariant 8).
//   - Before Badger opens, all files are read and none is changed: manifest and tables
//     have to be whole, and the commits of the logs have to go on without a gap from the
//     tables to the number in the side file, which is synced behind the commits. Badger
//     itself cuts a log off at the first bad record, and leaves out a bad table.
//   - After an unclean stop the logs are replaced by synced copies before they are
//     replayed: what the page cache has after a failed sync may not be on disk. Logs that
//     are in the tables already are removed: replayed, they could bring deleted keys back.
//   - What Badger only logs, of flushes and compactions, ends the store's work.
//   - So does a table that rots while it is open, of which Badger says nothing: reads notice
//     blocks with wrong checksums, compactions are held until their tables were read whole
//     once more, and a scrubber reads all tables from time to time.
//   - Free space has two marks and a reserve (S3): a full disk would end the process with
//     SIGBUS in the middle of a write.
//   - Every value stays in the LSM tree: the threshold is 1 MiB and values are strictly
//     below it. So the value log stays empty and its garbage collection, which can
//     bring deleted keys back, is never run.
//   - A transaction's size is reckoned before anything is set, and a transaction that
//     met an error is discarded: Badger's Commit after ErrTxnTooBig commits the part
//     that was already set.
//   - Each commit also writes its own number under a key of the engine's, so that the
//     last number is known at open even if compaction has dropped every trace of a
//     commit that only deleted.
//   - After a failed commit all later ones are refused: what a failed sync has left in
//     the page cache is not known to be on disk.
//   - Versions are discarded only up to the oldest read under way.
//   - Badger's error texts may show keys and values; only their first line is passed on.
//
// Tables are not compressed and there is no block cache: blocks are read from the
// mapped file. The largest transaction is 15 % of the 16 MiB memtable.
package badger
