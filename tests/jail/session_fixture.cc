#include "tests/jail/session_fixture.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "policy/seccomp/seccomp.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/os/files.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

std::unique_ptr<Sandbox> g_sandbox;
std::string g_layers;

namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

// As the daemon puts it together.
std::string PythonScript() {
  const auto languages = policy::LanguageTable::Load(SANDGLASS_SOURCE_DIR
                                                     "/policy/data/languages");
  EXPECT_TRUE(languages.ok()) << languages.status();
  return languages.ok() ? languages->Find("python")->zygote->script : "";
}

ZygoteOptions PythonZygote() {
  ZygoteOptions zygote;
  zygote.kind = kPythonKind;
  zygote.argv = {"/usr/bin/python3", kZygoteScript, "json"};
  zygote.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"};
  zygote.script = PythonScript();
  zygote.library_path = std::filesystem::path(SANDGLASS_SPAWNER).parent_path() /
                        "sandglass-zygote-python.so";
  zygote.renew_after = 1000;
  return zygote;
}

absl::Status StartSandbox(const char* state_dir,
                          const std::function<void(SandboxOptions&)>& adjust) {
  const std::string data = SANDGLASS_SOURCE_DIR "/policy/data";
  const auto profiles = policy::LoadProfiles(data + "/profiles");
  if (!profiles.ok()) return profiles.status();
  const auto seccomp =
      policy::SeccompPolicy::Load(data + "/seccomp", "default");
  if (!seccomp.ok()) return seccomp.status();
  const auto filter = seccomp->Compile();
  if (!filter.ok()) return filter.status();
  HostReport host = ProbeHost();
  if (absl::Status status = RequireLayers(host, {}); !status.ok()) {
    return status;
  }
  SandboxOptions options;
  options.spawner_path = SANDGLASS_SPAWNER;
  options.state_dir = state_dir;
  options.instance = absl::StrCat("sandglass-session-test-", ::getpid());
  for (const policy::Profile& profile : *profiles) {
    options.templates.push_back(
        {.name = profile.name, .maximum = profile.maximum, .seccomp = *filter});
  }
  options.spare_jails = 2;
  g_layers = absl::StrCat(state_dir, "/layers");
  std::filesystem::create_directory(g_layers);
  options.layers_dir = g_layers;
  options.zygotes.push_back(PythonZygote());
  adjust(options);
  auto sandbox = Sandbox::Start(options, host);
  if (!sandbox.ok()) return sandbox.status();
  g_sandbox = *std::move(sandbox);
  return g_sandbox->StartReader([](const absl::Status& status) {
    ADD_FAILURE() << "a spawner died: " << status;
  });
}

void ReadInto(const os::Fd& fd, std::string& text) {
  char buffer[65536];
  ssize_t size = 0;
  while (fd.valid() && (size = ::read(fd.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(size));
  }
}

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

void AwaitJail(Jail& jail, const std::function<bool()>& done) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!done()) {
    ASSERT_LT(absl::Now(), deadline);
    absl::StatusOr<std::optional<JailEvent>> event = jail.NextEvent();
    ASSERT_TRUE(event.ok()) << event.status();
    if (event->has_value()) {
      ASSERT_FALSE(std::holds_alternative<GoneEvent>(**event));
      ASSERT_FALSE(std::holds_alternative<FailedEvent>(**event));
      continue;
    }
    struct pollfd fds[] = {{jail.control_fd(), POLLIN, 0},
                           {jail.runner_fd(), POLLIN, 0}};
    ::poll(fds, 2, 100);
  }
}

std::unique_ptr<Jail> ReadyJail(const std::string& kind,
                                const policy::Limits& limits,
                                const std::string& layer) {
  absl::StatusOr<std::unique_ptr<Jail>> jail = g_sandbox->CreateJail(
      kind, "default", limits, kPatience, FillFor::kStock, layer);
  EXPECT_TRUE(jail.ok()) << jail.status();
  if (!jail.ok()) std::abort();
  AwaitJail(**jail, [&] { return (*jail)->is_ready(); });
  return *std::move(jail);
}

TestSession::TestSession(const std::string& kind, const policy::Limits& limits)
    : TestSession(ReadyJail(kind, limits)) {}

TestSession::TestSession(std::unique_ptr<Jail> jail)
    : session_(std::make_unique<SessionJail>(std::move(jail))) {}

uint64_t TestSession::Spawn(const ProcessSpec& spec) {
  const absl::Status asked = session_->Spawn(++last_id_, spec);
  EXPECT_TRUE(asked.ok()) << asked;
  return last_id_;
}

Seen& TestSession::Started(const ProcessSpec& spec) {
  Seen& seen = seen_[Spawn(spec)];
  EXPECT_TRUE(Await([&] { return seen.spawned || seen.failed; }));
  EXPECT_TRUE(seen.spawned.has_value());
  return seen;
}

Seen& TestSession::Ended(const ProcessSpec& spec) {
  return AwaitEnd(Spawn(spec));
}

Seen& TestSession::AwaitEnd(uint64_t id) {
  Seen& seen = seen_[id];
  EXPECT_TRUE(Await([&] { return seen.exited || seen.failed; }));
  ReadStreams();
  return seen;
}

bool TestSession::Await(const std::function<bool()>& done) {
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    HandleEvents();
    ReadStreams();
    if (done()) return true;
    if (absl::Now() > deadline || ::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "it never came";
      return false;
    }
    struct pollfd fd = {session_->jail().control_fd(), POLLIN, 0};
    ::poll(&fd, 1, 5);
  }
}

void TestSession::HandleEvents() {
  while (!gone_) {
    absl::StatusOr<std::optional<SessionEvent>> event = session_->NextEvent();
    ASSERT_TRUE(event.ok()) << event.status();
    if (!event->has_value()) return;
    if (std::holds_alternative<GoneEvent>(**event)) {
      gone_ = true;
      ASSERT_TRUE(gone_expected_) << "init is gone";
      return;
    }
    std::visit(
        Overloaded{
            [&](SpawnedEvent& e) { seen_[e.id].spawned = std::move(e); },
            [&](SpawnFailedEvent& e) { seen_[e.id].failed = e; },
            [&](ProcessExitedEvent& e) { seen_[e.id].exited = e; },
            [&](FileChannelEvent& e) { files_ = std::move(e); },
            [&](StartedEvent& e) { started_ = e; },
            [&](ExitedEvent& e) { exited_ = e; },
            [&](WaitsEvent&) { waits_ = true; },
            [](auto&) { ADD_FAILURE() << "an event that nobody waits for"; }},
        **event);
  }
}

void TestSession::ReadStreams() {
  for (auto& [id, seen] : seen_) {
    if (!seen.spawned) continue;
    ReadInto(seen.spawned->fds.stdout_fd, seen.out);
    ReadInto(seen.spawned->fds.stderr_fd, seen.err);
    ReadInto(seen.spawned->fds.terminal, seen.out);
    ReadInto(seen.spawned->fds.channel, seen.channel);
  }
}

std::string TestSession::RunDirectory(const Seen& process) {
  // From ".../run/p-1/cgroup.events".
  const std::filesystem::path link = std::filesystem::read_symlink(
      absl::StrCat("/proc/self/fd/", process.spawned->fds.events.get()));
  return link.parent_path().parent_path().string();
}

ProcessSpec Shell(const std::string& code) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", code};
  spec.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/sandbox",
              "LANG=C.UTF-8"};
  spec.file_size_bytes = 16 << 20;
  return spec;
}

ProcessSpec Python(const std::string& code) {
  ProcessSpec spec = Shell("");
  spec.argv = {"/usr/bin/python3", "-c", code};
  return spec;
}

int RunSessionTests(int argc, char** argv,
                    const std::function<void(SandboxOptions&)>& adjust) {
  testing::InitGoogleTest(&argc, argv);
  char name[] = "/tmp/sandglass-session-test-XXXXXX";
  if (::mkdtemp(name) == nullptr) return 1;
  // The sandbox moves its process into groups of its own; the parent stays
  // outside to remove them.
  const pid_t child = ::fork();
  if (child == 0) {
    if (const absl::Status status = StartSandbox(name, adjust); !status.ok()) {
      std::fprintf(stderr, "can't start a sandbox: %s\n",
                   status.ToString().c_str());
      return 1;
    }
    const int result = RUN_ALL_TESTS();
    g_sandbox.reset();
    return result;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const absl::Status swept = Sandbox::Sweep(name);
  if (!swept.ok()) std::fprintf(stderr, "%s\n", swept.ToString().c_str());
  std::filesystem::remove_all(name);
  return status != 0 || !swept.ok();
}

}  // namespace sandglass::sandbox
