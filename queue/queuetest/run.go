// Package queuetest is the suite that the queue manager has to pass on every storage
// engine: a test for each guarantee of package queue. It also has a [Clock] for
// tests of other rooms.
package queuetest

import (
	"testing"

	"fmqm/internal/store/storetest"
)

// Run tests the queue manager on an engine that keeps its data in a directory.
func Run(t *testing.T, open storetest.Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, storetest.Open)
	}{
		{"all of a transaction or none", testAllOrNone},
		{"stale", testStale},
		{"two consumers", testTwoConsumers},
		{"mailbox", testMailbox},
		{"mailbox of a later reader", testLateReader},
		{"replacing", testReplacing},
		{"browsing", testBrowsing},
		{"records and markers", testRecordsAndMarkers},
		{"records with a marker are told of", testMarkedRecords},
		{"markers cost others nothing", testMarkersCostOthersNothing},
		{"tables", testTables},
		{"versions that are pending", testPending},
		{"parked messages", testParked},
		{"messages parked by an older version", testOldParked},
		{"usage of peers", testUsage},
		{"large bodies", testLargeBodies},
		{"large bodies of a refused transaction", testRefusedBodies},
		{"many bodies", testManyBodies},
		{"browsing large bodies", testBrowseBytes},
		{"sweep", testSweep},
		{"large tables and outputs", testLargeElsewhere},
		{"transmission", testTransmission},
		{"trim", testTrim},
		{"trim after a second", testTrimAlone},
		{"sent numbers", testSentNumbers},
		{"parts", testParts},
		{"accept", testAccept},
		{"incarnations", testIncarnations},
		{"refused", testRefuse},
		{"depth of queues", testDepth},
		{"depth after a peer lost its store", testDepthAfterReplacement},
		{"settled", testSettle},
		{"arrivals", testArrivals},
		{"audit", testAudit},
		{"view of an instance", testInstanceView},
		{"view of a part of an instance", testInstancePart},
		{"instances", testInstances},
		{"instances that subprocesses have begun", testChildren},
		{"timers", testTimers},
		{"timers after a restart", testTimersAfterRestart},
		{"timers in the past", testTimersInThePast},
		{"timers and full mailboxes", testTimersAndCongestion},
		{"congestion", testCongestion},
		{"binding", testBinding},
		{"close", testClose},
		{"close without time", testCloseWithoutTime},
		{"failed disk", testFailedDisk},
		{"damage", testDamage},
		{"group commit", testGroupCommit},
		{"model", testModel},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // each has stores of its own, and waits for the disk most of the time
			test.run(t, open)
		})
	}
}
