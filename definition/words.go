package definition

import (
	"fmt"
	"regexp"
	"strings"

	"fmqm/container"
)

// Words of other languages, for who knows one of those: what they are called here, or where
// what they say belongs.

// foreign is such a word's meaning: the key that is meant, if it is one of the same owner,
// and the remedy, if it is more than that key's name.
type foreign struct{ key, remedy string }

const (
	remedyProgram  = "this belongs to the program: write it under `programs` in the node's configuration, as `NAME: {exec: [...], timeout: 5m}`, and `program: NAME` here"
	remedyTimeout  = "write `deadline: {after: 5m}` if another path is taken then; how long an attempt may take is the program's, in the node's configuration, as `NAME: {exec: [...], timeout: 5m}`"
	remedyCommand  = "write `program: NAME`, and what NAME runs under `programs` in the node's configuration, as `NAME: {exec: [...]}`"
	remedyPrograms = "each node defines its programs under `programs` in its configuration"
	remedyControl  = "write the order under `control`, as `- a -> b`"
	remedyWhen     = "write a condition at a connector under `control`, as `- a -> b: CONDITION`; `start:` says which predecessors an activity needs"
	remedyLoop     = "write `exit: CONDITION`: the activity runs again until that holds"
	remedyChoice   = "write `choice: first_match` to take the first control connector out of it that is TRUE, in the order of the file; without `choice` each that is TRUE is taken"
	remedyRetry    = "write `retry: {attempts: 5, backoff: 1s}`"
	remedyPeople   = "write `staff: role(\"NAME\")`, instead of a program: who has the role does it by hand"
	remedyOptional = "every member is optional: one that is missing has its default"
	remedyItems    = "a list is written [T], such as [string]"
	remedyComment  = "write it as a comment, after #"
)

// foreignKeys has, by owner as in messages, the keys that others have.
var foreignKeys = map[string]map[string]foreign{
	"a process": words(map[string]foreign{
		"name id workflow": {key: "process"},
		"title summary label comment doc documentation":            {key: "description"},
		"tasks steps jobs states stages actions":                   {key: "activities"},
		"edges transitions flow flows sequence links dependencies": {key: "control"},
		"types schemas schema models definitions structs records":  {key: "structures"},
		"signals messages topics channels":                         {key: "events"},
		"mappings mapping dataflow":                                {key: "data"},
		"on sites start_at startat":                                {key: "starts"},
		"node host site":                                           {remedy: "each activity has a node of its own: write `node: A` there; `nodes` are sets of them"},
		"sets node_sets groups":                                    {key: "nodes"},
		"programs commands services timeout":                       {remedy: remedyPrograms},
		"cron schedules schedule_interval timetable":               {key: "schedule", remedy: remedySchedule},
		"starters started_by may_start":                            {key: "staff"},
		"admin owner responsible administrators":                   {key: "administrator"},
		"prio importance urgency":                                  {key: "priority"},
	}),
	"a schedule": words(map[string]foreign{
		"timezone tz time_zone location":                 {key: "zone"},
		"site host at":                                   {key: "node"},
		"interval rate":                                  {key: "every"},
		"catchup catch_up misfire starting_deadline":     {key: "missed"},
		"concurrency concurrency_policy max_active_runs": {key: "overlap"},
		"payload args parameters":                        {key: "input"},
	}),
	"an activity": words(map[string]foreign{
		"host site machine server location on runs_on runs-on":                    {key: "node"},
		"summary label comment doc name id":                                       {key: "description"},
		"exec command cmd script shell run image url http entrypoint uses action": {key: "program", remedy: remedyProgram},
		"timeout time_limit timelimit":                                            {remedy: remedyTimeout},
		"due due_date expires expiry":                                             {key: "deadline"},
		"params parameters args arguments with":                                   {key: "input"},
		"result results returns":                                                  {key: "output"},
		"depends_on depends needs after before next then goto successors predecessors upstream requires": {remedy: remedyControl},
		"if when condition conditions guard": {remedy: remedyWhen},
		"while loop repeat":                  {remedy: remedyLoop},
		"foreach for-each map each with_items items iterate multi_instance":                  {key: "for_each"},
		"concurrency max_concurrency max_parallel max_parallelism":                           {key: "parallel"},
		"at_node called_at run_at":                                                           {key: "at"},
		"retries attempts max_attempts max_retries backoff retry_policy":                     {key: "retry", remedy: remedyRetry},
		"on_failure catch rescue ignore_errors continue_on_error continue-on-error":          {key: "on_error", remedy: "write `on_error: continue` if errors take a path; `on_rc: continue` if a return code other than 0 is data"},
		"cancel abort kill stops":                                                            {key: "cancels"},
		"signal event message on_event subscribe listen wait_for await on_message":           {key: "receive", remedy: "write `receive: {event: NAME}`, instead of a program"},
		"emit publish throw raise":                                                           {key: "send", remedy: "write `send: {event: NAME}`, instead of a program"},
		"role roles assignee user users group owner performer candidate_groups manual human": {remedy: remedyPeople},
		"offer offer_at offered_to sites_offered":                                            {key: "offered_at"},
		"prio importance urgency weight":                                                     {key: "priority"},
		"delay sleep pause timer":                                                            {remedy: "write `wait: {for: 2h}`, instead of a program"},
		"type kind":                                                                          {remedy: "write `program: NAME`, or `empty: true` for an activity that only routes"},
		"join":                                                                               {key: "start"},
		"tasks steps jobs block group body children sequence sub_activities":                 {key: "activities"},
		"history":                {remedy: "history is of the process: write `history: {iterations: 100}` there; it is of all its loops"},
		"schedule cron":          {remedy: "a schedule is of the process: write `schedule: {node: A, cron: 30 22 * * 1-5}` there"},
		"on_timeout on_deadline": {remedy: "write `deadline: {after: 2h}`, and `- a -> b: _TIMEOUT` for who takes the path then"},
		"subprocess sub_process subworkflow workflow child call call_activity": {key: "process", remedy: "write `process: NAME`, or `process: NAME@VERSION`"},
		"version": {remedy: "write `process: NAME@VERSION`"},
		"split switch case exclusive xor gateway first_match": {key: "choice", remedy: remedyChoice},
	}),
	"a start condition": words(map[string]foreign{
		"any or":                 {key: "at_least", remedy: "write `start: any`, or an expression over the predecessors, a || b"},
		"all and":                {key: "at_least", remedy: "write `start: all`, or an expression over the predecessors, a && b"},
		"min minimum count n of": {key: "at_least"},
	}),
	"receive": words(map[string]foreign{
		"name signal message type":                 {key: "event"},
		"any any_of events first first_of either":  {key: "one_of"},
		"correlation correlation_key correlate id": {key: "key"},
		"timeout deadline until":                   {remedy: "write `deadline: {after: 5d}` beside `receive`"},
		"data payload output":                      {remedy: "write `output: STRUCTURE` beside `receive`: it takes the event's members of the same name and type"},
	}),
	"send": words(map[string]foreign{
		"name signal message type":                  {key: "event"},
		"node site target destination recipient at": {key: "to"},
		"correlation correlation_key correlate id":  {key: "key"},
		"ttl expires expiry retain":                 {key: "keep"},
		"data payload input body":                   {remedy: "write `input: STRUCTURE` beside `send`: the event takes its members of the same name and type"},
	}),
	"to": words(map[string]foreign{
		"site expression":    {key: "node"},
		"nodes among one_of": {key: "of"},
	}),
	"deadline": words(map[string]foreign{
		"in for within timeout": {key: "after"},
		"until by on when time": {key: "at"},
	}),
	"wait": words(map[string]foreign{
		"after in duration": {key: "for"},
		"at to when time":   {key: "until"},
	}),
	"at": words(map[string]foreign{
		"site host location":               {key: "node"},
		"nodes sites one_of among in from": {key: "of"},
	}),
	"retry": words(map[string]foreign{
		"max limit times count tries retries": {key: "attempts"},
		"delay wait interval initial":         {key: "backoff"},
		"max_delay max_wait max_interval":     {key: "max_backoff"},
	}),
	"again": words(map[string]foreign{
		"delay wait interval backoff initial": {key: "after"},
		"max_delay max_wait max_backoff":      {key: "max"},
	}),
	"a member": words(map[string]foreign{
		"required optional nullable null": {remedy: remedyOptional},
		"items element of":                {remedy: remedyItems},
		"description comment title doc":   {remedy: remedyComment},
		"value initial":                   {key: "default"},
		"kind":                            {key: "type"},
	}),
}

// foreignTypes has the types that others have, as the remedy names them.
var foreignTypes = words(map[string]foreign{
	"integer int8 int16 int32 int64 long short bigint smallint uint uint32 uint64": {key: "int"},
	"float float32 float64 real":                                    {key: "double"},
	"number decimal numeric money":                                  {remedy: "write int or double; an exact amount is an int of its smallest unit, or a string"},
	"boolean logical flag":                                          {key: "bool"},
	"str text char varchar uuid url uri email password enum symbol": {key: "string"},
	"date day":                               {remedy: "write timestamp, for a moment such as 2026-01-31T00:00:00Z, or string for a day"},
	"datetime date-time timestamptz instant": {key: "timestamp"},
	"time":                                   {remedy: "write timestamp, for a moment, or duration, for a time span"},
	"interval timedelta period timespan":     {key: "duration"},
	"binary blob byte base64 file":           {key: "bytes"},
	"array list set sequence tuple":          {remedy: remedyItems},
	"object map dict struct structure record json mapping hash any variant unknown": {remedy: "declare a structure under `structures` and name it here"},
})

// words takes groups of words apart.
func words(groups map[string]foreign) map[string]foreign {
	all := map[string]foreign{}
	for group, meaning := range groups {
		for _, word := range strings.Fields(group) {
			all[word] = meaning
		}
	}
	return all
}

// text is the remedy.
func (f foreign) text() string {
	if f.remedy != "" {
		return f.remedy
	}
	return "write " + f.key
}

var (
	listSuffix = regexp.MustCompile(`^(.+?)\s*\[\s*\]$`)
	listPrefix = regexp.MustCompile(`^\[\s*\]\s*(.+)$`)
	listOf     = regexp.MustCompile(`^(?i:list|array|set|sequence)\s*(?:<\s*(.+?)\s*>|\[\s*(.+?)\s*\]|\(\s*(.+?)\s*\)|\s+of\s+(.+))$`)
	assigned   = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\S.*)$`)
	optional   = regexp.MustCompile(`^(.+?)\s*(?:\?|!)$`)
)

// foreignType is the remedy for a type as others write it: another word, a list in another
// form.
func (r *structureReader) foreignType(name string) (string, bool) {
	for _, form := range []*regexp.Regexp{listSuffix, listPrefix, listOf} {
		if m := form.FindStringSubmatch(name); m != nil {
			return r.listRemedy(strings.Join(m[1:], "")), true // one of them has matched
		}
	}
	if m := optional.FindStringSubmatch(name); m != nil {
		return fmt.Sprintf("write %s: %s", m[1], remedyOptional), true
	}
	if m := assigned.FindStringSubmatch(name); m != nil {
		return fmt.Sprintf("write {type: %s, default: %s}", m[1], m[2]), true
	}
	f, ok := foreignTypes[strings.ToLower(name)]
	return f.text(), ok
}

// listRemedy writes a list as this language does, of the type that was meant.
func (r *structureReader) listRemedy(elem string) string {
	if f, ok := foreignTypes[strings.ToLower(elem)]; ok && f.remedy == "" {
		elem = f.key
	}
	_, scalar := container.ParseKind(elem)
	if _, declared := r.declared[elem]; !scalar && !declared {
		return remedyItems
	}
	return fmt.Sprintf("write [%s]", elem)
}
