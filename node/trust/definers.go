package trust

import (
	"crypto/ed25519"
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

// Signer is who signed a table, and for which network.
type Signer struct {
	Key     ed25519.PublicKey // nil: nobody
	Network string            // empty: the signature names none
}

// SignerOf gives a table's.
func SignerOf(t *processtable.Table) Signer { return Signer{t.Definer, t.Terms.Network} }

// Definer is a key that may define processes, and the programs that these may run here.
type Definer struct {
	Key                 ed25519.PublicKey
	Processes, Programs []string // names, in which * stands for any characters; nil: all
}

func (d Definer) mayDefine(name string) bool { return allowed(d.Processes, name) }

// mayRun says whether all programs of the activities that a table hosts may be run.
func (d Definer) mayRun(t *processtable.Table) (processtable.ProgramID, bool) {
	for _, a := range t.Activities {
		for _, program := range a.Programs() {
			if !allowed(d.Programs, string(program)) {
				return program, false
			}
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

// Untrusted says why self does not take a table signed by s, or nothing.
func (d *Definers) Untrusted(self processtable.NodeID, id processtable.ProcessID, s Signer) string {
	if reason := d.foreign(self, id, s); reason != "" {
		return reason
	}
	key := s.Key
	mine := d.of(key)
	switch {
	case !d.Required || slices.ContainsFunc(mine, func(d Definer) bool { return d.mayDefine(string(id.Name)) }):
		return ""
	case len(mine) > 0:
		return fmt.Sprintf("%s is signed by %s, who may not define it at %s: see `processes` of this key under `definers` in the configuration there", id, processtable.DefinerID(key), self)
	case key == nil:
		return fmt.Sprintf("%s is not signed, and %s accepts only tables that a known definer has signed: upload it with fmqm-define, without --unsigned", id, self)
	case len(d.Known) == 0:
		return fmt.Sprintf("%s is signed by %s, and %s knows no definer yet: if that is one of yours, add \"%s\" to `definers` in its configuration and reload it",
			id, processtable.DefinerID(key), self, processtable.DefinerText(key))
	}
	return fmt.Sprintf("%s is signed by %s, whom %s does not know: if that is a definer of yours, add \"%s\" to `definers` in its configuration and reload it, or sign with a key that is there",
		id, processtable.DefinerID(key), self, processtable.DefinerText(key))
}

// foreign says why a table signed by s is not for this site's network, or nothing.
func (d *Definers) foreign(self processtable.NodeID, id processtable.ProcessID, s Signer) string {
	switch {
	case d.Network == "" || s.Network == d.Network:
		return ""
	case s.Network != "":
		return fmt.Sprintf("%s is signed for network %s, and %s belongs to network %s: if it is meant for this one, upload it with --network %s", id, s.Network, self, d.Network, d.Network)
	case d.OldSignatures:
		return ""
	case s.Key == nil:
		return fmt.Sprintf("%s is not signed, and %s takes only what is signed for network %s: upload it with fmqm-define and --network %s, without --unsigned", id, self, d.Network, d.Network)
	}
	return fmt.Sprintf("%s is signed for no network in particular, and %s takes only what is signed for network %s: upload it with --network %s, or, until all definers do that, set `old_signatures: true` in its configuration and reload it",
		id, self, d.Network, d.Network)
}

// Barred says why an upload through self may not bring a table, whichever site it is for, or
// nothing: it is for another network, or its time is over.
//
// The end of a signature is judged here, where the definer's upload comes in, by this
// site's clock, and nowhere else. What one site has taken the others take, however long
// they were cut off: instances may be under way whose messages wait for the table, and
// none of them may depend on a clock (invariant 14). So the end holds against whoever has
// an old upload in his hands, and not against a site that goes over to him.
func (d *Definers) Barred(self processtable.NodeID, t *processtable.Table, now time.Time) string {
	terms := t.Terms
	if terms.Network == "" {
		return "" // each site says for itself whether it takes that
	}
	if reason := d.foreign(self, t.Process, SignerOf(t)); reason != "" {
		return reason
	}
	if now.Unix() > terms.NotAfter.Unix() {
		return fmt.Sprintf("the signature of %s expired at %s, and at %s it is %s: upload it again from its definition file, which signs it anew; if you just did that, set the clocks",
			t.Process, seconds(terms.NotAfter), self, seconds(now))
	}
	return ""
}

func seconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Overreaches says which program of a table its definer may not have run at self, or nothing.
func (d *Definers) Overreaches(self processtable.NodeID, t *processtable.Table) string {
	if !d.Required {
		return ""
	}
	var program processtable.ProgramID
	for _, mine := range d.of(t.Definer) {
		if !mine.mayDefine(string(t.Process.Name)) {
			continue
		}
		var all bool
		if program, all = mine.mayRun(t); all {
			return ""
		}
	}
	return fmt.Sprintf("%s is signed by %s, who may not use program %s at %s: see `programs` of this key under `definers` in the configuration there", t.Process, processtable.DefinerID(t.Definer), program, self)
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
