package definition

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema gives the JSON Schema (draft 2020-12) of the language, for editors. It says
// what can be said without the rest of the file: that names exist, that types match
// and the like is for Load. An editor that checks it calls a condition that begins
// with "!" a tag, unless it is quoted.
func Schema() []byte { return slices.Clone(schema) }
