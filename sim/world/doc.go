// Package world is a network of sites that a seed runs: real nodes with real links between
// them, on the event heap of a [task.World], over disks, wires and a broker on which all goes
// wrong that can, with programs, clients and operators. One seed is one world.
//
//	Draw      a Plan from a seed: what is there, and what happens when. A plan is data
//	Run       runs a plan, and gives a Report
//	Shrink    gives the smallest plan that still breaks the same invariant
//	Story     tells a plan, and what came of it
//
// What goes wrong is counted where it has an effect, not where it is drawn: [Report.Met]. What is torn
// is a large transaction, of which a site that dies has the beginning on disk: a commit of the engine
// is there or not (package storetest holds engines to that, and internal/store/badger tears files).
//
// Nothing here does again what it judges: it looks at what is on disk, what programs were asked,
// and what was answered. Where and when each invariant of ARCHITECTURE.md is checked:
//
//	 1  at each commit every key and record is read, and where a site dies its whole store, as
//	    `fmqmd verify` does (watch.go); a site that dies has only its disk
//	 2  a site that dies, is restored or reads its queues anew ends as the interpreter says (judge.go)
//	 3  at each commit: what ends takes just the messages that its record names, and all that the
//	    record says was sent is in the same transaction (transaction.go); what begins an iteration of a
//	    block comes with the block's state, and takes what came back of the one before (blocks.go)
//	    a bundle and its elements likewise; an event goes from its queue into a receive, from there back or into its
//	    history, and is lost nowhere (events.go; N24)
//	 4  at each commit: an activity ends once at its site, in each scope (transaction.go); an iteration of
//	    a block begins when the one before has ended; what a block or a bundle ends with has come back in that run, and no
//	    more elements are under way than may be (blocks.go)
//	 5  at each commit: a lane's numbers have no gap, nothing is taken twice, what is let go is on the
//	    peer's disk with the same hash, and nothing comes for what has ended (watch.go, transaction.go);
//	    a site of the version before is sent nothing that it cannot read, and is named where tables for it
//	    are uploaded that it cannot (versions.go); at the end
//	    both sides of each lane stand at the same place
//	 6  at each question: a site that is up answers while somebody waits, unless its disk is slow, and stops when it is told to, whatever the
//	    others do (world.go, happen.go)
//	 7  at each answer, and at the end, against the interpreter (operators.go, judge.go); each answer is about
//	    what was asked: that instance, site, page and filter (about.go)
//	 8  at each answer and each audit record: it is on disk by then (watch.go); a node whose write has
//	    failed ends (faults.go)
//	 9  at each start of a program: one key for an execution, one execution for a key, and no older
//	    attempt runs at the site (programs.go)
//	10  after each question: what waits in memory is within its bound (world.go); at the end nothing is
//	    in memory (judge.go)
//	11  at each commit: nothing is there of a site that nobody has configured (watch.go), and it is
//	    hung up on (stranger.go); no program runs for a process that nobody uploaded
//	12  what is wrong is refused; at each commit: nothing is there of what nobody starts or uploads; at the
//	    end a refusal changes no disk (refusals.go)
//	current  at each commit: what a site takes for current was on the disk of each of its sites; at the end all is (current.go)
//	N31  at each commit: a site gives its final word about a retired version when nothing that began there goes on, and notes only
//	    words that were given; a table goes once all that may start the version have given theirs, and never comes back; at the
//	    end the tables of what is retired go at every site, a start is refused, and nothing of it is left (retired.go)
//	races  at the end: how the races of an instance came out is read from its audit and given to the
//	    interpreter (invariant 7); and each outcome has its cause in the history (oracle.Admissible; N14)
//	    At each commit: of events, and of receives, the one that came first meets the other (events.go); an
//	    instance is ended by the deadline of its process only once that has come (races.go)
//	schedules  at each start: it is due, at the site that the schedule names, and no instance is started once operators have
//	    suspended it; at the end: none was missed where all are made up for (schedules.go; N23)
//	N27  at each commit of what people do: one person at most has an item, he may have it as the world knows it (what his site's
//	    staff says, and who did the other activities wherever that was), nobody loses what he was told is his, and what ends otherwise
//	    has withdrawn its item; at each answer: what somebody is told is done is on disk at the item's home, and a worklist has
//	    only what he may have (clerks.go)
//	N29  at each start of a program: its instance is not suspended by what is on that site's disk, nor is the activity (resting.go)
//	told  at the end: of each instance the end, each error that stands and each deadline is told once by each line that is about it,
//	    whatever has ended the instance, and nothing before it was so (tellings.go, oracle.Tellings; R58); at each answer: a notice is on
//	    the worklists of those only for whom it is (clerks.go, N27)
//	erased  at the end: every site says that it has nothing left of what was to be overwritten (erasures.go); a record that is
//	    written anew otherwise breaks 8
//	13  a task that panics ends the world; the same plan gives the same events, to the byte
//
// "Ends" is what comes after the weather: every instance ends, also one of which the deadline of its process has come while
// it is in error, the site where one in error was started knows that (N4, R32), and nothing is left in any store. Of what is in error then all that others do (blocks, bundles, calls) is
// begun once more before operators end it, so that what comes back is of one run and not of another.
// After an operator's word that is not refused 3, 5 and 7 are held to less, of that instance; and after
// the loss of a store 5 and 7, of the instances in which that site has a part: see watch.touched and
// watch.repeated. [Report.Hash] is over all events.
package world
