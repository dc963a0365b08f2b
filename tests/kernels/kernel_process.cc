#include "tests/kernels/kernel_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "policy/language/placeholders.h"
#include "sandbox/os/io.h"
#include "tests/support/host/process.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;

constexpr int kEventsFd = 3;
constexpr absl::Duration kPatience = absl::Seconds(20);
// A set of signals in /proc/<pid>/status.
constexpr char kNoSignals[] = "0000000000000000";

// Makes IPython as absent as where it isn't installed.
constexpr char kHideIPython[] = R"(
import sys
class Hider:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "IPython":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hider())
)";

// Whether every thread of the process sleeps and none has a signal to handle.
bool IsIdle(pid_t pid) {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/task"), error)) {
    const std::map<std::string, std::string> status =
        StatusOf(std::stoi(thread.path().filename()));
    if (!status.contains("State") || status.at("State")[0] != 'S' ||
        status.at("SigPnd") != kNoSignals ||
        status.at("ShdPnd") != kNoSignals) {
      return false;
    }
  }
  return !error;
}

// A program in a session of its own; -1 when it can't be started.
pid_t Start(const std::vector<std::string>& words,
            const std::vector<std::string>& environment,
            posix_spawn_file_actions_t& actions) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<char*> env;
  env.reserve(environment.size() + 1);
  for (const std::string& entry : environment) {
    env.push_back(const_cast<char*>(entry.c_str()));
  }
  env.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes,
                                argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -1;
}

const policy::LanguageTable& Languages() {
  static const auto table = policy::LanguageTable::Load(
      SANDGLASS_SOURCE_DIR "/policy/data/languages");
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *table;
}

// Does what the language's file says is to be done once per image.
class PreparedKernel {
 public:
  explicit PreparedKernel(const policy::Language& language)
      : language_(language) {
    values_.prepared = directory_.path();
    values_.limits.cpu_millis = 1000;
    values_.limits.memory_bytes = uint64_t{512} << 20;
    values_.heap_percent = language.heap_percent;
    for (const auto& [name, content] : language.prepare->files) {
      WriteFile(directory_.Path(name), content);
    }
    for (const policy::Command& command : language.prepare->commands) {
      RunHere(policy::ExpandCommand(command, values_));
    }
    if (language.zygote) {
      WriteFile(directory_.Path("zygote.py"), language.zygote->script);
    }
  }

  static const PreparedKernel& Of(const std::string& id) {
    // Goes at the process's end, and with it what was made.
    static std::map<std::string, std::unique_ptr<PreparedKernel>> kernels;
    std::unique_ptr<PreparedKernel>& kernel = kernels[id];
    if (kernel == nullptr) {
      kernel = std::make_unique<PreparedKernel>(*Languages().Find(id));
    }
    return *kernel;
  }

  policy::KernelRecipe::Commands commands() const {
    return language_.kernel->commands;
  }

  std::vector<std::string> CommandFor(const KernelOptions& options) const {
    const std::string fd = absl::StrCat(options.events_fd);
    if (options.zygote.empty()) {
      std::vector<std::string> command =
          policy::ExpandCommand(language_.kernel->command, values_);
      if (language_.id == "python") command.back() = fd;
      return command;
    }
    for (const policy::ZygoteKind& kind : language_.zygote->kinds) {
      if (kind.name != options.zygote) continue;
      return {"/usr/bin/python3",
              absl::StrCat(SANDGLASS_SOURCE_DIR, "/tests/kernels/by_zygote.py"),
              directory_.Path("zygote.py"), absl::StrJoin(kind.preload, " "),
              fd};
    }
    ADD_FAILURE() << "there is no kind " << options.zygote;
    return {"/bin/false"};
  }

 private:
  void RunHere(const policy::Command& command) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory_.path().c_str());
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    const pid_t pid = Start(command, {"PATH=/usr/bin:/bin"}, actions);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    EXPECT_TRUE(pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0)
        << command[0] << " failed";
  }

  const policy::Language& language_;
  TempDir directory_;
  policy::PlaceholderValues values_;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  os::Fd read;
  os::Fd write;
};

// Adds what is there; false at the end.
bool ReadSome(const os::Fd& from, std::string& to) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::read(from.get(), buffer.data(), buffer.size());
  if (size > 0) to.append(buffer.data(), static_cast<size_t>(size));
  return size > 0;
}

void Drain(const os::Fd& from, std::string& to) {
  while (os::WaitingBytes(from.get()) > 0 && ReadSome(from, to)) {
  }
}

}  // namespace

std::vector<Json> CellResult::Events(const std::string& kind) const {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event["ev"] == kind) found.push_back(event);
  }
  return found;
}

std::string CellResult::Shown() const {
  std::string text;
  for (const Json& event : Events("display")) {
    absl::StrAppend(&text, event["data"].value("text/plain", "<no text>"),
                    "\n");
  }
  return text;
}

std::string CellResult::Error(const std::string& key) const {
  const std::vector<Json> errors = Events("error");
  return errors.empty() ? "" : errors[0][key].get<std::string>();
}

std::ostream& operator<<(std::ostream& os, const CellResult& result) {
  os << "status \"" << result.status << "\", exit code " << result.exit_code;
  for (const Json& event : result.events) {
    os << "\n" << event.dump().substr(0, 2000);
  }
  return os << "\nstdout: " << result.out << "\nstderr: " << result.err;
}

KernelProcess::KernelProcess(const KernelOptions& options) {
  const PreparedKernel& prepared = PreparedKernel::Of(options.language);
  commands_kind_ = prepared.commands();
  // Whoever started the tests may have left some open.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  // To a kernel that has ended.
  ::signal(SIGPIPE, SIG_IGN);
  Pipe commands;
  Pipe events;
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, home_.path().c_str());
  posix_spawn_file_actions_adddup2(&actions, commands.read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  // Last: the number may be that of another pipe's end here.
  posix_spawn_file_actions_adddup2(
      &actions, events.write.get(),
      options.language == "python" ? options.events_fd : kEventsFd);
  std::vector<std::string> env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8",
                                  absl::StrCat("HOME=", home_.path())};
  // As a zygote has it: threads don't outlive a fork.
  if (!options.zygote.empty()) env.push_back("OPENBLAS_NUM_THREADS=1");
  pid_ = Start(prepared.CommandFor(options), env, actions);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_GT(pid_, 0);
  commands_ = std::move(commands.write);
  events_ = std::move(events.read);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  // By a cell, since a kernel's start looks for nothing outside its library.
  if (options.hide_ipython) {
    EXPECT_EQ(Run(kHideIPython).status, "ok");
  }
}

KernelProcess::~KernelProcess() {
  for (std::thread& interrupt : later_) interrupt.join();
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int KernelProcess::Send(const std::string& code, const Json& more) {
  if (commands_kind_ == policy::KernelRecipe::Commands::kBytes) {
    const std::string input = more.value("stdin", "");
    std::string words;
    for (const std::string word : more.value("args", Json::array())) {
      words += word + '\0';
    }
    words = absl::Base64Escape(words);
    EXPECT_TRUE(os::WriteAll(
        commands_.get(), absl::StrCat("run ", ++next_id_, " ", code.size(), " ",
                                      input.size(), " ", words.size(),
                                      more.value("last", false) ? " last" : "",
                                      "\n", code, input, words)));
    return next_id_;
  }
  Json command = {
      {"op", "run"}, {"id", ++next_id_}, {"code", code}, {"rich", true}};
  command.update(more);
  SendLine(command.dump());
  return next_id_;
}

CellResult KernelProcess::RunLast(const std::string& code, Json more) {
  more["last"] = true;
  CellResult result = WaitForEnd(Send(code, more));
  EXPECT_EQ(result.status, "") << "the last cell has a last word: " << result;
  result.exit_code = Wait();
  Drain(out_, result.out);
  Drain(err_, result.err);
  return result;
}

void KernelProcess::SendLine(const std::string& line) {
  EXPECT_TRUE(os::WriteAll(commands_.get(), absl::StrCat(line, "\n")));
}

CellResult KernelProcess::Run(const std::string& code, const Json& more) {
  return WaitForEnd(Send(code, more));
}

CellResult KernelProcess::WaitForEnd(int id) {
  CellResult result;
  while (Pump(result)) {
    size_t end = 0;
    while ((end = unread_.find('\n')) != std::string::npos) {
      // As the daemon reads it: throws on what isn't JSON in UTF-8.
      const Json event = Json::parse(unread_.substr(0, end));
      unread_.erase(0, end + 1);
      if (event["ev"] == "ready") {
        EXPECT_EQ(event["pid"], pid_);
        continue;
      }
      EXPECT_EQ(event["id"], id) << event;
      if (event.value("ack", false)) {
        // What was written before it is there.
        Drain(out_, result.out);
        result.before.push_back(result.out);
        SendLine(R"({"op":"ack"})");
      }
      if (event["ev"] != "done") {
        result.events.push_back(event);
        continue;
      }
      result.status = event["status"].get<std::string>();
      result.exit_code = event["exit_code"].get<int>();
      result.count = event["count"].get<int>();
      // All of it was written before.
      Drain(out_, result.out);
      Drain(err_, result.err);
      return result;
    }
  }
  return result;
}

bool KernelProcess::Pump(CellResult& result) {
  const int patience =
      static_cast<int>(absl::ToInt64Milliseconds(kPatience * Slowdown()));
  std::array<struct pollfd, 3> watched = {{{events_.get(), POLLIN, 0},
                                           {out_.get(), POLLIN, 0},
                                           {err_.get(), POLLIN, 0}}};
  if (::poll(watched.data(), watched.size(), patience) <= 0) {
    ADD_FAILURE() << "no word from the kernel; so far: " << result;
    return false;
  }
  if (watched[1].revents & POLLIN) ReadSome(out_, result.out);
  if (watched[2].revents & POLLIN) ReadSome(err_, result.err);
  return watched[0].revents == 0 || ReadSome(events_, unread_);
}

void KernelProcess::Interrupt() const { ::kill(-pid_, SIGINT); }

void KernelProcess::InterruptLater(absl::Duration after) {
  later_.emplace_back([pid = pid_, after] {
    absl::SleepFor(after);
    ::kill(-pid, SIGINT);
  });
}

void KernelProcess::WaitUntilIdle() const {
  // Twice, since a thread that was seen asleep may be woken by one that is
  // looked at after it.
  EXPECT_TRUE(
      WaitUntil([this] { return IsIdle(pid_) && IsIdle(pid_); }, kPatience))
      << "kernel " << pid_ << " has something to do all the time";
}

int KernelProcess::Wait() {
  const absl::Time end = absl::Now() + kPatience * Slowdown();
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (absl::Now() > end) return -1;
    absl::SleepFor(absl::Milliseconds(5));
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sandglass::testing
