package processtable

import (
	"crypto/ed25519"
	"fmt"
)

// RetirementText is what a definer signs to retire a version, or to take that back (N31). It names the definition and
// the number of what is said, so that it holds for nothing else, and not again after something later.
func RetirementText(id ProcessID, definition DefinitionHash, number uint64, undo bool, network string) []byte {
	word := "retire"
	if undo {
		word = "undo"
	}
	return fmt.Appendf(nil, "fmqm retirement 1\n%s\n%s\n%s\n%d\n%s\n", word, id, definition, number, network)
}

// Retired says whether a signature over it is that of a key.
func Retired(key ed25519.PublicKey, text, signature []byte) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, text, signature)
}
