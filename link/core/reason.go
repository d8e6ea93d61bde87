package core

import (
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// The texts say what was seen, what it means, and what to do. Here is the site that
// speaks, peer the other one.

func reasonBelowLowest(peer processtable.NodeID, lane int, accepted, low uint64) string {
	return fmt.Sprintf("site %s has accepted messages up to %d in lane %d, but confirmed them up to %d before, and this site no longer keeps those: "+
		"the store of %s is an older copy (restored from a backup?): put the newest store of %s back and start its daemon, then here: fmqm links retry %s", peer, accepted, lane, low, peer, peer, peer)
}

func reasonPeerLetGo(self, peer processtable.NodeID, lane int, accepted, low uint64) string {
	return fmt.Sprintf("this site has accepted messages from %s up to %d in lane %d, but %s keeps only those after %d, because this site had confirmed the others: "+
		"the store of this site is an older copy (restored from a backup?): put its newest store back and start its daemon, then, if %s has stopped the link too, there: fmqm links retry %s", peer, accepted, lane, peer, low, peer, self)
}

func reasonAboveLast(self, peer processtable.NodeID, lane int, accepted, last uint64) string {
	return fmt.Sprintf("site %s has accepted messages from this site up to %d in lane %d, but this site's store has only %d: "+
		"the store of this site is an older copy (restored from a backup?): put its newest store back and start its daemon, then, if %s has stopped the link too, there: fmqm links retry %s", peer, accepted, lane, last, peer, self)
}

func reasonOtherHash(peer processtable.NodeID, lane int, number uint64, ours, theirs record.Hash) string {
	return fmt.Sprintf("this site and %s disagree about the messages up to %d in lane %d (hash %s here, %s there): "+
		"one of the two stores went on from an older copy (restored from a backup?): put its newest store back and start its daemon, then here: fmqm links retry %s", peer, number, lane, ours, theirs, peer)
}

func reasonNewIncarnation(peer processtable.NodeID, known, now record.Incarnation) string {
	return fmt.Sprintf("site %s has another store than the one known here (known %s, now %s): "+
		"its data directory was replaced or emptied, or another machine uses its name: put the known store of %s back, or give the new site a name of its own; then here: fmqm links retry %s. "+
		"If that store is lost for good: fmqm rebuild %s", peer, known, now, peer, peer, peer)
}

func reasonKnownOtherwise(peer processtable.NodeID, ours, known record.Incarnation) string {
	return fmt.Sprintf("site %s knows this site by another store (known there %s, here %s): "+
		"this site's data directory was replaced or emptied, or its name was used by another machine: put the known store back, or give this site a name of its own; then restart the daemon. "+
		"If that store is lost for good, its peers rebuild this site (fmqm rebuild)", peer, known, ours)
}

func reasonWrongNode(expected, actual processtable.NodeID) string {
	return fmt.Sprintf("the address that is configured for site %s is answered by site %s: "+
		"correct the address of %s in this site's configuration and reload it, or see where its name leads; then here: fmqm links retry %s", expected, actual, expected, expected)
}

// reasonGoesOn is of a link that was stopped, and goes on by somebody's word or since its peer is dialed
// otherwise.
func reasonGoesOn(peer processtable.NodeID) string {
	return fmt.Sprintf("it was stopped, and goes on by itself once this site's store has finished what is under way for site %s: nothing more is to be done", peer)
}

// ReasonCalledWrong is what a caller is told that wanted another site than this one.
func ReasonCalledWrong(caller, expected, self processtable.NodeID) string {
	return fmt.Sprintf("site %s called site %s, but this is site %s: correct the address of %s in the configuration of %s", caller, expected, self, expected, caller)
}

func reasonTwoDaemons(peer processtable.NodeID, a, b uint64) string {
	return fmt.Sprintf("two daemons run under the name %s (sessions %x and %x, both alive): "+
		"stop one of them, and see that no copy of its data directory is in use, then here: fmqm links retry %s", peer, a, b, peer)
}

func reasonVersion(peer processtable.NodeID, theirs, ours message.Range) string {
	older := "this site"
	if theirs.Max < ours.Min {
		older = "site " + string(peer)
	}
	return fmt.Sprintf("site %s reads frame formats %s, this site reads %s: upgrade %s", peer, theirs, ours, older)
}

func reasonByPeer(peer processtable.NodeID, text string) string {
	return fmt.Sprintf("site %s stopped the link and says: \"%s\"", peer, text)
}

func reasonUnreadable(peer processtable.NodeID, err error) string {
	return fmt.Sprintf("site %s sent something that this version cannot read: %s", peer, err)
}

func reasonEnded(peer processtable.NodeID, text string) string {
	return fmt.Sprintf("site %s ended the connection and says: \"%s\"", peer, text)
}
