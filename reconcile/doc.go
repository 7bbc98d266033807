// Package reconcile is the use case: one run of a job is fetch → ingest →
// match → decide → apply → report. It declares the small interfaces that it
// needs of a database, an archive and sources, and knows none of their kinds.
//
// # Life of a run
//
// A run takes the job's lock, reads what its sources deliver (each statement
// in one transaction, or into quarantine), then takes the operations about
// which something has changed, batch by batch: facts as of one snapshot, a
// pure decision on each, and one transaction that applies them all. What
// concerns sources rather than operations follows, then the report. It can be
// killed at any instant; docs/run.md tells what is then on disk.
//
// # What an error means
//
// An error is an outage, never a finding: it ends the run, or leaves a source
// out and the run incomplete. No operation is called absent because something
// could not be read.
package reconcile
