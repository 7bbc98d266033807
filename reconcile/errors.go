package reconcile

import (
	"errors"
	"fmt"
	"time"
)

// ErrEvidenceMoved says that a statement was committed between deciding and
// applying: nothing was applied, and the batch must be decided again.
var ErrEvidenceMoved = errors.New("the evidence has moved since it was read")

// ErrInterrupted says that the run was asked to stop, and stopped after the
// batch in hand.
var ErrInterrupted = errors.New("interrupted; what was applied so far stands, and the next run goes on from there")

// ErrLockLost says that the job's lock could not be renewed in time, so that
// another run may have begun.
var ErrLockLost = errors.New("the job's lock could not be renewed in time; the run stopped after the batch in hand")

// LockedError says that another run of the job holds its lock.
type LockedError struct {
	Job, Holder    string
	Since, Expires time.Time
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("job %s: run %s holds the lock since %s (free by itself at %s if that run has died)",
		e.Job, e.Holder, e.Since.UTC().Format(time.RFC3339), e.Expires.UTC().Format(time.RFC3339))
}
