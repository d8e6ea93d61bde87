package api

import (
	"strings"
	"time"
)

// UploadRequest stores process tables at their nodes, or says what that would do.
type UploadRequest struct {
	Tables       []Table `json:"tables"`
	AllowNewNode bool    `json:"allow_new_node,omitempty"` // also for nodes that nobody has a link to
	PlanOnly     bool    `json:"plan_only,omitempty"`      // change nothing
	Now          bool    `json:"now,omitempty"`            // the versions are current at once, also those that are stored already
	// Definitions are the texts of the definitions, of any of the processes: the node that is asked keeps them. One that
	// does not say in its plan that it keeps texts is of an older release, and refuses them.
	Definitions []DefinitionText `json:"definitions,omitempty"`
}

// Table is a compiled process table on its way to its node.
type Table struct {
	Node       string `json:"node"`
	Process    string `json:"process"`    // NAME@VERSION
	Definition string `json:"definition"` // the definition's hash, 64 hexadecimal digits
	SHA256     string `json:"sha256"`     // of Table, 64 hexadecimal digits
	Table      []byte `json:"table"`      // encoded; base64 in JSON
}

// Plan says what an upload changes at a node; the words are API.
type Plan string

const (
	PlanAdd       Plan = "add"       // the node does not have this version
	PlanUnchanged Plan = "unchanged" // it has it
	PlanRefuse    Plan = "refuse"    // it cannot be stored: see the reason
	PlanUnknown   Plan = "unknown"   // the node did not answer: it decides when the table comes
)

// Result says what an upload did at a node; the words are API.
type Result string

const (
	ResultStored    Result = "stored"
	ResultQueued    Result = "queued" // on its way: the node has not been heard yet
	ResultUnchanged Result = "unchanged"
	ResultRefused   Result = "refused"
)

// UploadAnswer has one line for each table of the request, in its order.
type UploadAnswer struct {
	Nodes    []UploadNode `json:"nodes"`
	Warnings []string     `json:"warnings"` // programs not registered, connectors without a link, ...
	// KeepsTexts says that the node takes the texts of definitions.
	KeepsTexts bool `json:"keeps_texts,omitempty"`
}

// UploadNode is what happens, or happened, at one node. Result is empty in a plan.
type UploadNode struct {
	Node    string `json:"node"`
	Process string `json:"process"`
	Plan    Plan   `json:"plan"`
	Result  Result `json:"result,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Network is the one that the table is signed for, and Expires until when it can be
	// uploaded with that signature; empty: the signature says neither.
	Network string    `json:"network,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// State says whether the version is current there, as far as the node that was asked knows it; empty in a plan.
	State VersionState `json:"state,omitempty"`
	// Running says which instances of the name were started there and have not ended, by version; empty in a plan, and
	// of a node that does not answer. The node's lines of one name all have it.
	Running []Running `json:"running,omitempty"`
}

// Running is how many instances of a version run.
type Running struct {
	Process   string `json:"process"` // NAME@VERSION
	Instances int    `json:"instances"`
}

// DefinitionsAnswer is what the node has tables of.
type DefinitionsAnswer struct {
	Definitions []Definition `json:"definitions"`
}

// Definition is a process whose table the node has.
type Definition struct {
	Process    string   `json:"process"` // the name
	Version    int      `json:"version"`
	Definition string   `json:"definition"` // hash, 64 hexadecimal digits
	Node       string   `json:"node"`       // whose table it is
	Starts     []string `json:"starts"`     // nodes where it may be started
	Activities []Place  `json:"activities"` // all of the process, with their nodes
	// Definer is the public key of who signed the table, ed25519:BASE64; empty: nobody.
	Definer string `json:"definer,omitempty"`
	// Network is the one that it was signed for, and Expires until when it could be uploaded
	// with that signature; empty: the signature says neither.
	Network string    `json:"network,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// State says whether the version is current there, and Lacking which sites have not said that they have stored
	// it; none of them counts for the first version of a name. An older node says neither: what it has is current.
	State   VersionState `json:"state,omitempty"`
	Lacking []string     `json:"lacking,omitempty"`
	// Said is the number of what was said last of retiring it; 0: nothing was. RetiredBy is who did, if it is retired.
	Said      uint64 `json:"said,omitempty"`
	RetiredBy string `json:"retired_by,omitempty"`
	// Awaited are, of a retired version, the other sites for which the node keeps its table: their final word is missing, or
	// they are not known to need it for nothing. WrittenOff are those without which it goes.
	Awaited    []string     `json:"awaited,omitempty"`
	WrittenOff []WrittenOff `json:"written_off,omitempty"`
	// Removed is when the node has removed the table; of such a version there is nothing else but name and hash.
	Removed time.Time `json:"removed,omitzero"`
	// Instances is how many were started there and have not ended.
	Instances int `json:"instances,omitempty"`
}

// VersionState says whether a version of a process is current at a node: NAME alone is the highest that is.
// The words are API.
type VersionState string

const (
	VersionStored  VersionState = "stored"  // the node has its table, and not all its sites have said that they do
	VersionRetired VersionState = "retired" // nothing of it begins any more
	VersionRemoved VersionState = "removed" // it was retired, and the node has removed its table: nobody needs it
	VersionCurrent VersionState = "current" // all its sites have stored it, or its upload said so; or there is none before it
)

// NotYet says of which sites it is not known that they have stored a version, for people.
func NotYet(lacking []string) string {
	if len(lacking) == 1 {
		return lacking[0] + " has not said that it has it"
	}
	return strings.Join(lacking, ", ") + " have not said that they have it"
}

// Newer is a version of a process that is stored at a node, higher than what NAME alone is there, and not current.
type Newer struct {
	Process string   `json:"process"` // NAME@VERSION
	Lacking []string `json:"lacking"` // the sites that have not said that they have stored it
}
