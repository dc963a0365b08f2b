// doctor: what answers mean, how it is told, and the command against a daemon
// of the test's own.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_codes.h"
#include "client/doctor/attempts.h"
#include "client/doctor/judge.h"
#include "client/doctor/report.h"
#include "client/doctor/starters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Attempt> Inside() {
  std::vector<Attempt> all;
  for (const auto part : {SelfAttempts(), FileAttempts(), SocketAttempts(),
                          NetworkAttempts(), CallAttempts()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// What the probe prints in a good jail, but for the answers named here; an
// empty one is left out.
std::string GoodLines(const std::vector<Attempt>& attempts,
                      const std::map<std::string, std::string>& others = {}) {
  std::string text;
  int lines = 0;
  for (const Attempt& attempt : attempts) {
    const auto other = others.find(attempt.name);
    if (other != others.end() && other->second.empty()) continue;
    const std::vector<std::string> expected =
        absl::StrSplit(attempt.expected, '|');
    absl::StrAppend(&text, attempt.name, "=",
                    other != others.end() ? other->second : expected.front(),
                    "\n");
    ++lines;
  }
  return absl::StrCat(text, "done=", lines, "\n");
}

State StateOf(const std::vector<Judgement>& judgements, const char* id) {
  for (const Judgement& each : judgements) {
    if (each.protection == id) return each.state;
  }
  ADD_FAILURE() << "nothing about " << id;
  return State::kNotChecked;
}

v1::RunCodeResponse Printed(const std::string& text) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data(text);
  return response;
}

TEST(DoctorTablesTest, EveryAttemptBelongsToAProtection) {
  std::set<std::string> ids;
  for (const Protection& protection : Protections()) {
    EXPECT_TRUE(ids.insert(protection.id).second) << protection.id;
  }
  std::set<std::string> names;
  for (const Attempt& attempt : Inside()) {
    EXPECT_TRUE(names.insert(attempt.name).second) << attempt.name;
    if (attempt.protection == std::string(kWork)) continue;
    EXPECT_EQ(ids.count(attempt.protection), 1u) << attempt.name;
  }
}

TEST(DoctorTablesTest, SectionsOfTheDocumentAreThere) {
  const std::string document = testing::ReadFile(SANDGLASS_SECURITY_DOC);
  std::set<std::string> sections;
  for (const absl::string_view line : absl::StrSplit(document, '\n')) {
    if (line.substr(0, 3) != "## ") continue;
    std::string anchor(line.substr(3));
    for (char& c : anchor) c = c == ' ' ? '-' : static_cast<char>(tolower(c));
    sections.insert(anchor);
  }
  for (const Protection& protection : Protections()) {
    EXPECT_TRUE(sections.count(protection.section)) << protection.section;
  }
}

TEST(DoctorTablesTest, TheProbeIsAProgramAndFitsARequest) {
  EXPECT_EQ(ProbeImage().substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_LT(ProbeImage().size(), size_t{4} << 20);
}

TEST(DoctorJudgeTest, ExactAnswersAreInForce) {
  const ProbeReply reply = ReplyOf(Printed(GoodLines(Inside())));
  EXPECT_EQ(reply.problem, "");
  for (const Judgement& each : JudgeAnswers(Inside(), reply)) {
    EXPECT_EQ(each.state, State::kInForce) << each.protection << each.detail;
  }
}

TEST(DoctorJudgeTest, AnotherAnswerIsMissingAndNamed) {
  for (const char* answer : {"OK", "ENOSYS", "EPERM ", "eperm", "EPERM2"}) {
    const std::vector<Judgement> judgements = JudgeAnswers(
        Inside(), ReplyOf(Printed(GoodLines(Inside(), {{"keyctl", answer}}))));
    EXPECT_EQ(StateOf(judgements, "no-keyrings"), State::kMissing) << answer;
    EXPECT_EQ(StateOf(judgements, "no-tracing"), State::kInForce);
  }
}

TEST(DoctorJudgeTest, VariablesOfTheOperatorsOwnAreNoLeak) {
  const std::string lines =
      GoodLines(Inside(), {{"host-environment", "DB_PASSWORD,MIRROR"}});
  ProbeReply reply = ParseProbe(lines);
  LeaveOut({"MIRROR"}, reply);
  EXPECT_EQ(reply.answers["host-environment"], "DB_PASSWORD");
  LeaveOut({"OTHER", "DB_PASSWORD"}, reply);
  EXPECT_EQ(reply.answers["host-environment"], "none");
}

TEST(DoctorJudgeTest, NoAnswerIsNoPass) {
  const std::vector<Judgement> judgements = JudgeAnswers(
      Inside(), ReplyOf(Printed(GoodLines(Inside(), {{"bpf", ""}}))));
  EXPECT_EQ(StateOf(judgements, "no-bpf-perf"), State::kNotChecked);
  EXPECT_EQ(StateOf(judgements, "no-keyrings"), State::kInForce);
}

// Each output, and what it says of a protection whose answer is right.
TEST(DoctorJudgeTest, GarbageIsNoPass) {
  const std::string good = GoodLines(Inside());
  for (const std::string& output :
       {std::string(), std::string("\0\xff\x1b[2J", 6), good + "more=OK\n",
        good.substr(0, good.size() / 2), "keyctl=EPERM\n" + good, good + good,
        std::string("Segmentation fault\n") + good}) {
    const ProbeReply reply = ReplyOf(Printed(output));
    EXPECT_NE(reply.problem, "") << output;
    for (const Judgement& each : JudgeAnswers(Inside(), reply)) {
      EXPECT_NE(each.state, State::kInForce) << each.protection;
    }
  }
}

TEST(DoctorJudgeTest, ARunThatEndedBadlyIsNoPassButAMissStays) {
  v1::RunCodeResponse response =
      Printed(GoodLines(Inside(), {{"keyctl", "OK"}}));
  response.set_outcome(v1::OUTCOME_SIGNALED);
  const std::vector<Judgement> judgements =
      JudgeAnswers(Inside(), ReplyOf(response));
  EXPECT_EQ(StateOf(judgements, "no-keyrings"), State::kMissing);
  EXPECT_EQ(StateOf(judgements, "no-tracing"), State::kNotChecked);
}

TEST(DoctorJudgeTest, AProbeThatCannotWorkProvesNothing) {
  const std::vector<Judgement> judgements = JudgeAnswers(
      Inside(),
      ReplyOf(Printed(GoodLines(Inside(), {{"write-workspace", "EACCES"}}))));
  EXPECT_EQ(StateOf(judgements, "no-tracing"), State::kNotChecked);
}

ProbeReply Spaces(int first) {
  ProbeReply reply;
  for (const char* name :
       {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    reply.answers[absl::StrCat("namespace-", name)] = absl::StrCat(first++);
  }
  return reply;
}

TEST(DoctorJudgeTest, NamespacesMustDiffer) {
  EXPECT_EQ(JudgeNamespaces(Spaces(10), Spaces(20), {}).state, State::kInForce);
  ProbeReply same = Spaces(20);
  same.answers["namespace-ipc"] = Spaces(10).answers["namespace-ipc"];
  const Judgement shared = JudgeNamespaces(Spaces(10), same, {});
  EXPECT_EQ(shared.state, State::kMissing);
  EXPECT_EQ(shared.detail, "two runs have the same ipc namespace");
  EXPECT_EQ(JudgeNamespaces(Spaces(10), Spaces(20), Spaces(20).answers).state,
            State::kMissing);
  ProbeReply unknown = Spaces(20);
  unknown.answers["namespace-net"] = "?";
  EXPECT_EQ(JudgeNamespaces(Spaces(10), unknown, {}).state, State::kNotChecked);
  EXPECT_FALSE(HostNamespaces().empty());
}

TEST(DoctorJudgeTest, ALimitMustEndTheRunByName) {
  const LimitCheck memory = {"memory-limit", v1::OUTCOME_MEMORY_LIMIT,
                             v1::LIMIT_KIND_MEMORY};
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_MEMORY_LIMIT);
  EXPECT_EQ(JudgeLimit(memory, response).state, State::kNotChecked);
  response.mutable_evidence()->mutable_limit()->set_kind(v1::LIMIT_KIND_MEMORY);
  EXPECT_EQ(JudgeLimit(memory, response).state, State::kInForce);
  // The probe got all that it asked for.
  EXPECT_EQ(JudgeLimit(memory, ResponseWith(v1::OUTCOME_OK)).state,
            State::kMissing);
  // It never ran.
  response = ResponseWith(v1::OUTCOME_NONZERO_EXIT);
  response.set_exit_code(127);
  EXPECT_EQ(JudgeLimit(memory, response).state, State::kNotChecked);
  EXPECT_EQ(JudgeLimit(memory, ResponseWith(v1::OUTCOME_JAIL_FAILED)).state,
            State::kNotChecked);
}

TEST(DoctorJudgeTest, EvidenceMustBeWhole) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(JudgeEvidence(response).state, State::kMissing);
  v1::Evidence& evidence = *response.mutable_evidence();
  evidence.set_rule("wall-time");
  evidence.set_explanation("it took long");
  evidence.mutable_counters();
  evidence.mutable_limit()->set_configured(1);
  evidence.set_killed_by(v1::KILLER_DAEMON);
  EXPECT_EQ(JudgeEvidence(response).state, State::kInForce);
}

Examination GoodExamination() {
  Examination examination;
  examination.address = "unix:/x";
  examination.profile = "default";
  examination.info = FakeInfo();
  const Way way = {"python", "python", "exec", true};
  examination.ways = {way};
  for (const Protection& protection : Protections()) {
    examination.Add(way, Judgement{protection.id, State::kInForce, ""});
  }
  return examination;
}

TEST(DoctorReportTest, AllInForceExitsWithZero) {
  const Examination examination = GoodExamination();
  EXPECT_EQ(DoctorExitCode(examination), kExitOk);
  const std::string text = DoctorText(examination, Detail::kShort);
  EXPECT_THAT(text, HasSubstr(absl::StrCat(Protections().size() + 1,
                                           " protections in force in 1 ways of "
                                           "starting a program, 0 missing, 0 "
                                           "not checked")));
  EXPECT_THAT(text, Not(HasSubstr("What is missing")));
}

TEST(DoctorReportTest, OneMissInOneWayDecides) {
  Examination examination = GoodExamination();
  const Way other = {"ruby-lean", "ruby", "ruby-lean"};
  examination.ways.push_back(other);
  examination.Add(other, Judgement{"no-keyrings", State::kMissing,
                                   "keyctl=OK instead of EPERM"});
  examination.Add(other, Judgement{"no-tracing", State::kNotChecked, "busy"});
  EXPECT_EQ(DoctorExitCode(examination), kExitProtectionMissing);
  const std::string text = DoctorText(examination, Detail::kShort);
  EXPECT_THAT(text, HasSubstr("  MISSING      no keyrings                  "
                              "ruby-lean: keyctl=OK instead of EPERM\n"));
  EXPECT_THAT(text, HasSubstr("  not checked  no tracing                   "
                              "ruby-lean: busy\n"));
  EXPECT_THAT(text, HasSubstr("What is missing\n  no keyrings: ruby-lean: "));
  EXPECT_THAT(text, HasSubstr("See docs/security.md#the-layers."));
  EXPECT_THAT(text, HasSubstr(", 1 missing, 1 not checked"));
}

TEST(DoctorReportTest, NothingAskedIsNotChecked) {
  Examination examination = GoodExamination();
  examination.found.erase("evidence");
  EXPECT_EQ(DoctorExitCode(examination), kExitNotChecked);
  examination = GoodExamination();
  examination.info.clear_isolation();
  EXPECT_EQ(DoctorExitCode(examination), kExitNotChecked);
}

TEST(DoctorReportTest, AnExcusedLayerIsMissingAndAnOptionalOneIsNot) {
  Examination examination = GoodExamination();
  v1::IsolationLayer& layer = *examination.info.mutable_isolation(0);
  layer.set_state(v1::LAYER_STATE_EXCUSED);
  EXPECT_EQ(DoctorExitCode(examination), kExitProtectionMissing);
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              HasSubstr("MISSING  seccomp  excused by the daemon's "
                        "configuration: 231 calls allowed"));
  layer.set_state(v1::LAYER_STATE_NOT_AVAILABLE);
  EXPECT_EQ(DoctorExitCode(examination), kExitProtectionMissing);
  layer.set_required(false);
  EXPECT_EQ(DoctorExitCode(examination), kExitOk);
  layer.set_state(v1::LAYER_STATE_EXCUSED);
  EXPECT_EQ(DoctorExitCode(examination), kExitOk);
  layer.set_state(static_cast<v1::LayerState>(9));
  EXPECT_EQ(DoctorExitCode(examination), kExitNotChecked);
}

TEST(DoctorReportTest, WhatALayerLacksIsSaidOfTheLayer) {
  Examination examination = GoodExamination();
  v1::IsolationLayer& layer = *examination.info.add_isolation();
  // A mere ulimit, which nobody need excuse.
  layer.set_name("core-limit");
  layer.set_state(v1::LAYER_STATE_NOT_AVAILABLE);
  layer.set_detail("the hard limit is 0; start the daemon with 1");
  EXPECT_THAT(WhyLacking(examination.info, "core-limit"),
              HasSubstr("without the layer core-limit: the hard limit is 0"));
  EXPECT_EQ(WhyLacking(examination.info, "raise-rlimit"), "");
  EXPECT_EQ(DoctorExitCode(examination), kExitOk);
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              HasSubstr("not here  core-limit  the hard limit is 0; start"));

  layer.set_name("pids-limit");
  layer.set_required(true);
  layer.set_state(v1::LAYER_STATE_EXCUSED);
  layer.set_detail("no controller");
  examination.found["process-limit"] = {
      {"python", Judgement{"process-limit", State::kMissing,
                           WhyLacking(examination.info, "process-limit")}}};
  EXPECT_EQ(DoctorExitCode(examination), kExitProtectionMissing);
  const std::string text = DoctorText(examination, Detail::kShort);
  EXPECT_THAT(text,
              HasSubstr("To do: a control group with the controller pids: "
                        "Delegate=yes in the unit, or cgroup_parent; "
                        "then start the daemon without"));
  EXPECT_THAT(text, Not(HasSubstr("Nothing is there against fork bombs")));
}

TEST(DoctorReportTest, WhatTheMachineCouldGainIsOnALineEach) {
  Examination examination = GoodExamination();
  const auto add = [&](const char* name, v1::LayerState state,
                       const char* detail) {
    v1::IsolationLayer& layer = *examination.info.add_isolation();
    layer.set_name(name);
    layer.set_state(state);
    layer.set_detail(detail);
  };
  add("landlock", v1::LAYER_STATE_IN_FORCE, "ABI 2: file system rules");
  add("landlock-scopes", v1::LAYER_STATE_NOT_AVAILABLE, "needs ABI 6");
  add("module-search", v1::LAYER_STATE_NOT_AVAILABLE, "before Linux 6.14");
  add("core-limit", v1::LAYER_STATE_NOT_AVAILABLE, "start it with LimitCORE=1");
  add("disk-io-cap", v1::LAYER_STATE_IN_FORCE, "cgroup v1: reads");
  const std::string text = DoctorText(examination, Detail::kShort);
  EXPECT_THAT(
      text,
      HasSubstr("\nWhat this machine could still gain\n"
                "  landlock         Linux 6.10 or newer, whose Landlock also "
                "knows truncation (6.2) and device ioctls\n"
                "  landlock-scopes  Linux 6.12 or newer with Landlock (here: "
                "6.1.0-28-amd64)\n"
                "  module-search    Linux 6.14 or newer; or sysctl "
                "kernel.modprobe=, which ends the loading of modules on demand "
                "(here: 6.1.0-28-amd64)\n"
                "  core-limit       start it with LimitCORE=1\n"
                "  disk-io-cap      cgroup v2 alone "
                "(systemd.unified_cgroup_hierarchy=1), which also caps writes "
                "through the page cache\n\n"));
  const nlohmann::json json =
      nlohmann::json::parse(DoctorJson(examination), nullptr, false);
  EXPECT_EQ(json["gains"].size(), 5U);
  EXPECT_EQ(json["gains"][3],
            (nlohmann::json{{"what", "core-limit"},
                            {"how", "start it with LimitCORE=1"}}));
  // Where all is there, nothing is said.
  examination.info.mutable_isolation(1)->set_detail("ABI 7: file system rules");
  while (examination.info.isolation_size() > 2) {
    examination.info.mutable_isolation()->RemoveLast();
  }
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              Not(HasSubstr("could still gain")));
}

TEST(DoctorReportTest, NoticesOfTheDaemonAreShownAndCountAsNothing) {
  Examination examination = GoodExamination();
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              Not(HasSubstr("Not as it should be")));
  examination.info.mutable_policy()->set_reload_error("bad.json: \x1b[2J");
  v1::PoolKind& kind = *examination.info.add_pool();
  kind.set_kind("python-science");
  kind.set_profile("default");
  kind.set_target(2);
  kind.set_fill_failures(29);
  const std::string text = DoctorText(examination, Detail::kShort);
  EXPECT_THAT(text, HasSubstr("Not as it should be\n  the last reload of the "
                              "policy failed, so the one before is in force: "
                              "bad.json: \\x1b[2J\n"));
  EXPECT_THAT(text, HasSubstr("none of 2 jails of the kind python-science "
                              "(profile default) is ready, and 29 could not"));
  EXPECT_EQ(nlohmann::json::parse(DoctorJson(examination))["notices"].size(),
            2U);
  EXPECT_EQ(DoctorExitCode(examination), kExitOk);
  kind.set_idle(1);
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              Not(HasSubstr("python-science")));
}

TEST(DoctorReportTest, VerboseShowsAttemptsAndWhereTheyDiffer) {
  Examination examination = GoodExamination();
  examination.log = {{"no-keyrings", "keyctl", "EPERM", "bash"},
                     {"no-keyrings", "keyctl", "OK\x1b[2J", "ruby"},
                     {"no-keyrings", "add_key", "EPERM", "bash"}};
  const std::string text = DoctorText(examination, Detail::kAttempts);
  EXPECT_THAT(text, HasSubstr("keyctl: EPERM in bash; OK\\x1b[2J in ruby\n"));
  EXPECT_THAT(text, HasSubstr("add_key: EPERM\n"));
  EXPECT_THAT(DoctorText(examination, Detail::kShort),
              Not(HasSubstr("add_key")));
}

TEST(DoctorReportTest, JsonIsWholeWhateverTheDaemonSends) {
  Examination examination = GoodExamination();
  examination.skipped = {{"bash", "bad \xff bytes\x1b"}};
  const std::string text = DoctorJson(examination);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["missing"], 0);
  EXPECT_EQ(json["protections"].size(), Protections().size());
  EXPECT_EQ(json["protections"][0]["state"], "in_force");
  EXPECT_EQ(json["layers"][0]["state"], "in_force");
}

}  // namespace
}  // namespace sandglass::client
