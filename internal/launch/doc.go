// Package launch starts programs through a stage of their own: the daemon starts itself
// once more, under another name, and that process takes from itself what the program must
// not have, and becomes it.
//
// Why a stage: Linux gives credentials, and what Landlock adds to them, to threads. Go
// cannot run code of ours between fork and exec; a thread of the daemon could be confined
// and start the program, but would have to be made anew each time, and a Go program dies
// where no thread can be made. The stage dies instead, and the daemon tries again later. A
// stage is also in its control group before the program runs, with all that comes from it.
//
// What it costs is some milliseconds: the stage comes before nearly everything else that
// the daemon does when it starts. Most of them are the daemon's size, so there is a small
// program that does nothing else, fmqm-launch; it is used where it is beside the daemon.
//
// What it guarantees: when Start returns nil the program runs, with the process number of
// the command; else nothing of it has run, and nothing is left.
package launch
