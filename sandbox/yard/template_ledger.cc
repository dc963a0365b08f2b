#include "sandbox/yard/template_ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/template_proto.h"

namespace sandglass::sandbox {

absl::StatusOr<TemplateLedger> TemplateLedger::Create() {
  os::Fd file(::memfd_create("templates", MFD_CLOEXEC));
  // The file's mode keeps the readers from opening it for writing by way of
  // /proc/self/fd.
  if (!file.valid() || ::fchmod(file.get(), 0400) != 0) {
    return os::ErrnoStatus("memfd_create");
  }
  return TemplateLedger(std::move(file));
}

absl::StatusOr<os::Fd> TemplateLedger::ReadingEnd() const {
  const std::string path = absl::StrCat("/proc/self/fd/", file_.get());
  os::Fd end(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!end.valid()) return os::ErrnoStatus("open ", path);
  return end;
}

absl::Status TemplateLedger::Append(
    const std::vector<JailTemplate>& templates) {
  std::string records;
  std::vector<std::string> added;
  for (const JailTemplate& jail : templates) {
    if (std::find(names_.begin(), names_.end(), jail.name) != names_.end()) {
      continue;
    }
    const std::string record = ToProto(jail).SerializeAsString();
    const auto size = static_cast<uint32_t>(record.size());
    records.append(reinterpret_cast<const char*>(&size), sizeof(size));
    records.append(record);
    added.push_back(jail.name);
  }
  if (names_.size() + added.size() > kMaxTemplates) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there have been ", names_.size(),
                     " jail templates since the daemon's start; restart it"));
  }
  for (size_t done = 0; done < records.size();) {
    // This overwrites what a failed attempt may have left behind.
    const ssize_t wrote =
        ::pwrite(file_.get(), records.data() + done, records.size() - done,
                 static_cast<off_t>(size_ + done));
    if (wrote <= 0) return os::ErrnoStatus("write a jail template");
    done += static_cast<size_t>(wrote);
  }
  size_ += records.size();
  names_.insert(names_.end(), added.begin(), added.end());
  return absl::OkStatus();
}

}  // namespace sandglass::sandbox
