package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// Children returns the process ids of the process's children, in the order in which they
// were started. One that has ended is none, and neither is a copy of the process that has not
// become a program of its own yet: Go makes such copies to start others and to find out how.
// The test is skipped on systems that do not tell.
func (p *Process) Children() (pids []int) {
	p.t.Helper()
	if runtime.GOOS != "linux" {
		p.t.Skip("children are found in /proc, which only Linux has")
	}
	self := commandLine(p.Cmd.Process.Pid)
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Cmd.Process.Pid))
	require.NoError(p.t, err)
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(field)
			require.NoError(p.t, err)
			if line := commandLine(pid); line != "" && line != self {
				pids = append(pids, pid)
			}
		}
	}
	// The lists are of threads, any of which may have started the one or the other child.
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(cmp.Compare(started(a), started(b)), cmp.Compare(a, b)) })
	return pids
}

// commandLine returns the arguments with which a process was started, or "" for one that has
// ended. A copy of a process has those of the process.
func commandLine(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(b)
}

// started returns when a process was started, in the kernel's hundredths of a second, or 0
// for one that is gone.
func started(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	const startTime = 22 - 3 // of the fields in proc(5), of which rest begins with the third
	if len(fields) <= startTime {
		return 0
	}
	at, _ := strconv.Atoi(fields[startTime])
	return at
}

// Running says whether a process of this id runs, on Linux.
func Running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}
