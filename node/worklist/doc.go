// Package worklist has the work items of a node in memory, so that each person is shown his at once (N27, N28). It is
// derived from the process queues: whatever it forgets comes again when those are read, and nothing is decided by it.
//
// Items that the same people may have are of one class: so each person's right to them is found out once for all of
// them, and kept until the staff, or who is absent, has changed. An item takes some 400 bytes, beside its title and names; each of
// the people who ask, up to maxPeople, one byte for each class.
//
// A page is made of what a person has, and of the classes that are open to him: of each only as many items are looked at as
// come before the page's last. Its cost follows the number of classes and the length of a page, not of the list.
package worklist
