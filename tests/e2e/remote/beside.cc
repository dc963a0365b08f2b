#include "tests/e2e/remote/beside.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/support/slowdown.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// Generous: an answer takes milliseconds, and a flood some megabytes.
constexpr absl::Duration kLongest = absl::Seconds(8);
constexpr int64_t kMostMiB = 128;

// The sockets, as /proc names them, whose own end is this TCP port.
std::set<std::string> SocketsOf(int port) {
  const std::string own = absl::StrFormat(":%04X", port);
  std::set<std::string> sockets;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  while (std::getline(table, line)) {
    // sl local rem state queues timer retransmits uid timeout inode
    std::istringstream words(line);
    std::string word, local, state;
    words >> word >> local >> word >> state;
    for (int i = 0; i < 5; ++i) words >> word;
    std::string inode;
    words >> inode;
    constexpr char kListens[] = "0A";
    if (absl::EndsWith(local, own) && state != kListens) {
      sockets.insert(absl::StrCat("socket:[", inode, "]"));
    }
  }
  return sockets;
}

}  // namespace

Beside::Beside(pid_t daemon, int port, std::function<std::string()> call)
    : daemon_(daemon), port_(port), call_(std::move(call)) {
  connections_ = Connections();
  ForgetPeak();
  before_mib_ = PeakMiB();
  thread_ = std::thread([this] { Work(); });
}

Beside::~Beside() { Stop(); }

void Beside::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Beside::Work() {
  do {
    const absl::Time began = absl::Now();
    const std::string answer = call_();
    slowest_ = std::max(slowest_, absl::Now() - began);
    ++calls_;
    if (answer != "1\n") absl::StrAppend(&wrong_, answer, "; ");
    // Not so often that it has its share of the connections of a minute.
    absl::SleepFor(absl::Milliseconds(100));
  } while (!stop_);
}

size_t Beside::Connections() const {
  const std::set<std::string> sockets = SocketsOf(port_);
  size_t count = 0;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", daemon_, "/fd"), error)) {
    std::error_code gone;
    count += sockets.count(std::filesystem::read_symlink(each, gone).string());
  }
  return count;
}

int64_t Beside::PeakMiB() const {
  std::ifstream file(absl::StrCat("/proc/", daemon_, "/status"));
  std::string word;
  int64_t kib = -1;
  while (kib < 0 && file >> word) {
    if (word == "VmHWM:") file >> kib;
  }
  return kib / 1024;
}

void Beside::ForgetPeak() const {
  WriteFile(absl::StrCat("/proc/", daemon_, "/clear_refs"), "5");
}

void Beside::Check() {
  Stop();
  EXPECT_GE(calls_, 1);
  EXPECT_EQ(wrong_, "");
  EXPECT_LT(slowest_, kLongest * Slowdown()) << "of " << calls_ << " calls";
  EXPECT_LT(PeakMiB(), before_mib_ + kMostMiB);
  ::testing::Test::RecordProperty(
      "slowest_ms", absl::StrCat(absl::ToInt64Milliseconds(slowest_)));
  ::testing::Test::RecordProperty("grew_mib",
                                  absl::StrCat(PeakMiB() - before_mib_));
  EXPECT_TRUE(WaitUntil([this] { return Connections() <= connections_; },
                        absl::Seconds(5)))
      << connections_ << " before, " << Connections() << " after";
  EXPECT_EQ(call_(), "1\n");
}

}  // namespace sandglass::testing
