// What the daemon tells an interpreter that was started ahead, and which ones
// there are.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/jail/job_frame.h"
#include "server/job/end_marker.h"
#include "server/job/job_builder.h"
#include "server/job/program_input.h"
#include "server/languages/prestart_kinds.h"
#include "tests/unit/server/support.h"

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
  EXPECT_EQ(sandbox::JobFrame(program, std::nullopt),
            std::string("\0\0\0\x16", 4) + words);
  EXPECT_EQ(sandbox::JobFrame(program, "ab"), std::string("\0\0\0\x19"
                                                          "ab\0",
                                                          7) +
                                                  words);
  EXPECT_EQ(sandbox::JobFrame({}, std::nullopt),
            std::string("\0\0\0\x02\x30\0", 6));
  EXPECT_EQ(sandbox::JobFrame({}, ""), std::string("\0\0\0\x03\0\x30\0", 7));
  program.argv = {std::string(70'000, 'x')};
  program.env.clear();
  EXPECT_EQ(sandbox::JobFrame(program, std::nullopt).substr(0, 4),
            std::string("\x00\x01\x11\x73", 4));
}

TEST(EndSecret, DiffersEachTime) {
  const std::string secret = sandbox::MakeEndSecret();
  EXPECT_EQ(secret.size(), 32u);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(secret, sandbox::MakeEndSecret());
}

// What comes out when `output` goes in by pieces of `piece` bytes.
struct Told {
  std::string output;
  std::optional<int> exit_code;
};
Told Listen(std::string_view output, size_t piece) {
  EndMarker note(sandbox::EndWord("5ec2e7"));
  Told told;
  for (size_t at = 0; at < output.size(); at += piece) {
    told.output += note.Feed(output.substr(at, piece));
  }
  told.output += note.Rest();
  told.exit_code = note.exit_code();
  return told;
}

TEST(EndMarker, IsRemovedWhereverItIsAndHoweverItIsCut) {
  const std::string word = sandbox::EndWord("5ec2e7");
  const std::string nul(1, '\0');
  const std::string big(100'000, 'x');
  for (const size_t piece : {1, 2, 7, 26, 65536, 1'000'000}) {
    for (const std::string& before :
         {std::string(), std::string("text\n"), nul, nul + nul, word, big}) {
      for (const std::string& after : {std::string(), std::string("late")}) {
        for (const int code : {0, 7, 255}) {
          const Told told =
              Listen(absl::StrCat(before, word, code, "\n", after), piece);
          EXPECT_EQ(told.output, before + after) << piece;
          EXPECT_EQ(told.exit_code, code) << piece;
        }
      }
    }
  }
}

TEST(EndMarker, SimilarTextIsOutput) {
  const std::string word = sandbox::EndWord("5ec2e7");
  for (const std::string& text :
       {word, word + "1", word + "\n", word + "256\n", word + "1000\n",
        word + "-1\n", word + " 1\n", word + "1 \n", word.substr(1) + "1\n",
        sandbox::EndWord("5ec2e8") + "1\n", sandbox::EndWord("") + "1\n",
        std::string(70'000, '\0')}) {
    for (const size_t piece : {1, 5, 100'000}) {
      const Told told = Listen(text, piece);
      EXPECT_EQ(told.output, text);
      EXPECT_EQ(told.exit_code, std::nullopt);
    }
  }
}

TEST(EndMarker, OnlyItsBeginningIsHeldBack) {
  EndMarker note(sandbox::EndWord("5ec2e7"));
  EXPECT_EQ(note.Feed("sandglass: over 5ec2e7"), "sandglass: over 5ec2e7");
  EXPECT_EQ(note.Feed(std::string_view("a\0", 2)), "a");
  EXPECT_EQ(note.Feed("b"), std::string_view("\0b", 2));
  EXPECT_EQ(note.Rest(), "");
}

TEST(EndMarker, OnlyTheFirstMarkerCounts) {
  const std::string word = sandbox::EndWord("5ec2e7");
  const Told told = Listen(word + "1\n" + word + "2\n", 1'000);
  EXPECT_EQ(told.output, word + "2\n");
  EXPECT_EQ(told.exit_code, 1);
}

TEST(EndMarker, WithoutAWordAllIsOutput) {
  EndMarker note;
  const std::string text = std::string(1, '\0') + "sandglass: over  0\n";
  EXPECT_EQ(note.Feed(text), text);
  EXPECT_EQ(note.exit_code(), std::nullopt);
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

TEST(ProgramInput, AProgramThatReadsNoMoreIsLeftAlone) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  ProgramInput input;
  input.Open(std::move(pipe.write), "head", "data");
  pipe.Close();
  input.Write();
  EXPECT_EQ(input.fd(), -1);
}

TEST(LimitEnvironment, TellsRuntimesWhatTheJailMayUse) {
  policy::Limits limits;
  limits.memory_bytes = uint64_t{256} << 20;
  limits.cpu_millis = 1500;
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(LimitEnvironment(limits),
              ElementsAre(Pair("OMP_NUM_THREADS", "2"),
                          Pair("OPENBLAS_NUM_THREADS", "2"),
                          Pair("MKL_NUM_THREADS", "2"), Pair("GOMAXPROCS", "2"),
                          Pair("GOMEMLIMIT", "230MiB"),
                          Pair("NODE_OPTIONS", "--max-old-space-size=153"),
                          Pair("DOTNET_PROCESSOR_COUNT", "2"),
                          Pair("DOTNET_GCHeapHardLimit", "c000000")));
}

TEST(PrestartKinds, AreThoseOfTheShippedLanguages) {
  absl::StatusOr<PolicySet> loaded =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  LivePolicy live(*std::move(loaded));
  const std::shared_ptr<const PolicySet> policy = live.Get();
  const PrestartKinds kinds(live);
  EXPECT_TRUE(kinds.Has("javascript-run"));
  EXPECT_TRUE(kinds.Has("java-run"));
  EXPECT_TRUE(kinds.Has("java-compile"));
  EXPECT_FALSE(kinds.Has("exec"));
  EXPECT_FALSE(kinds.Has("javascript-compile"));
  EXPECT_FALSE(kinds.Options().contains("python-lean"));
  EXPECT_TRUE(kinds.Options().at("java-run").slow);
  // Their floors leave room for what small runs need.
  uint64_t floors = 0;
  for (const char* kind :
       {"javascript-run", "javascript-analyse", "java-run", "java-compile"}) {
    const KindOptions options = kinds.Options().at(kind);
    floors += *options.floor * options.idle_bytes;
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
  const sandbox::ProgramSpec interpreter = *kinds.InterpreterOf(key);
  EXPECT_THAT(interpreter.argv, Contains("--max-old-space-size=60"));
  EXPECT_THAT(interpreter.argv, Contains("--v8-pool-size=2"));
  EXPECT_EQ(interpreter.argv.back(), "--wait");
  EXPECT_THAT(interpreter.env, Contains("HOME=/home/sandbox"));
  // None of a profile that has been replaced meanwhile.
  key.profile = "default@0123456789abcdef";
  EXPECT_TRUE(absl::IsNotFound(kinds.InterpreterOf(key).status()));
}

// The shipped languages, with a default profile of these rules.
PolicySet WithRules(std::vector<policy::Rule> rules,
                    std::vector<std::string> languages = {}) {
  absl::StatusOr<PolicySet> shipped =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  EXPECT_TRUE(shipped.ok()) << shipped.status();
  policy::Profile profile = *shipped->FindProfile("");
  profile.rules = std::move(rules);
  profile.languages = std::move(languages);
  policy::Profile plain = *shipped->FindProfile("");
  plain.name = "plain";
  absl::StatusOr<PolicySet> set =
      PolicySet::Create(shipped->languages(), {profile, plain});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

policy::Rule NoEval(std::vector<std::string> languages) {
  return {"no-eval",
          policy::Severity::kDeny,
          "",
          std::move(languages),
          policy::RuleKind::kCalls,
          {"eval"}};
}

TEST(PrestartKinds, AnalysersWaitWhereARuleNeedsThem) {
  LivePolicy live(WithRules({NoEval({"javascript"})}));
  const std::shared_ptr<const PolicySet> policy = live.Get();
  const policy::Language& node = *policy->languages().Find("javascript");
  const PrestartKinds kinds(live);
  EXPECT_TRUE(kinds.Has("javascript-analyse"));
  EXPECT_FALSE(kinds.Has("python-analyse"));
  EXPECT_TRUE(kinds.Options().at("javascript-analyse").slow);
  const std::vector<JailKey> keys = kinds.FromStart(node);
  ASSERT_EQ(keys.size(), 2u);
  ASSERT_EQ(keys[0].kind, "javascript-analyse");
  const sandbox::ProgramSpec analyser = *kinds.InterpreterOf(keys[0]);
  EXPECT_EQ(analyser.argv.front(), "/usr/bin/node");
  EXPECT_THAT(analyser.argv, Contains("--expose-internals"));
  EXPECT_EQ(analyser.argv.back(), "--wait");
  EXPECT_THAT(analyser.env, Contains("HOME=/home/sandbox"));
  // As rules come and go.
  for (const auto& [set, wait] : std::vector<std::pair<PolicySet, bool>>{
           {WithRules({}), false},
           {WithRules({NoEval({"ruby"})}), false},
           {WithRules({NoEval({})}, {"ruby"}), false},
           {WithRules({{"hidden",
                        policy::Severity::kDeny,
                        "",
                        {},
                        policy::RuleKind::kHiddenText,
                        {}}}),
            false},
           {WithRules({NoEval({})}, {"ruby", "javascript"}), true}}) {
    live.Set(std::make_shared<const PolicySet>(set));
    EXPECT_EQ(kinds.FromStart(node).size(), wait ? 2u : 1u);
    EXPECT_EQ(kinds.OnceUsed().size(), 2u);  // Java's
  }
}

TEST(MakeLookJob, NamesTheWaitingJail) {
  LivePolicy live(WithRules({NoEval({"javascript"})}));
  const std::shared_ptr<const PolicySet> policy = live.Get();
  const policy::Language& node = *policy->languages().Find("javascript");
  v1::RunCodeRequest request;
  request.set_code("eval");
  // What acts at the program's start is no matter to who looks.
  (*request.mutable_env())["NODE_OPTIONS"] = "--no-warnings";
  request.add_args("argument");
  request.add_files()->set_path("lib.mjs");
  policy::Limits small = policy->FindProfile("")->limits;
  small.memory_bytes /= 2;
  small.cpu_millis /= 4;
  const Job job = MakeJob(node, policy->FindProfile(""), {small, small},
                          std::move(request));
  EXPECT_EQ(job.prestart, "");
  const Job look = MakeLookJob(job);
  EXPECT_EQ(look.prestart, "javascript-analyse");
  EXPECT_TRUE(look.prestart_tells_end);
  EXPECT_THAT(look.prestart_argv, ElementsAre("main.js", "./lib.mjs"));
  EXPECT_EQ((JailKey{look.prestart, look.template_name, look.limits}),
            PrestartKinds(live).FromStart(node)[0]);
  // A profile that isn't in force is tried in the jails of one that is.
  job.inspection->jails = policy->FindProfile("plain");
  EXPECT_EQ(MakeLookJob(job).prestart, "");
}

Job JobFor(const std::string& language,
           const std::function<void(v1::RunCodeRequest&)>& change,
           uint32_t cpu_percent = 100) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  EXPECT_TRUE(policy.ok()) << policy.status();
  const policy::SharedProfile profile = policy->FindProfile("");
  v1::RunCodeRequest request;
  request.set_code("x");
  change(request);
  policy::Limits limits = profile->limits;
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
  EXPECT_TRUE(node.prestart_tells_end);
  const Job java = JobFor("java", [](auto& request) {
    request.add_args("a");
    request.add_files()->set_path("util/Text.java");
  });
  EXPECT_EQ(java.prestart, "java-run");
  EXPECT_FALSE(java.prestart_tells_end);
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
