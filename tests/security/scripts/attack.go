// In Go: raw system calls from a process of several threads.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

var made = 0

func refused(name string, action func() error) {
	made++
	if err := action(); err == nil {
		fmt.Fprintln(os.Stderr, name, "went through")
		os.Exit(43)
	}
}

func main() {
	directory, stream, abstract, port := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	pid, _ := strconv.Atoi(os.Args[5])
	for _, call := range [][4]uintptr{{272, 0x10000000}, {272, 0x20000}, {101, 16, 1}, {321, 5},
		{250, 0}, {323, 1}, {105, 0}, {425, 8}, {304}, {56, 0x10000011}, {246}, {155}, {165}} {
		call := call
		refused(fmt.Sprint("system call ", call[0]), func() error {
			if _, _, errno := syscall.RawSyscall6(call[0], call[1], call[2], call[3], 0, 0, 0); errno != 0 {
				return errno
			}
			return nil
		})
	}
	for _, path := range []string{"/etc/passwd", "/usr/bin/env", "/proc/self/mem", "/proc/self/exe",
		"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", directory + "/file"} {
		path := path
		refused("write "+path, func() error {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.Write([]byte("x"))
			return err
		})
	}
	for _, path := range []string{"/etc/shadow", "/proc/1/environ", "/proc/kcore", "/dev/mem",
		directory + "/file"} {
		path := path
		refused("read "+path, func() error {
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			_, err = file.Read(make([]byte, 1))
			return err
		})
	}
	for _, address := range [][2]string{{"unix", stream}, {"unix", abstract}, {"tcp", "127.0.0.1:" + port},
		{"tcp", "[::1]:" + port}, {"tcp", "192.0.2.1:80"}, {"udp", "169.254.169.254:53"}} {
		address := address
		refused(fmt.Sprint(address), func() error {
			_, err := net.Dial(address[0], address[1])
			return err
		})
	}
	refused("bait", func() error { return syscall.Kill(pid, syscall.SIGKILL) })
	refused("init", func() error { return syscall.Kill(1, syscall.SIGKILL) })
	refused("setuid", func() error { return syscall.Setuid(0) })
	refused("chroot", func() error { return syscall.Chroot("/tmp") })
	refused("namespaces", func() error {
		command := exec.Command("true")
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
		return command.Run()
	})
	refused("su", func() error { return exec.Command("su", "-c", "true").Run() })
	if made != 37 {
		os.Exit(44)
	}
	os.Exit(42)
}
