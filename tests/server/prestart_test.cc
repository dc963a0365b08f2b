// What the daemon tells an interpreter that was started ahead, and which ones
// there are.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/job_frame.h"
#include "server/make_job.h"
#include "server/prestart_kinds.h"
#include "server/program_input.h"
#include "support.h"

namespace sandglass::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(JobFrame, IsALengthAndStrings) {
  sandbox::ProgramSpec program;
  program.argv = {"main.js", "", "a b"};
  program.env = {"A=1", "B="};
  const std::string words("3\0main.js\0\0a b\0A=1\0B=\0", 22);
  EXPECT_EQ(sandbox::JobFrame(program), std::string("\0\0\0\x16", 4) + words);
  EXPECT_EQ(sandbox::JobFrame({}), std::string("\0\0\0\x02\x30\0", 6));
  program.argv = {std::string(70'000, 'x')};
  program.env.clear();
  EXPECT_EQ(sandbox::JobFrame(program).substr(0, 4),
            std::string("\x00\x01\x11\x73", 4));
}

class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_.reset(ends[0]);
    write.reset(ends[1]);
  }
  // nullopt at the end.
  std::optional<std::string> Read() {
    std::string text(1 << 20, 0);
    const ssize_t size = ::read(read_.get(), text.data(), text.size());
    if (size == 0) return std::nullopt;
    text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }
  void Close() { read_.reset(); }
  os::Fd write;

 private:
  os::Fd read_;
};

TEST(ProgramInput, WritesWhatThePipeTakesAndThenCloses) {
  Pipe pipe;
  ProgramInput input;
  const std::string data(200'000, 'd');
  input.Open(std::move(pipe.write), std::string(100'000, 'h'), data);
  std::string all;
  input.Write();
  EXPECT_GE(input.fd(), 0);
  while (const std::optional<std::string> text = pipe.Read()) {
    ASSERT_FALSE(text->empty());
    all += *text;
    input.Write();
  }
  EXPECT_EQ(input.fd(), -1);
  EXPECT_EQ(all, std::string(100'000, 'h') + data);
}

TEST(ProgramInput, WithNothingToWriteItIsTheEndAtOnce) {
  Pipe pipe;
  ProgramInput input;
  input.Open(std::move(pipe.write), "", "");
  EXPECT_EQ(input.fd(), -1);
  EXPECT_EQ(pipe.Read(), std::nullopt);
}

TEST(ProgramInput, WhoReadsNoMoreIsNotBothered) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  ProgramInput input;
  input.Open(std::move(pipe.write), "head", "data");
  pipe.Close();
  input.Write();
  EXPECT_EQ(input.fd(), -1);
}

TEST(PrestartKinds, AreThoseOfTheShippedLanguages) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const PrestartKinds kinds(*policy);
  EXPECT_TRUE(kinds.Has("javascript-run"));
  EXPECT_TRUE(kinds.Has("java-run"));
  EXPECT_TRUE(kinds.Has("java-compile"));
  EXPECT_FALSE(kinds.Has("exec"));
  EXPECT_FALSE(kinds.Has("javascript-compile"));
  EXPECT_FALSE(kinds.OptionsOf("python-lean").has_value());
  EXPECT_TRUE(kinds.OptionsOf("java-run")->slow);
  // Their floors leave room for what small runs need.
  uint64_t floors = 0;
  for (const char* kind : {"javascript-run", "java-run", "java-compile"}) {
    floors += *kinds.OptionsOf(kind)->floor * kinds.OptionsOf(kind)->idle_bytes;
  }
  EXPECT_LT(floors, PoolOptions().memory_budget_bytes * 3 / 4);

  const policy::Language& node = *policy->languages().Find("javascript");
  const policy::Language& java = *policy->languages().Find("java");
  ASSERT_EQ(kinds.FromStart(node).size(), 1u);
  EXPECT_THAT(kinds.FromStart(java), IsEmpty());
  ASSERT_EQ(kinds.OnceUsed().size(), 2u);
  JailKey key = kinds.FromStart(node)[0];
  EXPECT_EQ(key.kind, "javascript-run");
  key.limits.memory_bytes = uint64_t{100} << 20;
  key.limits.cpu_millis = 1500;
  const sandbox::ProgramSpec interpreter = kinds.InterpreterOf(key);
  EXPECT_THAT(interpreter.argv, Contains("--max-old-space-size=60"));
  EXPECT_THAT(interpreter.argv, Contains("--v8-pool-size=2"));
  EXPECT_EQ(interpreter.argv.back(), "--wait");
  EXPECT_THAT(interpreter.env, Contains("HOME=/home/sandbox"));
}

Job JobFor(const std::string& language,
           const std::function<void(v1::RunCodeRequest&)>& change,
           uint32_t cpu_percent = 100) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  EXPECT_TRUE(policy.ok()) << policy.status();
  const policy::Profile& profile = *policy->FindProfile("");
  v1::RunCodeRequest request;
  request.set_code("x");
  change(request);
  policy::Limits limits = profile.limits;
  limits.cpu_millis = limits.cpu_millis * cpu_percent / 100;
  return MakeJob(*policy->languages().Find(language), profile, {limits, limits},
                 std::move(request));
}

TEST(MakeJob, SaysWhatAnInterpreterThatWaitsIsTold) {
  const Job node = JobFor("javascript", [](auto& request) {
    request.add_args("--wait");
    (*request.mutable_env())["ANY"] = "1";
  });
  EXPECT_EQ(node.prestart, "javascript-run");
  EXPECT_THAT(node.prestart_argv, ElementsAre("main.js", "--wait"));
  const Job java = JobFor("java", [](auto& request) {
    request.add_args("a");
    request.add_files()->set_path("util/Text.java");
  });
  EXPECT_EQ(java.prestart, "java-run");
  EXPECT_THAT(java.prestart_argv, ElementsAre("a"));
  EXPECT_EQ(java.compile->prestart, "java-compile");
  EXPECT_THAT(java.compile->prestart_argv,
              ElementsAre("Main.java", "./util/Text.java"));
  EXPECT_EQ(JobFor("bash", [](auto&) {}).prestart, "");
}

TEST(MakeJob, WhatActsAtAStartNeedsAFreshInterpreter) {
  const auto with = [](const std::string& name) {
    return [name](v1::RunCodeRequest& request) {
      (*request.mutable_env())[name] = "1";
    };
  };
  EXPECT_EQ(JobFor("javascript", with("NODE_OPTIONS")).prestart, "");
  EXPECT_EQ(JobFor("javascript", with("TZ")).prestart, "");
  // Its environment is read once; the compiler has none of the request's.
  const Job java = JobFor("java", with("ANY"));
  EXPECT_EQ(java.prestart, "");
  EXPECT_EQ(java.compile->prestart, "java-compile");
}

// Else whoever asks for a hundredth of a processor has interpreters started
// that take a hundred times as long, one after another, while others' are used
// up.
TEST(MakeJob, AFreshInterpreterIsEnoughForASmallShareOfTheProcessor) {
  const auto same = [](v1::RunCodeRequest&) {};
  EXPECT_EQ(JobFor("python", same, 50).zygote, "python-lean");
  EXPECT_EQ(JobFor("python", same, 49).zygote, "");
  EXPECT_EQ(JobFor("javascript", same, 50).prestart, "javascript-run");
  EXPECT_EQ(JobFor("javascript", same, 49).prestart, "");
  EXPECT_EQ(JobFor("java", same, 50).compile->prestart, "java-compile");
  const Job java = JobFor("java", same, 49);
  EXPECT_EQ(java.prestart, "");
  EXPECT_EQ(java.compile->prestart, "");
}

}  // namespace
}  // namespace sandglass::server
