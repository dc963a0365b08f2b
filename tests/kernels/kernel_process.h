#ifndef SANDGLASS_TESTS_KERNELS_KERNEL_PROCESS_H_
#define SANDGLASS_TESTS_KERNELS_KERNEL_PROCESS_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "policy/language/language.h"
#include "sandbox/os/fd.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {

// What came of one cell, until its last word or the kernel's end.
struct CellResult {
  std::vector<nlohmann::json> events;  // without "done"
  std::string out;
  std::string err;
  // For each display that the cell waited for, what it had written before.
  std::vector<std::string> before;
  std::string status;  // "" when the kernel ended instead
  int exit_code = -1;
  int count = -1;

  // Those of one kind: "display", "error", "clear", "dropped".
  std::vector<nlohmann::json> Events(const std::string& kind) const;
  // The text/plain of what was shown, line by line.
  std::string Shown() const;
  // Of the first error; "" without one.
  std::string Error(const std::string& key) const;
  // What a notebook shows of it all: output, then results.
  std::string Whole() const { return out + Shown(); }
};

std::ostream& operator<<(std::ostream& os, const CellResult& result);

struct KernelOptions {
  std::string language = "python";
  // What follows is Python's.
  bool hide_ipython = false;
  int events_fd = 254;
  // A kind of the language's zygotes, for example "lean": started as its child.
  std::string zygote;
};

// A language's kernel as a process of its own, started as it is in a jail
// without a zygote, from what the language's file says is to be prepared.
class KernelProcess {
 public:
  explicit KernelProcess(const KernelOptions& options = {});
  ~KernelProcess();
  KernelProcess(const KernelProcess&) = delete;
  KernelProcess& operator=(const KernelProcess&) = delete;

  // Sends a cell and waits for its end. `more` are further keys of the command,
  // of which a kernel that is told in bytes gets only "stdin" and "args".
  CellResult Run(const std::string& code,
                 const nlohmann::json& more = nlohmann::json::object());
  int Send(const std::string& code,
           const nlohmann::json& more = nlohmann::json::object());
  CellResult WaitForEnd(int id);
  // Sends a cell that is the kernel's last and waits for the kernel's end,
  // whose exit code is the cell's.
  CellResult RunLast(const std::string& code,
                     nlohmann::json more = nlohmann::json::object());
  void SendLine(const std::string& line);
  // SIGINT to its process group, as the daemon does.
  void Interrupt() const;
  void InterruptLater(absl::Duration after);
  // Waits until every thread of it sleeps and no signal is left for it, so that
  // it has handled what was sent before; fails the test if that takes too long.
  void WaitUntilIdle() const;
  void CloseCommands() { commands_.reset(); }
  // Its exit code, 128 + n for a signal; -1: it didn't end within the time.
  int Wait();
  pid_t pid() const { return pid_; }
  const std::string& home() const { return home_.path(); }

 private:
  bool Pump(CellResult& result);

  policy::KernelRecipe::Commands commands_kind_;
  TempDir home_;
  os::Fd commands_;
  os::Fd events_;
  os::Fd out_;
  os::Fd err_;
  pid_t pid_ = -1;
  int next_id_ = 0;
  std::vector<std::thread> later_;
  std::string unread_;  // of events
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_KERNELS_KERNEL_PROCESS_H_
