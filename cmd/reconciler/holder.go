package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// holder names this process so that another one can tell whether it lives:
// machine boot, process namespace, process and the moment it started. Where
// the system does not say (no /proc), nobody can, and a lock waits for its
// expiry.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s pid=%d start=%s ns=%s boot=%s", host, os.Getpid(), processStart(os.Getpid()), namespace(), bootID())
}

// dead reports that a holder is known to have died: it ran under this boot and
// in this process namespace, and no such process is there any more.
func dead(other string) bool {
	fields := map[string]string{}
	for _, part := range strings.Fields(other) {
		if k, v, ok := strings.Cut(part, "="); ok {
			fields[k] = v
		}
	}
	boot, ns := bootID(), namespace()
	if boot == "" || ns == "" || fields["boot"] != boot || fields["ns"] != ns || fields["start"] == "" {
		return false
	}
	var pid int
	if _, err := fmt.Sscanf(fields["pid"], "%d", &pid); err != nil || pid <= 0 {
		return false
	}
	// A process that was killed a moment ago may still be giving its memory back.
	for range 10 {
		if gone(pid, fields["start"]) {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// gone reports that no process of that number and start is there any more; one
// that has ended and waits for its parent (a zombie) is gone.
func gone(pid int, start string) bool {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)); errors.Is(err, os.ErrNotExist) {
		return true
	}
	state, now := processState(pid)
	return state == "Z" || state == "X" || now != "" && now != start
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func namespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}

// processStart is the moment at which a process started, in the kernel's
// clock ticks: with the pid it names a process for the life of a boot.
func processStart(pid int) string {
	_, start := processState(pid)
	return start
}

// processState is the state of a process, as proc(5) names it, and its start;
// both are empty if the system does not say.
func processState(pid int) (state, start string) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The name of the program is in brackets and may hold anything.
	_, rest, ok := strings.Cut(string(stat), ") ")
	if i := strings.LastIndex(string(stat), ") "); ok && i >= 0 {
		rest = string(stat)[i+2:]
	}
	fields := strings.Fields(rest)
	const startTime = 19 // field 22 of proc(5), counted after the name
	if len(fields) <= startTime {
		return "", ""
	}
	return fields[0], fields[startTime]
}
