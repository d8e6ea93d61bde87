package node

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"

	"fmqm/processtable"
)

// Definers says whose tables a node takes (invariant 11).
type Definers struct {
	// Keys are the public keys of those whose signature is enough.
	Keys []ed25519.PublicKey
	// Required: a table without such a signature is refused. Otherwise any is taken.
	Required bool
}

// SetDefiners takes up whose tables are taken from now on. Those that are stored stay,
// whoever signed them: they were accepted, and instances may be under way.
func (n *Node) SetDefiners(d Definers) {
	n.definers.Store(&d)
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.refused) // what was refused may be taken now
}

// untrusted says why a table signed with key (nil: by nobody) is not taken, or nothing.
func (n *Node) untrusted(id processtable.ProcessID, key ed25519.PublicKey) string {
	d := n.definers.Load()
	known := slices.ContainsFunc(d.Keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
	switch {
	case !d.Required || known:
		return ""
	case key == nil:
		return fmt.Sprintf("%s is not signed, and %s takes only what a definer that it knows has signed: upload it with fmqm-define, without --unsigned", id, n.name)
	case len(d.Keys) == 0:
		return fmt.Sprintf("%s is signed by %s, and %s knows no definer yet: if that is one of yours, add \"%s\" to `definers` in its configuration and reload it",
			id, processtable.DefinerID(key), n.name, processtable.DefinerText(key))
	}
	return fmt.Sprintf("%s is signed by %s, whom %s does not know: if that is a definer of yours, add \"%s\" to `definers` in its configuration and reload it, or sign with a key that is there",
		id, processtable.DefinerID(key), n.name, processtable.DefinerText(key))
}

// refusedTable is a table that came and was refused.
type refusedTable struct {
	sum    string // SHA-256 of the table, in hexadecimal digits
	reason string
}

// refusedTables bounds how many processes are remembered of which a table was refused.
const refusedTables = 1000

// noteRefused remembers, for whoever has sent a table, why it was refused.
func (n *Node) noteRefused(id processtable.ProcessID, table []byte, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.refused) >= refusedTables {
		clear(n.refused) // who still asks is told that it is not here
	}
	n.refused[id] = refusedTable{sumOf(table), why.Error()}
}

func sumOf(table []byte) string {
	sum := sha256.Sum256(table)
	return hex.EncodeToString(sum[:])
}

// judgeDefiner answers an asker who wants to know before it sends a table: signer is the
// definer's key in base64, empty if nobody signed it.
func (n *Node) judgeDefiner(id processtable.ProcessID, signer string) string {
	key, err := base64.StdEncoding.DecodeString(signer)
	if err != nil || len(key) != 0 && len(key) != ed25519.PublicKeySize {
		return "the key of its definer cannot be read"
	}
	if len(key) == 0 {
		return n.untrusted(id, nil)
	}
	return n.untrusted(id, key)
}
