package staff

import (
	"time"

	"fmqm/processtable"
)

// Word is a text with its place in where it comes from.
type Word struct {
	Text         string
	Line, Column int // from 1; 0 where there are no lines
}

// Draft is what a source says of the staff, before anything of it was checked.
type Draft struct {
	Roles         []Word
	Organisations []DraftOrganisation
	People        []DraftPerson
}

// DraftOrganisation is what a source says of an organisation; an empty Text: nothing.
type DraftOrganisation struct {
	Name, Manager, PartOf Word
}

// DraftPerson is what a source says of a person; an empty Text: nothing.
type DraftPerson struct {
	Name         Word
	Full         Word // the name in full
	Roles        []Word
	Organisation Word
	Substitute   Word // who stands in when this person is absent
	Same, Not    []Word
	Logins       []Word // where HasLogins; else the name is the login
	HasLogins    bool
	Absent       []DraftAbsence
	Always       bool // absent until the source says otherwise
}

// DraftAbsence is a time of absence: days (2026-07-01), both included, or times (RFC 3339), of
// which the second is not; an empty Text: without beginning, or without end.
type DraftAbsence struct {
	From, Until Word
}

// Site is where a staff works.
type Site struct {
	Node processtable.NodeID // empty: not known, so what is said of other sites is not compared with it
	Zone *time.Location      // of days; nil: UTC
}

// Problem is one thing that is wrong with a draft.
type Problem struct {
	Line, Column int // of the draft's word; 0 where there are no lines
	What, Remedy string
}
