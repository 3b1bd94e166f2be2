package lab

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts a command inside the host, with the host's own /sys/class/net.
// The command is killed if this process ends before it. Wait for it by cmd.Wait.
func (h *Host) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	go func() {
		err := h.Do(func() error {
			if err := mountSys(); err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			started <- nil
			outlive(cmd.Process.Pid)
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("lab: start %s in host %s: %w", cmd.Path, h.Name, err)
	}
	return nil
}

// Run runs a command inside the host and waits for it to end.
func (h *Host) Run(cmd *exec.Cmd) error {
	if err := h.Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// outlive blocks until a child has ended. The parent-death signal goes out when
// the thread ends that forked the child, not the process (prctl(2)).
func outlive(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// mountSys gives the thread a mount namespace in which /sys shows the devices of
// its network namespace, as ip-netns(8) does; control groups, pinned eBPF objects
// and tracing stay as they are.
func mountSys() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", needs(err, "CAP_SYS_ADMIN"))
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts apart from the machine's: %w", err)
	}
	kept := []string{"/sys/fs", "/sys/kernel"}
	fds := make([]int, len(kept))
	for i, dir := range kept {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", dir, err)
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	for i, dir := range kept {
		old := fmt.Sprintf("/proc/thread-self/fd/%d", fds[i])
		if err := unix.Mount(old, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

// Background starts a command inside the host and returns how to end it and all
// that it started: end waits so long for it to end by itself, then interrupts it,
// waits again, and kills what is left.
func (h *Host) Background(cmd *exec.Cmd) (end func(patience time.Duration), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.Start(cmd); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is its own affair
		close(ended)
	}()
	return func(patience time.Duration) {
		group := -cmd.Process.Pid
		select {
		case <-ended:
		case <-time.After(patience):
			_ = unix.Kill(group, unix.SIGINT) // it may have ended just now
			select {
			case <-ended:
			case <-time.After(patience):
			}
		}
		_ = unix.Kill(group, unix.SIGKILL)
		<-ended
	}, nil
}
