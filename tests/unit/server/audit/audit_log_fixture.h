#ifndef SANDGLASS_TESTS_UNIT_SERVER_AUDIT_AUDIT_LOG_FIXTURE_H_
#define SANDGLASS_TESTS_UNIT_SERVER_AUDIT_AUDIT_LOG_FIXTURE_H_

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_verify.h"
#include "server/audit/audit_log.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {

inline os::Fd OpenDirectory(const std::string& path) {
  return os::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// An audit log in a directory of its own.
class AuditLogTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<AuditLog>> TryOpen(
      const AuditLogOptions& options = {.fsync = AuditFsync::kOff}) {
    return AuditLog::Open(OpenDirectory(path_), path_, options);
  }
  std::unique_ptr<AuditLog> Open(const AuditLogOptions& options = {
                                     .fsync = AuditFsync::kOff}) {
    auto log = TryOpen(options);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  // A log of `count` lines, closed again.
  void Fill(int count) {
    const auto log = Open();
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(log->Append("run", {{"n", i}}).ok());
    }
  }
  std::string At(uint64_t seq) const {
    return path_ + "/" + policy::AuditFileName(seq);
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  policy::AuditReport Verify() const {
    policy::AuditVerifier verifier;
    for (const std::string& name : Files()) {
      verifier.BeginFile(name);
      verifier.Add(testing::ReadFile(path_ + "/" + name));
      verifier.EndFile();
    }
    return verifier.Finish();
  }
  // The lines' objects.
  std::vector<nlohmann::ordered_json> Entries() const {
    std::vector<nlohmann::ordered_json> entries;
    for (const std::string& name : Files()) {
      const std::string text = testing::ReadFile(path_ + "/" + name);
      for (const absl::string_view line :
           absl::StrSplit(text, '\n', absl::SkipEmpty())) {
        entries.push_back(nlohmann::ordered_json::parse(
            line.begin(), line.end(), nullptr, false));
      }
    }
    return entries;
  }
  static std::vector<std::string> Found(const policy::AuditReport& report) {
    std::vector<std::string> found;
    for (const auto& finding : report.findings) found.push_back(finding.what);
    return found;
  }

  TempDir dir_;
  std::string path_ = dir_.path();
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_AUDIT_AUDIT_LOG_FIXTURE_H_
