// Package work offers the work items of a node to its people (N27, N28): it shows each person his worklist, takes what
// people say about an item to the process thread that decides it, and answers that thread, by the node's staff, who
// may have an item.
//
// Nothing here is durable, and nothing is decided here: whether a word is carried out is decided in the item's own entry, in the order in which
// words came to it (N11), and who has said it is told once that is on disk. What is shown may have changed meanwhile.
//
// A notice is an item that nobody has: who sees it is asked as of an item, and where its staff expression asks who has the activity, that
// is whoever has the item of that at the moment. Who sees one may see that item too, and take it from others.
//
// Who may have an item is asked at the moment: when it is shown, and again when somebody is given it. Who has one
// keeps it, whatever becomes of the staff.
package work
