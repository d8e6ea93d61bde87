package queue

import "fmqm/queue/record"

// What the records of the store are, for those that submit and read them.
type (
	AuditRecord  = record.AuditRecord
	Consumed     = record.Consumed
	Sent         = record.Sent
	Event        = record.Event
	Removed      = record.Removed
	RemovedStart = record.RemovedStart
	InputSum     = record.InputSum
	Rebuild      = record.Rebuild
	Stage        = record.Stage
	Timer        = record.Timer
	Parked       = record.Parked
	Hash         = record.Hash
	Incarnation  = record.Incarnation
	Position     = record.Position
	Item         = record.Item
	Piece        = record.Piece
	Incoming     = record.Incoming
)

// What an audit record is about.
const (
	EventStarted    = record.EventStarted
	EventEnded      = record.EventEnded
	EventTerminated = record.EventTerminated
	EventSkipped    = record.EventSkipped
	EventStopped    = record.EventStopped
	EventIterated   = record.EventIterated
	EventFailed     = record.EventFailed
	EventInError    = record.EventInError
	EventRetried    = record.EventRetried
	EventPassed     = record.EventPassed
	EventDropped    = record.EventDropped
)

// How far a rebuilding has come.
const (
	StageDecided = record.StageDecided
	StageSending = record.StageSending
	StageDone    = record.StageDone
)

const (
	// MaxStderr is how many bytes of what a program said last are kept.
	MaxStderr = record.MaxStderr
	// MaxParts is in how many parts the largest message travels.
	MaxParts = record.MaxParts
)

var (
	// ErrDamaged: a record's version or checksum does not match, or it cannot be read.
	ErrDamaged = record.ErrDamaged
	// ErrPayload: an item of a link is not of a known form.
	ErrPayload = record.ErrPayload
)

// HashNext continues the running hash h of a lane with one more payload (L1).
func HashNext(h Hash, payload []byte) Hash { return record.HashNext(h, payload) }

// Unpack reads the payload of an item.
func Unpack(payload []byte) (Piece, error) { return record.Unpack(payload) }

// SumInput gives the sum of an encoded input.
func SumInput(encoded []byte) InputSum { return record.SumInput(encoded) }
