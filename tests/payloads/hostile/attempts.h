#ifndef SANDGLASS_TESTS_PAYLOADS_HOSTILE_ATTEMPTS_H_
#define SANDGLASS_TESTS_PAYLOADS_HOSTILE_ATTEMPTS_H_

// What the payload can try. An attempt returns the errno with which it was
// refused, 0 when it went through, or a negative exit code (arguments.h).
namespace sandglass::hostile {

struct Words {
  char** at = nullptr;
  int count = 0;

  const char* operator[](int index) const {
    return index < count ? at[index] : "0";
  }
};

struct Attempt {
  const char* name;
  int (*run)(const Words& words);
};

// nullptr when there is none.
const Attempt* FindAttempt(const char* name);

// call NUMBER VALUE…: the system call, with up to six arguments.
int Call(const Words& words);
// i386 NUMBER VALUE…: by the 32-bit door, up to three. In a child, since a
// kernel without that door answers by a signal: kSignal.
int CallI386(const Words& words);
// sweep FILE: the calls that the file lists, one a line as "DOOR NUMBER ERRNO",
// with DOOR "call" or "i386", each in a child of its own and without arguments.
// kUnexpected at the first with another answer. A signal counts as ENOSYS for
// i386; SIGILL or ENXIO does for uretprobe and uprobe (335, 336), which newer
// kernels let pass all filters (seccomp.c since 6.14) and answer so where no
// probe is.
int Sweep(const Words& words);

// open PATH FLAGS: opens and closes.
int Open(const Words& words);
// read PATH: one byte. ENODATA where there is none.
int Read(const Words& words);
// list PATH: a directory's entries. ENODATA where it has none.
int List(const Words& words);
// walk PATH…: opens everything below for writing, and tries to make a file in
// each directory; stays on the mount, passes over what isn't there. Goes
// through at the first that can be written.
int Walk(const Words& words);
// descriptors FD…: EBADF when no descriptor but these is open.
int Descriptors(const Words& words);
// setuid PATH…: runs every program below with a setuid or setgid bit or file
// capabilities; goes through if the kernel marks one as having gained rights.
// ENODATA where there is none.
int SetUid(const Words& words);
// overwrite PATH: writes to a file of the image in every way there is without
// opening it for writing; goes through if its content then differs.
int Overwrite(const Words& words);

// socket FAMILY TYPE PROTOCOL
int Socket(const Words& words);
// rtnetlink TYPE: a request with an empty body; what the kernel answers.
int RtNetlink(const Words& words);
// connect unix PATH (a leading @: abstract) | connect inet ADDRESS PORT, also
// with "send" instead of "connect" for datagrams.
int Connect(const Words& words);
// seek-neighbours: asks all that could lead to another jail: every pid,
// abstract name, System V key and port. ENODATA when there is nobody.
int SeekNeighbours(const Words& words);

// bomb NAME COUNT MILLISECONDS: one thing again and again (bombs.cc), COUNT
// times at most (0: without end), and holds what it got so long.
int Bomb(const Words& words);
// storm NAME THREADS: one thing as often as possible (storms.cc), for ever.
int Storm(const Words& words);
// headless BODY: its main thread ends while another goes on (headless.cc), for
// ever; with "leave" as the body a child does, and this process ends.
int Headless(const Words& words);
// covert send CHANNEL NANOSECONDS VALUE | covert receive CHANNEL NANOSECONDS
// | covert both CHANNEL NANOSECONDS VALUE: a number of six bits over a channel
// (covert.cc), from this time of CLOCK_BOOTTIME on. The receiver's exit code is
// the number, or kSilence.
int Covert(const Words& words);
// swap KIND PATH: leaves children behind that change what the names in
// /workspace stand for, a file of the jail and something of this kind, which
// may lead to PATH (swap.cc).
int Swap(const Words& words);

}  // namespace sandglass::hostile

#endif  // SANDGLASS_TESTS_PAYLOADS_HOSTILE_ATTEMPTS_H_
