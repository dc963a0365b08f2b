// What a verdict measured and says, beside which it is: the bounds of what is
// full, whose measurement is told, words for numbers.

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/verdict/verdict.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

int WaitStatus(int code) { return code << 8; }

TEST(Decide, FullFileSystemsOfOneKindAreToldWithTheHighestMeasurement) {
  const Verdict verdict =
      Decide({.wait_status = 0,
              .filesystems = {{LimitKind::kTmpBytes, 100, 50, 10, 0},
                              {LimitKind::kWorkspaceBytes, 100, 50, 30, 0}}},
             {.max_files = 20});
  ASSERT_EQ(verdict.limits_touched.size(), 1u);
  EXPECT_EQ(verdict.limits_touched[0],
            (LimitReading{LimitKind::kFileCount, 20, 30}));
}

TEST(Decide, AFullFileSystemHasItsOwnLimitAndSentence) {
  const Limits limits{
      .tmp_bytes = 2048, .workspace_bytes = 4096, .max_files = 20};
  const auto failed_with = [&](const FilesystemFill& fill) {
    return Decide({.wait_status = WaitStatus(1), .filesystems = {fill}},
                  limits);
  };
  Verdict verdict = failed_with({LimitKind::kTmpBytes, 2048, 0, 20, 5});
  EXPECT_EQ(verdict.limit, (LimitReading{LimitKind::kTmpBytes, 2048, 2048}));
  EXPECT_THAT(verdict.explanation,
              HasSubstr("with /tmp full: all of its 2 KiB are used."));
  verdict = failed_with({LimitKind::kWorkspaceBytes, 4096, 0, 20, 5});
  EXPECT_EQ(verdict.limit,
            (LimitReading{LimitKind::kWorkspaceBytes, 4096, 4096}));
  EXPECT_THAT(verdict.explanation,
              HasSubstr("with /workspace full: all of its 4 KiB are used."));
  verdict = failed_with({LimitKind::kWorkspaceBytes, 4096, 9, 20, 0});
  EXPECT_EQ(verdict.limit, (LimitReading{LimitKind::kFileCount, 20, 20}));
  EXPECT_THAT(verdict.explanation,
              HasSubstr("no room for another file in /workspace: all 20 are "
                        "used."));
}

TEST(Decide, AFileSystemIsFullOfWhatHasABound) {
  // Its bytes have none, its files have; and the smallest bound there is.
  for (const FilesystemFill& fill :
       {FilesystemFill{LimitKind::kTmpBytes, 0, 0, 10, 0},
        FilesystemFill{LimitKind::kTmpBytes, 0, 0, 1, 0},
        FilesystemFill{LimitKind::kTmpBytes, 1, 0, 10, 5}}) {
    EXPECT_EQ(
        Decide({.wait_status = WaitStatus(1), .filesystems = {fill}}, Limits())
            .outcome,
        Outcome::kDiskLimit)
        << fill.total_bytes << " " << fill.total_inodes;
  }
  // What had no bound before was not full before.
  for (const FilesystemFill& fill :
       {FilesystemFill{LimitKind::kTmpBytes, 100, 0, 10, 5},
        FilesystemFill{LimitKind::kTmpBytes, 100, 50, 10, 0}}) {
    EXPECT_EQ(
        Decide({.wait_status = WaitStatus(1),
                .filesystems = {fill},
                .filesystems_before = {{.bytes_kind = LimitKind::kTmpBytes}}},
               Limits())
            .outcome,
        Outcome::kDiskLimit)
        << fill.free_inodes;
  }
}

TEST(Decide, AGoodEndNamesTheLimitsThatWereMet) {
  const Verdict verdict =
      Decide({.wait_status = 0,
              .counters = {.memory_limit_hits = 1, .cpu_throttled_periods = 1},
              .wall_time = absl::Milliseconds(12)},
             Limits());
  EXPECT_EQ(verdict.explanation,
            "The program exited with 0 after 12 ms; on its way it met these "
            "limits: memory_bytes, cpu_millis.");
}

TEST(Decide, RefusedProcessesAreCounted) {
  const auto explained = [](uint64_t hits) {
    return Decide({.wait_status = WaitStatus(1),
                   .counters = {.pids_limit_hits = hits}},
                  Limits())
        .explanation;
  };
  EXPECT_THAT(explained(1), HasSubstr("another process once: "));
  EXPECT_THAT(explained(2), HasSubstr("another process 2 times: "));
}

TEST(FindExcess, WhatIsAllowedIsNone) {
  EXPECT_FALSE(FindExcess({.netlink_bytes = kMaxNetlinkBytes,
                           .backlog_bytes = kMaxBacklogBytes,
                           .lock_bytes = kMaxRecordLockBytes}));
  const auto over = FindExcess({.netlink_bytes = kMaxNetlinkBytes,
                                .backlog_bytes = kMaxBacklogBytes + 1});
  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->reason, KillReason::kBacklog);
  EXPECT_EQ(over->bytes, kMaxBacklogBytes + 1);
}

TEST(Decide, AKillHasItsOwnMeasurementOrTheTime) {
  const auto measured = [](const Kill& kill) {
    return Decide({.wait_status = SIGKILL, .kill = kill}, Limits())
        .limit->measured;
  };
  EXPECT_EQ(measured({KillReason::kWallTime, absl::Nanoseconds(7), 1}), 1u);
  EXPECT_EQ(measured({KillReason::kWallTime, absl::Nanoseconds(7), 0}), 7u);
  EXPECT_EQ(measured({KillReason::kWallTime, absl::ZeroDuration(), 0}), 0u);
  EXPECT_EQ(measured({KillReason::kWallTime, -absl::Seconds(1), 0}), 0u);
}

}  // namespace
}  // namespace sandglass::policy
