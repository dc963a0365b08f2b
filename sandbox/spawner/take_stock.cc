// The part of the spawner that reports what its yard has.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/spawner/spawner.h"
#include "sandbox/wire/yard_stock.h"

namespace sandglass::sandbox {
namespace {

// The spawner's own group, besides those of jails (MakeYardCgroups).
constexpr absl::string_view kSpawnerGroup = "spawner";

// How many groups are swept in one go: a request that comes meanwhile then
// waits for less time than making a jail takes.
constexpr size_t kMaxSwept = 16;

// Whether MakeSpareGroup makes names of this form.
bool IsJailGroup(absl::string_view name) {
  return absl::ConsumePrefix(&name, "jail-") && !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char each) {
           return absl::ascii_isdigit(static_cast<unsigned char>(each));
         });
}

// Counts the matching entries of a directory; nullopt when it can't be read.
// Closes the descriptor.
std::optional<uint32_t> CountEntries(
    os::Fd directory, const std::function<bool(const dirent&)>& counts) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      ::fdopendir(directory.get()), ::closedir);
  if (entries == nullptr) return std::nullopt;
  (void)directory.release();
  uint32_t count = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] != '.' && counts(*entry)) ++count;
  }
  return count;
}

os::Fd OpenDirectory(int parent, const char* name) {
  return os::Fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool IsNumber(const dirent& entry) {
  return absl::ascii_isdigit(static_cast<unsigned char>(entry.d_name[0]));
}

// Counts the mounts that the spawner sees; each has a line.
std::optional<uint32_t> CountMounts() {
  const os::Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[16 * 1024];
  uint32_t lines = 0;
  ssize_t size = 0;
  while ((size = ::read(file.get(), text, sizeof(text))) > 0) {
    lines += static_cast<uint32_t>(std::count(text, text + size, '\n'));
  }
  return size < 0 ? std::nullopt : std::optional(lines);
}

}  // namespace

std::vector<absl::string_view> Spawner::KnownGroups() const {
  std::vector<absl::string_view> known;
  for (const auto& [init, jail] : live_) known.push_back(jail.cgroup.name());
  for (const DeadJail& jail : dead_) known.push_back(jail.cgroup.name());
  for (const SpareGroup& spare : spare_groups_) {
    known.push_back(spare.cgroup.name());
  }
  std::sort(known.begin(), known.end());
  return known;
}

void Spawner::CountGroups() {
  const std::vector<absl::string_view> known = KnownGroups();
  uint32_t strays = 0;
  // A new descriptor, because the position in a directory is shared by all
  // copies.
  const std::optional<uint32_t> groups = CountEntries(
      OpenDirectory(roots_.v2.get(), "."), [&](const dirent& entry) {
        if (entry.d_type != DT_DIR || entry.d_name == kSpawnerGroup) {
          return false;
        }
        if (!std::binary_search(known.begin(), known.end(),
                                absl::string_view(entry.d_name))) {
          ++strays;
        }
        return true;
      });
  if (!groups.has_value()) return;
  stock_.set_groups(*groups);
  stock_.set_stray_groups(strays);
  if (strays > 0) sweep_at_ns_ = std::min(sweep_at_ns_, os::MonotonicNanos());
}

bool Spawner::SweepStrays() {
  const std::vector<absl::string_view> known = KnownGroups();
  std::set<std::string> strays;
  for (const os::Fd* root : {&roots_.v2, &roots_.memory_v1, &roots_.pids_v1,
                             &roots_.cpu_v1, &roots_.io_v1}) {
    if (!root->valid()) continue;
    (void)CountEntries(
        OpenDirectory(root->get(), "."), [&](const dirent& entry) {
          const absl::string_view name = entry.d_name;
          if (entry.d_type == DT_DIR && IsJailGroup(name) &&
              strays.size() < kMaxSwept &&
              !std::binary_search(known.begin(), known.end(), name)) {
            strays.emplace(name);
          }
          return false;
        });
  }
  size_t removed = 0;
  for (const std::string& name : strays) {
    if (JailCgroup::RemoveNamed(roots_, name)) ++removed;
  }
  // What is left is looked at again when stock is next taken.
  const bool more = strays.size() >= kMaxSwept && removed > 0;
  sweep_at_ns_ = more ? os::MonotonicNanos() : kNever;
  return more;
}

absl::Status Spawner::ReportStock() {
  stock_due_ns_ = 0;
  stock_.set_spares(static_cast<uint32_t>(spares_.size()));
  const int64_t now = os::MonotonicNanos();
  int64_t longest = 0;
  for (const DeadJail& jail : dead_) {
    longest = std::max(longest, now - jail.since_ns);
  }
  uint32_t held = 0;
  auto ending = static_cast<uint32_t>(dead_.size());
  for (auto& [init, jail] : live_) {
    if (jail.id == 0) continue;
    if (IsHeld(jail.init_end)) {
      ++held;
      continue;
    }
    // Its init can't be reaped as long as a process of its namespace doesn't
    // die (pid_namespaces(7)), for example one that waits for a dead disk.
    ++ending;
    if (jail.ending_since_ns == 0) jail.ending_since_ns = now;
    longest = std::max(longest, now - jail.ending_since_ns);
  }
  stock_.set_jails(held);
  stock_.set_ending(ending);
  stock_.set_longest_ending_ms(static_cast<uint64_t>(longest) / 1'000'000);
  CountGroups();
  if (const auto count =
          CountEntries(OpenDirectory(AT_FDCWD, "/proc"), IsNumber)) {
    stock_.set_processes(*count);
  }
  if (const auto count =
          CountEntries(OpenDirectory(AT_FDCWD, "/proc/self/fd"), IsNumber)) {
    stock_.set_open_descriptors(*count - 1);  // not the one that reads this
  }
  if (const auto count = CountMounts()) stock_.set_mounts(*count);
  if (zygote_.has_value()) {
    stock_.set_zygote_starts(zygote_->starts());
    stock_.set_zygote_deaths(zygote_->deaths());
    stock_.set_zygote_serves(zygote_->Serves());
  }
  uint64_t failures = 0;
  stock_.clear_failing();
  for (const Retry* retry : {&spares_retry_, &netns_retry_, &groups_retry_}) {
    failures += retry->failures();
    if (!retry->why().empty()) {
      stock_.set_failing(retry->why().substr(0, kMaxFailingBytes));
    }
  }
  stock_.set_setup_failures(failures);
  internal::SpawnerEvent event;
  *event.mutable_stock() = stock_;
  return Send(event, {});
}

}  // namespace sandglass::sandbox
