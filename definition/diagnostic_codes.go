package definition

// The codes of diagnostics. They are stable: scripts and editors depend on them.
const (
	// The text itself.
	codeSyntax         = "yaml-syntax"           // not YAML
	codeEncoding       = "encoding"              // not UTF-8, or a control character
	codeAlias          = "yaml-alias"            // an anchor, an alias or a merge
	codeTag            = "yaml-tag"              // a tag
	codeQuote          = "quote-condition"       // a condition that YAML cannot carry
	codeEmptyFile      = "empty-file"            // no process in it
	codeUnknownKey     = "unknown-key"           //
	codeDuplicateKey   = "duplicate-key"         //
	codeMissingKey     = "missing-key"           //
	codeForm           = "wrong-form"            // a list where a mapping is meant, and so on
	codeValue          = "bad-value"             // a value that the key does not take
	codeLimit          = "limit"                 // a size over a limit of the language
	codeBadName        = "bad-name"              //
	codeReservedName   = "reserved-name"         //
	codeDuplicateName  = "duplicate-name"        //
	codeUnknownName    = "unknown-name"          // a structure, activity or member that is not declared
	codeEmptyStructure = "empty-structure"       //
	codeStructureCycle = "structure-cycle"       // a structure inside itself
	codeDefault        = "bad-default"           //
	codeNoActivities   = "no-activities"         //
	codeNoNode         = "no-node"               // an activity without a node
	codeWhatItIs       = "program-or-empty"      // an activity with no key that says what it is, or several
	codeKeyNotHere     = "key-not-here"          // a key of another kind of activity
	codeEmptyCondition = "empty-condition"       //
	codeCondition      = "bad-condition"         // what CEL's checker says
	codeSchedule       = "bad-schedule"          // a schedule that is never due, or that its node cannot start
	codeStart          = "bad-start"             // a start condition that is none
	codeStartAlone     = "start-alone"           // start: without predecessors
	codeSelf           = "control-self"          // a control connector to its own source
	codeEnds           = "connector-ends"        // source or sink where they cannot stand
	codeDuplicate      = "duplicate-connector"   //
	codeCycle          = "control-cycle"         //
	codeBorder         = "border"                // a connector into or out of a block, or what one side of it does to the other
	codeShape          = "shape-mismatch"        // a subprocess with other containers than its process
	codeChildStarts    = "subprocess-starts"     // a subprocess at a node where its process cannot be started
	codeDeadlineUnread = "deadline-unread"       // nothing takes the path at a deadline
	codeSuccessor      = "cancels-successor"     // what only comes after what cancels it
	codeOtherwiseTwice = "two-otherwise"         //
	codeOtherwiseAlone = "otherwise-alone"       // the only connector out of its source
	codeDataFlow       = "data-against-flow"     // a data connector that no control path follows
	codeFeedback       = "feedback-without-exit" //
	codeMismatch       = "type-mismatch"         //
	codeMapsNothing    = "maps-nothing"          //
	codeNeverRuns      = "never-runs"            // warning
	codeExclusive      = "exclusive-branches"    // warning
	codeNeverTrue      = "never-true"            // warning
	codeRunsUndecided  = "runs-undecided"        // warning
	codeTwoSources     = "two-sources"           // warning
	codeOtherwiseNever = "otherwise-never"       // warning
	codeUnread         = "container-unread"      // warning
	codeUnset          = "container-unset"       // warning
	codeExitConstant   = "exit-constant"         // warning
	codeOnRCUnread     = "on-rc-unread"          // warning
	codeOnErrorUnread  = "on-error-unread"       // warning
	codeDefaultTaken   = "default-taken"         // warning
	codeCancelsNothing = "cancels-nothing"       // warning
	codeHidesWord      = "hides-word"            // warning
	codeNoEffect       = "no-effect"             // warning
	codeNotifyLate     = "notify-late"           // warning
	codeMore           = "more"                  // there is more than is shown; see First
	CodeUnreadable     = "unreadable"            // for who reads files: one that cannot be read
)
