// Package golden opens what earlier releases have left on disk: for each, the stores of
// four sites that were killed in the midst of everything that a store can hold, and the
// backups of two of them. Today's daemons open them, say what was said of them then, and
// go on, until every instance has ended and nothing is left.
//
// A directory of testdata is one release, named by its commit:
//
//	NAME.tar.gz          the data directory of site NAME
//	NAME.fmqmbackup.gz   a backup of it
//	network.txt          the story of the four sites, told line by line
//	backup.txt           the story of a site that was restored from its backup
//	*.yaml               the processes
//
// They stay for ever. `scripts/golden.sh COMMIT` makes the directory of another release:
// make_test.go has what its daemons are put through. The tests make a set of the present tree
// as well, and tell the newest story of it, so that the next one can be made. What is a kind of its own in a store must
// be in one of the sets (kinds_test.go). Frames, messages, tables and other
// records have golden files in their own rooms.
package golden
