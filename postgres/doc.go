// Package postgres is everything that speaks SQL: the migrations of the
// journal and of the reconciler's own schema, the loading of statements, the
// reading of operations with all that speaks about them, the compare-and-set
// by which decisions are applied, exceptions, the log of runs and the lock of
// a job. It is the only home of pgx, and satisfies the small interfaces that
// package reconcile declares.
//
// # What the database decides
//
// Leases, windows and run instants are judged by the database's clock. A move
// of an operation is one UPDATE that names the status, attempt, lease and
// updated_at that were read; the row that somebody else moved meanwhile is not
// in its result, and is reported as lost, never forced. The sources that a
// decision rests on are locked FOR SHARE, one by one in order of their names,
// and their generations compared: a statement that another job commits
// between decide and apply sends the whole batch back.
//
// # What a crash leaves
//
// A statement is loaded in one transaction, a batch of decisions is applied in
// one transaction, and the queue of operations to look at
// (agent_operation_changes) is emptied in that same transaction. Killed at any
// instant, the next run finds either all of it or nothing.
package postgres
