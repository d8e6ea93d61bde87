// Package prepare makes transactions ready for the committer: it says a [record.Tx] in puts and
// removals of records, encoded, with their keys built. It is pure, and runs in the submitter's
// goroutine, so that this costs the committer nothing.
//
// What it guarantees:
//
//   - The same transaction gives the same changes, but for the numbers that are given here: of
//     staged bodies, of refused messages and of those that wait for a table. None is given twice.
//   - What only the committer knows (numbers of links, hashes, arrivals, the number of the commit)
//     has its room in the records, and no more is encoded after this.
//   - Parts over 32 KiB are apart from the transaction, as chunks that are written before it (S2).
//     One that is still too large for a commit has all over 256 bytes apart; beyond
//     commit.MaxLarge it is refused.
//   - A transaction that cannot be has its reason in Err, and is refused in its turn.
//
// It decides nothing that rests on what was committed meanwhile: that is package commit's.
package prepare
