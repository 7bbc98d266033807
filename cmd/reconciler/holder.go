package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
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
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)); errors.Is(err, os.ErrNotExist) {
		return true
	}
	start := processStart(pid)
	return start != "" && start != fields["start"]
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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name of the program is in brackets and may hold anything.
	_, rest, ok := strings.Cut(string(stat), ") ")
	if i := strings.LastIndex(string(stat), ") "); ok && i >= 0 {
		rest = string(stat)[i+2:]
	}
	fields := strings.Fields(rest)
	const startTime = 19 // field 22 of proc(5), counted after the name
	if len(fields) <= startTime || fields[0] == "Z" {
		return ""
	}
	return fields[startTime]
}
