package message

import "fmqm/processtable"

// Rank is a priority that something was given, as it is written: one more than that. 0: it was given none.
type Rank uint8

// MaxRank is that of the highest priority.
const MaxRank Rank = processtable.MaxPriority + 1

// RankOf is the rank of a priority. What is beyond 0 or processtable.MaxPriority counts as that.
func RankOf(priority int64) Rank {
	return Rank(min(max(priority, 0), processtable.MaxPriority)) + 1
}

// Priority gives it, or what counts where none was given.
func (r Rank) Priority(otherwise int) int {
	if r == 0 {
		return otherwise
	}
	return int(r) - 1
}
