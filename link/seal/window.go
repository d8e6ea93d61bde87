package seal

// Window is how many frames behind the newest one are still taken, once each.
const Window = 4096

// window remembers which numbers were seen: a ring of bits, whose words are cleared as
// the newest number enters them (RFC 6479).
type window struct {
	top  uint64 // the newest number seen
	bits [Window/64 + 1]uint64
}

func (w *window) at(n uint64) (word *uint64, bit uint64) {
	return &w.bits[n/64%uint64(len(w.bits))], 1 << (n % 64)
}

// fresh says whether n, from 1 on, was not seen and is not too old.
func (w *window) fresh(n uint64) bool {
	if n > w.top {
		return true
	}
	word, bit := w.at(n)
	return w.top-n < Window && *word&bit == 0
}

// mark notes n, which is fresh.
func (w *window) mark(n uint64) {
	if n > w.top {
		words := uint64(len(w.bits))
		for i := range min(n/64-w.top/64, words) {
			w.bits[(w.top/64+1+i)%words] = 0
		}
		w.top = n
	}
	word, bit := w.at(n)
	*word |= bit
}
