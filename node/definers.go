package node

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"time"

	"fmqm/processtable"
)

// Definers says whose tables a node takes (invariant 11).
type Definers struct {
	// Known are those whose signature is enough for what they may define.
	Known []Definer
	// Required: a table without such a signature is refused. Otherwise any is taken.
	Required bool
	// Network is the name of the network that this site belongs to: a table has to be signed
	// for it. Empty: for whichever, or for none.
	Network string
	// OldSignatures takes also those that name no network.
	OldSignatures bool
}

// signer is who signed a table, and for which network.
type signer struct {
	key     ed25519.PublicKey // nil: nobody
	network string            // empty: the signature names none
}

func signerOf(t *processtable.Table) signer { return signer{t.Definer, t.Terms.Network} }

// Definer is a key that may define processes, and the programs that these may run here.
type Definer struct {
	Key                 ed25519.PublicKey
	Processes, Programs []string // names, in which * stands for any characters; nil: all
}

func (d Definer) mayDefine(name string) bool { return allowed(d.Processes, name) }

// mayRun says whether all programs of the activities that a table hosts may be run.
func (d Definer) mayRun(t *processtable.Table) (processtable.ProgramID, bool) {
	for _, a := range t.Activities {
		if a.Program != "" && !allowed(d.Programs, string(a.Program)) {
			return a.Program, false
		}
	}
	return "", true
}

func allowed(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// SetDefiners sets whose tables are accepted from now on. Stored tables stay, whoever
// signed them, because instances of them may run.
func (n *Node) SetDefiners(d Definers) {
	n.definers.Store(&d)
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.refused) // what was refused may be taken now
}

// untrusted says why a table signed by s is not taken, or nothing.
func (n *Node) untrusted(id processtable.ProcessID, s signer) string {
	d := n.definers.Load()
	if reason := n.foreign(id, s); reason != "" {
		return reason
	}
	key := s.key
	mine := d.of(key)
	switch {
	case !d.Required || slices.ContainsFunc(mine, func(d Definer) bool { return d.mayDefine(string(id.Name)) }):
		return ""
	case len(mine) > 0:
		return fmt.Sprintf("%s is signed by %s, who may not define it at %s: see `processes` of this key under `definers` in the configuration there", id, processtable.DefinerID(key), n.name)
	case key == nil:
		return fmt.Sprintf("%s is not signed, and %s accepts only tables that a known definer has signed: upload it with fmqm-define, without --unsigned", id, n.name)
	case len(d.Known) == 0:
		return fmt.Sprintf("%s is signed by %s, and %s knows no definer yet: if that is one of yours, add \"%s\" to `definers` in its configuration and reload it",
			id, processtable.DefinerID(key), n.name, processtable.DefinerText(key))
	}
	return fmt.Sprintf("%s is signed by %s, whom %s does not know: if that is a definer of yours, add \"%s\" to `definers` in its configuration and reload it, or sign with a key that is there",
		id, processtable.DefinerID(key), n.name, processtable.DefinerText(key))
}

// foreign says why a table signed by s is not for this site's network, or nothing.
func (n *Node) foreign(id processtable.ProcessID, s signer) string {
	d := n.definers.Load()
	switch {
	case d.Network == "" || s.network == d.Network:
		return ""
	case s.network != "":
		return fmt.Sprintf("%s is signed for network %s, and %s belongs to network %s: if it is meant for this one, upload it with --network %s", id, s.network, n.name, d.Network, d.Network)
	case d.OldSignatures:
		return ""
	case s.key == nil:
		return fmt.Sprintf("%s is not signed, and %s takes only what is signed for network %s: upload it with fmqm-define and --network %s, without --unsigned", id, n.name, d.Network, d.Network)
	}
	return fmt.Sprintf("%s is signed for no network in particular, and %s takes only what is signed for network %s: upload it with --network %s, or, until all definers do that, set `old_signatures: true` in its configuration and reload it",
		id, n.name, d.Network, d.Network)
}

// barred says why an upload through this site may not bring a table, whichever site it is
// for, or nothing: it is for another network, or its time is over.
//
// The end of a signature is judged here, where the definer's upload comes in, by this
// site's clock, and nowhere else. What one site has taken the others take, however long
// they were cut off: instances may be under way whose messages wait for the table, and
// none of them may depend on a clock (invariant 14). So the end holds against whoever has
// an old upload in his hands, and not against a site that goes over to him.
func (n *Node) barred(t *processtable.Table) string {
	terms := t.Terms
	if terms.Network == "" {
		return "" // each site says for itself whether it takes that
	}
	if reason := n.foreign(t.Process, signerOf(t)); reason != "" {
		return reason
	}
	if now := n.sched.Now(); now.Unix() > terms.NotAfter.Unix() {
		return fmt.Sprintf("the signature of %s expired at %s, and at %s it is %s: upload it again from its definition file, which signs it anew; if you just did that, set the clocks",
			t.Process, seconds(terms.NotAfter), n.name, seconds(now))
	}
	return ""
}

func seconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// overreaches says which program of a table its definer may not have run here, or nothing.
func (n *Node) overreaches(t *processtable.Table) string {
	d := n.definers.Load()
	if !d.Required {
		return ""
	}
	var program processtable.ProgramID
	for _, mine := range d.of(t.Definer) {
		var all bool
		if program, all = mine.mayRun(t); all && mine.mayDefine(string(t.Process.Name)) {
			return ""
		}
	}
	return fmt.Sprintf("%s is signed by %s, who may not use program %s at %s: see `programs` of this key under `definers` in the configuration there", t.Process, processtable.DefinerID(t.Definer), program, n.name)
}

// of gives the entries of a key: what one of them allows is allowed.
func (d *Definers) of(key ed25519.PublicKey) []Definer {
	var mine []Definer
	for _, known := range d.Known {
		if known.Key.Equal(key) {
			mine = append(mine, known)
		}
	}
	return mine
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

// judgeDefiner answers an asker who wants to know before it sends a table.
func (n *Node) judgeDefiner(id processtable.ProcessID, q tableQuestion) string {
	key, err := base64.StdEncoding.DecodeString(q.Definer)
	if err != nil || len(key) != 0 && len(key) != ed25519.PublicKeySize {
		return "the key of its definer cannot be read"
	}
	if q.Network != "" && !processtable.ValidNetwork(q.Network) {
		return "the network that it is signed for cannot be read"
	}
	if len(key) == 0 {
		return n.untrusted(id, signer{})
	}
	return n.untrusted(id, signer{key, q.Network})
}
