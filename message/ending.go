package message

// Ending is how an activity that ran has ended, beside its return code: what the engine's words
// _TIMEOUT and _ERROR say of it. The zero one is that of a program that has ended by itself.
type Ending struct {
	TimedOut bool   // its deadline has ended it (N23)
	Failure  string // why its last attempt failed, where it goes on after errors (N22)
}
