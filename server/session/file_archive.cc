#include "server/session/file_archive.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <utility>

#include "sandbox/os/io.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/wire/sparse.h"
#include "server/base/errors.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using sandbox::FileAgent;

using sandbox::kWorkspace;
constexpr absl::Duration kRetryAfterSpace = absl::Seconds(1);

}  // namespace

FileArchive::~FileArchive() { memory_->Release(bytes_); }

absl::StatusOr<SharedArchive> FileArchive::Pack(
    FileAgent& agent, std::shared_ptr<DiskBudget> memory,
    const sandbox::FileLimits& limits) {
  const absl::Time end = limits.Deadline();
  std::shared_ptr<FileArchive> archive(new FileArchive(std::move(memory)));
  archive->file_.reset(::memfd_create("fork", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!archive->file_.valid()) {
    return RunFailed(os::ErrnoStatus("make a file in memory"));
  }
  sandbox::FileAnswer<sandbox::TreeDownload> begun =
      agent.BeginPack(kWorkspace, FileAgent::Which::kAll, limits.Until(end));
  if (!begun.ok()) return FileStatus(begun.result, kWorkspace);
  std::string piece(os::kFileChunkBytes, '\0');
  // Holes take no room, so the files can be endless; hence the time is checked.
  while (true) {
    if (const sandbox::FileResult over = limits.Check(end); !over.ok()) {
      return FileStatus(over, kWorkspace);
    }
    const sandbox::FileAnswer<size_t> got =
        begun.value.Read(piece.data(), piece.size(), limits.Until(end));
    if (!got.ok()) return FileStatus(got.result, kWorkspace);
    if (absl::Status added = archive->Add({piece.data(), got.value});
        !added.ok()) {
      return added;
    }
    if (got.value < piece.size()) break;
  }
  const sandbox::FileAnswer<sandbox::TreeCount> count =
      begun.value.Finish(limits.Until(end));
  if (!count.ok()) return FileStatus(count.result, kWorkspace);
  if (count.value.entries == 0) return SharedArchive();
  if (::ftruncate(archive->file_.get(), static_cast<off_t>(archive->size_)) !=
          0 ||
      ::fcntl(archive->file_.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return RunFailed(os::ErrnoStatus("keep a file in memory"));
  }
  return SharedArchive(std::move(archive));
}

absl::Status FileArchive::Add(absl::string_view piece) {
  // Pages of zeros take no room.
  while (!piece.empty()) {
    const absl::string_view page = piece.substr(0, sandbox::kHoleBytes);
    if (!sandbox::AllZero(page)) {
      if (!memory_->Acquire(sandbox::kHoleBytes)) {
        return ForkSpaceFull(memory_->Describe(), kRetryAfterSpace);
      }
      bytes_ += sandbox::kHoleBytes;
      if (::pwrite(file_.get(), page.data(), page.size(),
                   static_cast<off_t>(size_)) !=
          static_cast<ssize_t>(page.size())) {
        return RunFailed(os::ErrnoStatus("keep a file in memory"));
      }
    }
    size_ += page.size();
    piece.remove_prefix(page.size());
  }
  return absl::OkStatus();
}

absl::Status FileArchive::Unpack(FileAgent& agent,
                                 const sandbox::FileLimits& limits) const {
  constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max() >> 1;
  return sandbox::StatusOfFile(
      agent
          .Unpack(kWorkspace, file_, FileAgent::Parents::kMustExist, kAnySize,
                  std::numeric_limits<uint32_t>::max(), limits)
          .result,
      kWorkspace);
}

}  // namespace sandglass::server
