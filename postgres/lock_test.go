package postgres_test

import (
	"errors"
	"testing"
	"time"

	"reconciler/reconcile"
)

func alive(string) bool { return false }

func TestLockHasOneHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lost, release, err := w.store.Lock(t.Context(), "payments", "run-a", alive)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.store.Lock(t.Context(), "payments", "run-b", alive)
	var locked *reconcile.LockedError
	if !errors.As(err, &locked) || locked.Holder != "run-a" || locked.Job != "payments" || !locked.Expires.After(locked.Since) {
		t.Errorf("second = %v, want it held by run-a", err)
	}
	_, other, err := w.store.Lock(t.Context(), "refunds", "run-b", alive)
	if err != nil {
		t.Errorf("another job = %v", err)
	} else {
		other()
	}
	select {
	case <-lost:
		t.Error("the lock was lost")
	default:
	}
	release()
	_, again, err := w.store.Lock(t.Context(), "payments", "run-b", alive)
	if err != nil {
		t.Fatalf("after release = %v", err)
	}
	again()
	equal(t, "rows", get[int](w, `SELECT count(*) FROM reconciler.job_locks`), 0)
}

func TestLockOfADeadHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO reconciler.job_locks VALUES ('payments', 'run-a host/1', 't', now(), now() + interval '1 hour'),
		('refunds', 'run-a host/1', 't', now() - interval '2 hours', now() - interval '1 hour')`)
	if _, _, err := w.store.Lock(t.Context(), "payments", "run-b", alive); err == nil {
		t.Fatal("the lock of a living run was taken")
	}
	asked := ""
	_, release, err := w.store.Lock(t.Context(), "payments", "run-b", func(holder string) bool { asked = holder; return true })
	if err != nil || asked != "run-a host/1" {
		t.Fatalf("takeover = %v, asked about %q", err, asked)
	}
	release()
	_, release, err = w.store.Lock(t.Context(), "refunds", "run-b", alive)
	if err != nil {
		t.Fatalf("expired = %v", err)
	}
	release()
}

func TestLockIsRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.SetLockTTL(6 * time.Second)
	lost, release, err := w.store.Lock(t.Context(), "payments", "run-a", alive)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	first := get[time.Time](w, `SELECT expires_at FROM reconciler.job_locks`)
	w.eventually(func() bool {
		return get[time.Time](w, `SELECT expires_at FROM reconciler.job_locks`).After(first.Add(time.Second))
	})
	select {
	case <-lost:
		t.Error("the lock was lost")
	default:
	}
}

func TestLostLockIsNoticed(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"deleted": `DELETE FROM reconciler.job_locks`,
		"taken":   `UPDATE reconciler.job_locks SET holder = 'run-b', token = 'b'`,
		// The renewal can't be made any more.
		"table gone": `ALTER TABLE reconciler.job_locks RENAME TO hidden`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.store.SetLockTTL(600 * time.Millisecond)
			lost, release, err := w.store.Lock(t.Context(), "payments", "run-a", alive)
			if err != nil {
				t.Fatal(err)
			}
			w.exec(sql)
			select {
			case <-lost:
			case <-time.After(30 * time.Second):
				t.Error("nobody noticed")
			}
			release()
			if name == "taken" {
				equal(t, "holder", get[string](w, `SELECT holder FROM reconciler.job_locks`), "run-b")
			}
		})
	}
}

// A load that holds the last connection of the pool does not cost the lock.
func TestLockIsRenewedBesideABusyPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w = worldAt(t, w.url+"&pool_max_conns=1", w.schemas)
	w.store.SetLockTTL(6 * time.Second)
	lost, release, err := w.store.Lock(t.Context(), "payments", "run-a", alive)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var first, now time.Time
	query := `SELECT expires_at FROM reconciler.job_locks`
	if err := conn.QueryRow(t.Context(), query).Scan(&first); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool {
		if err := conn.QueryRow(t.Context(), query).Scan(&now); err != nil {
			t.Fatal(err)
		}
		return now.After(first.Add(time.Second))
	})
	select {
	case <-lost:
		t.Error("the lock was lost")
	default:
	}
	conn.Release()
	release()
}

// eventually waits until f holds.
func (w *world) eventually(f func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatal("it did not come about within 30 seconds")
		}
	}
}
