package navigator

import "fmqm/behaviour"

// The words of the contract (package behaviour).
type (
	Effects   = behaviour.Effects
	Invoke    = behaviour.Invoke
	Outcome   = behaviour.Outcome
	What      = behaviour.What
	Result    = behaviour.Result
	Judgement = behaviour.Judgement
	Refusal   = behaviour.Refusal
)

const (
	Nothing    = behaviour.Nothing
	Terminated = behaviour.Terminated
	Skipped    = behaviour.Skipped
	Stopped    = behaviour.Stopped
	Iterated   = behaviour.Iterated
	Failed     = behaviour.Failed
	InError    = behaviour.InError
	Retried    = behaviour.Retried
	Passed     = behaviour.Passed
)
