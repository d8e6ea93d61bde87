// Package api is how a node is asked: the requests and answers of fmqmd, a server
// that gives them over HTTP, and a client for them.
//
// The JSON keys of the types are stable: people's scripts read them. A node serves
// them below /v1/, on its local socket and on its listen address:
//
//	POST /v1/instances                   StartRequest      -> Status
//	GET  /v1/instances                   ?all ?everywhere ?state ?process ?in_error ?search ?since ?next ?after ?limit -> ListAnswer
//	GET  /v1/instances/{id}              ?wait=30s          -> Status
//	GET  /v1/instances/{id}/history                         -> HistoryAnswer
//	GET  /v1/instances/{id}/watch                           -> HistoryEvent, one a line, until it has ended
//	GET  /v1/instances/{id}/why                             -> WhyAnswer
//	GET  /v1/instances/{id}/logs         ?activity ?attempt ?limit -> LogsAnswer
//	POST /v1/instances/{id}/retry        RetryRequest      -> Word
//	POST /v1/instances/{id}/finish       HandRequest       -> Word
//	POST /v1/instances/{id}/restart      RestartRequest    -> Word
//	POST /v1/instances/{id}/skip         HandRequest       -> Word
//	POST /v1/instances/{id}/terminate    TerminateRequest  -> {}
//	POST /v1/instances/{id}/suspend      SuspendRequest    -> Word
//	POST /v1/instances/{id}/expedite     ExpediteRequest   -> Word
//	POST /v1/instances/{id}/resume       ResumeRequest     -> Word
//	POST /v1/instances/{id}/erase        EraseRequest      -> EraseAnswer
//	GET  /v1/nodes                                          -> NodesAnswer
//	GET  /v1/definitions                                    -> DefinitionsAnswer
//	GET  /v1/definitions/{process}       ?at=NODE           -> DefinitionAnswer
//	POST /v1/definitions/{process}/retire RetireRequest    -> RetireAnswer
//	GET  /v1/links                                          -> LinksAnswer
//	POST /v1/links/{peer}/retry          {}                -> Link
//	GET  /v1/dead                        ?before ?limit     -> RefusedAnswer
//	GET  /v1/dead/{number}                                  -> RefusedMessage
//	POST /v1/dead/{number}/retry         {}                -> RefusedDecision
//	POST /v1/dead/{number}/drop          DropRequest       -> RefusedDecision
//	GET  /v1/rebuild/{peer}              ?all               -> RebuildAnswer, a plan
//	POST /v1/rebuild/{peer}              {}, ?all          -> RebuildAnswer
//	GET  /v1/schedules                                      -> SchedulesAnswer
//	POST /v1/schedules/{process}/suspend {}                -> SchedulesAnswer
//	POST /v1/schedules/{process}/resume  {}                -> SchedulesAnswer
//	POST /v1/schedules/{process}/run     {}                -> SchedulesAnswer
//	POST /v1/events                      EventRequest      -> EventAnswer
//	GET  /v1/events                      ?name ?key ?waiting ?after ?limit -> EventsAnswer
//	GET  /v1/events/{id}                                    -> KeptEvent
//	POST /v1/events/{id}/drop            {}                -> KeptEvent
//	GET  /v1/work                        ?all ?claimed ?process ?activity ?after ?limit ?as -> WorkAnswer
//	GET  /v1/work/{item}                 ?as               -> WorkShown
//	POST /v1/work/{item}/claim           WorkWord          -> WorkDone
//	POST /v1/work/{item}/release         WorkWord          -> WorkDone
//	POST /v1/work/{item}/transfer        WorkWord          -> WorkDone
//	POST /v1/work/{item}/save            WorkWord          -> WorkDone
//	POST /v1/work/{item}/complete        WorkWord          -> WorkDone
//	GET  /v1/whoami                                         -> WhoAmI
//	POST /v1/upload                      UploadRequest     -> UploadAnswer
//
// Beside them, for who watches over nodes ([HealthHandler]):
//
//	GET  /livez, /readyz                                    -> Health
//
// And on the local socket only ([BackupHandler], [ReloadHandler]):
//
//	GET  /v1/backup                                         -> the backup, as bytes
//	POST /v1/reload                      {}                -> {}
//
// What it guarantees:
//
//   - A request is taken whole or refused: unknown, repeated and misspelt members,
//     wrong types, what comes after the object, and what is over the limits are errors
//     that name the member and say what to do (invariant 12).
//   - Every error is {"error": {"code", "message", "remedy"}}; see [Error]. The codes
//     are those of the exit codes of fmqm.
//   - [Client] never waits for ever, and repeats nothing by itself: a start is repeated
//     by its caller, with the same identifier (N2).
//   - A web page that a browser shows cannot use the API (requests that a browser marks
//     as such are refused), also where it listens on loopback only.
//
// The node implements [Backend]; this package keeps no state.
package api
