package processtable

// EventQueue is the name of the queue that a node has for the events that are sent to it (N24): it is none
// of a process, so no process can have the name.
var EventQueue = ProcessID{Name: "@events", Version: 1}

// EventMeets is the activity of an entry of an EventQueue: in it events of one name, shape and key meet the
// receives that wait for such.
const EventMeets = "meets"
