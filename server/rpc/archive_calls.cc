// The calls that download a session's files as an archive, and upload them.
#include <string>
#include <string_view>
#include <utility>

#include "server/rpc/file_calls.h"

namespace sandglass::server {
namespace {

using sandbox::FileAgent;
using sandbox::FileCode;
using Work = FileSession::Work;

constexpr std::string_view kIncomplete = "the archive is incomplete";
constexpr uint64_t kAnySize = uint64_t{1} << 62;
constexpr uint32_t kMaxEntries = 1'000'000;
constexpr uint32_t kListedAtOnce = 1'000;

// Removes what is in a directory; it is fine when there is no directory. The
// program's code may make more files meanwhile, so this ends after the time of
// one call.
absl::Status Empty(FileSession& files, const std::string& path) {
  const sandbox::FileLimits limits = files.Limits(Work::kLong);
  const absl::Time end = limits.Deadline();
  while (true) {
    const sandbox::FileAnswer<sandbox::FileList> list =
        files.agent().List(path, "", kListedAtOnce, limits.Until(end));
    if (list.result.code == FileCode::kNotFound) return absl::OkStatus();
    if (absl::Status done = files.Check(list.result, path, Work::kLong);
        !done.ok()) {
      return done;
    }
    for (const sandbox::FileFacts& entry : list.value.entries) {
      const std::string name = path + "/" + entry.name;
      const sandbox::FileResult removed =
          files.agent()
              .Remove(name, FileAgent::Depth::kRecursive, limits.Until(end))
              .result;
      // Another process removed it first.
      if (removed.code == FileCode::kNotFound) continue;
      if (absl::Status done = files.Check(removed, name, Work::kLong);
          !done.ok()) {
        return done;
      }
    }
    if (list.value.entries.empty()) return absl::OkStatus();
  }
}

// One SnapshotFiles: the next piece of the archive is taken when the last one
// was written, and the jail makes no more of it in advance.
class SnapshotFilesCall final
    : public FileAnswersCall<v1::SnapshotFilesRequest> {
 public:
  using FileAnswersCall::FileAnswersCall;

 private:
  // The steps of the call.
  void Open() override {
    if (absl::Status found = OpenAt(request_.path(), EmptyPath::kWorkspace);
        !found.ok()) {
      return End(found);
    }
    sandbox::FileAnswer<sandbox::TreeDownload> begun =
        files_->agent().BeginPack(path_, FileAgent::Which::kReadable,
                                  files_->Limits());
    if (absl::Status done = files_->Check(begun.result, path_); !done.ok()) {
      return End(done);
    }
    archive_ = std::move(begun.value);
    ReadNext();
  }
  void ReadNext() {
    v1::SnapshotFilesResponse response;
    std::string& data = *response.mutable_data();
    data.resize(kChunkBytes);
    const sandbox::FileAnswer<size_t> got =
        archive_.Read(data.data(), data.size(), files_->Limits(Work::kLong));
    if (absl::Status done = files_->Check(got.result, path_, Work::kLong);
        !done.ok()) {
      return End(done);
    }
    last_ = got.value < data.size();
    if (last_) {
      // Find out whether this was the end, or the jail broke off.
      const sandbox::FileResult result =
          archive_.Finish(files_->Limits()).result;
      if (absl::Status done = files_->Check(result, path_); !done.ok()) {
        return End(done);
      }
    }
    data.resize(got.value);
    Send(response, kIncomplete);
  }

  void GoOn() override {
    Continue([this] {
      if (last_) return End(absl::OkStatus());
      ReadNext();
    });
  }
  void LetGo() override { archive_ = sandbox::TreeDownload(); }

  // It must end before the agent that makes it.
  sandbox::TreeDownload archive_;
  bool last_ = false;  // what was sent last is the archive's end
};

// One RestoreFiles: the next message is taken when the jail has the last one.
class RestoreFilesCall final
    : public FileRequestsCall<v1::RestoreFilesRequest> {
 public:
  using FileRequestsCall::FileRequestsCall;

 private:
  absl::Status Handle(const v1::RestoreFilesRequest& message,
                      bool& finished) override {
    if (message.has_start()) return Open(message.start());
    const sandbox::FileResult sent =
        archive_.Append(message.data(), files_->Limits(Work::kLong));
    // How the archive ends says why it took no more.
    finished = sent.code == FileCode::kIncomplete;
    return finished ? Commit() : files_->Check(sent, path_, Work::kLong);
  }
  absl::Status Open(const v1::RestoreFilesStart& start) {
    if (absl::Status found = OpenAt(start.path(), EmptyPath::kWorkspace);
        !found.ok()) {
      return found;
    }
    if (start.replace()) {
      if (absl::Status done = Empty(*files_, path_); !done.ok()) return done;
    }
    sandbox::FileAnswer<sandbox::TreeUpload> begun =
        files_->agent().BeginUnpack(path_, FileAgent::Parents::kMake, kAnySize,
                                    kMaxEntries, files_->Limits());
    archive_ = std::move(begun.value);
    return files_->Check(begun.result, path_);
  }
  absl::Status HandleEnd() override {
    if (files_ == nullptr) {
      return InvalidRequest({{"start", "must come first"}});
    }
    // When a client goes away, its stream ends as well.
    return stop_->stopped() ? CallerGone() : Commit();
  }
  absl::Status Commit() {
    const sandbox::FileAnswer<sandbox::TreeCount> count =
        archive_.Finish(files_->Limits(Work::kLong));
    if (absl::Status done = files_->Check(count.result, path_, Work::kLong);
        !done.ok()) {
      return done;
    }
    if (absl::Status saved = files_->Save(); !saved.ok()) return saved;
    v1::RestoreFilesResponse response;
    response.set_files(count.value.entries);
    response.set_bytes(count.value.bytes);
    response.set_skipped(count.value.left_out);
    return Answer(response);
  }
  void LetGo() override { archive_ = sandbox::TreeUpload(); }

  // It must end before the agent that unpacks it.
  sandbox::TreeUpload archive_;
};

}  // namespace

WriteReactor* BeginSnapshotFiles(const FileCallParts& parts,
                                 const Identity& caller,
                                 v1::SnapshotFilesRequest&& request) {
  auto* call = new SnapshotFilesCall(parts, caller, std::move(request));
  call->Start();
  return call;
}

ReadReactor* BeginRestoreFiles(const FileCallParts& parts,
                               const Identity& caller, Bytes* response) {
  auto* call = new RestoreFilesCall(parts, caller, response);
  call->Start();
  return call;
}

}  // namespace sandglass::server
