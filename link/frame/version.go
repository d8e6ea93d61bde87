package frame

import "fmqm/message"

// Frame format versions that this code writes and reads (L6). Version 2 says in its
// hello which formats of messages and tables the speaker reads, and where the
// conversation began; version 3 also which bodies of messages. All else is as in version 1.
const (
	MinVersion = 1
	MaxVersion = 3
)

// Formats are the formats that a node reads. What its frames are written in is the highest
// version that both it and its peer read.
type Formats struct {
	Frame message.Range
	message.Reads
}

// Current gives what this program reads.
func Current() Formats {
	return Formats{Frame: message.Range{Min: MinVersion, Max: MaxVersion}, Reads: message.Current()}
}

// Before gives what the version before this one reads, for tests with a site of that version.
func Before() Formats {
	return Formats{Frame: message.Range{Min: 1, Max: 2}, Reads: message.Before()}
}
