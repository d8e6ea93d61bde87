package audit

// SetFewPlaces sets of how many instances the start is read, and gives what it was.
func SetFewPlaces(few int) (before int) {
	before, fewPlaces = fewPlaces, few
	return before
}
