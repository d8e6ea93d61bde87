// Package definition is the process model and its language: it reads YAML files,
// checks them, and compiles a process into one process table per node (paper §3.2,
// "process definition and binding").
//
//	Load     text -> *Process and diagnostics     language, names, types, conditions
//	Compile  *Process -> tables and manifest       source and sink, binding to nodes;
//	         CompileEach gives them one by one
//	Show, Dot, Mermaid, Schema                     the process for people and editors
//
// What it guarantees:
//
//   - Load reports everything that is wrong with a file, in one go, each with line,
//     column, message and remedy; a *Process that it returns without errors compiles:
//     it has been compiled, within the limits of the language.
//   - Compile is a function: the same process gives the same bytes, on any machine.
//   - The definition hash is of the meaning: layout, comments, descriptions and the
//     version of the compiler do not change it.
//   - "Can never run" is decided exactly, over all outcomes of the conditions.
//
// A process is a Graph, and so is the inside of a block (N18): one reader and the same checks
// for both. What is of the whole process is apart from that: structures, limits, the names of
// all activities, and the effort that its checks may take.
//
// It does no I/O: callers read and write files.
package definition
