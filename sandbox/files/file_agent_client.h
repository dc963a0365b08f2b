#ifndef SANDGLASS_SANDBOX_FILES_FILE_AGENT_CLIENT_H_
#define SANDGLASS_SANDBOX_FILES_FILE_AGENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sandbox/files/file_agent_channel.h"
#include "sandbox/files/file_types.h"

namespace sandglass::sandbox {

// The status that a result stands for, naming `what` (a path). Its code is that
// of gRPC's canonical list; which FileCode it was its text says first.
absl::Status StatusOfFile(FileResult result, absl::string_view what);

// A file that is being written. Aborted when it goes before Commit succeeded:
// then nothing is left of it. One thread at a time.
class FileUpload {
 public:
  FileUpload() = default;
  FileUpload(FileUpload&& other) noexcept;
  FileUpload& operator=(FileUpload&& other) noexcept;
  ~FileUpload();

  // The result is kIncomplete when the agent ended the operation; Commit says
  // why.
  FileResult Append(absl::string_view data, const FileLimits& limits);
  FileAnswer<FileFacts> Commit(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
  uint64_t size_ = 0;
};

// An archive on its way into a jail, which is unpacked as it comes. Given up
// when it goes before Finish; what was made stays. One thread at a time.
class TreeUpload {
 public:
  TreeUpload() = default;
  TreeUpload(TreeUpload&& other) noexcept;
  TreeUpload& operator=(TreeUpload&& other) noexcept;
  ~TreeUpload();

  // As FileUpload::Append; Finish says why.
  FileResult Append(absl::string_view data, const FileLimits& limits);
  FileAnswer<TreeCount> Finish(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
};

// An archive that a jail makes of a tree. Given up when it goes. One thread at
// a time.
class TreeDownload {
 public:
  TreeDownload() = default;
  TreeDownload(TreeDownload&& other) noexcept;
  TreeDownload& operator=(TreeDownload&& other) noexcept;
  ~TreeDownload();

  // Fills `data` with the next bytes, fewer only at the end: how many.
  FileAnswer<size_t> Read(char* data, size_t size, const FileLimits& limits);
  // After the end: whether the archive is whole.
  FileAnswer<TreeCount> Finish(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
};

// Looks at a tree again and again; see FileAgent::Track. One thread at a time.
class FileTracker {
 public:
  using Sink = std::function<void(FileChanged change)>;

  FileTracker() = default;
  FileTracker(FileTracker&& other) noexcept;
  FileTracker& operator=(FileTracker&& other) noexcept;
  ~FileTracker();

  // The changes since the look before. Where there is an interval this waits
  // for the next look that finds any. True when a bound left some out.
  FileAnswer<bool> Next(const FileLimits& limits, const Sink& sink);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  bool on_demand_ = false;
  bool first_due_ = false;  // the first look's changes are still to come
};

// The daemon's side of a jail's file agent (sandbox/file_agent/file_agent.h),
// for any number of threads. Calls wait, no longer than their limits say;
// results beside the operation's own are kTimedOut, kCancelled, kAgentGone and
// kAgentBroken. With the last two every later call fails as well. What
// FileUpload and FileTracker do must be over before it goes.
class FileAgent {
 public:
  explicit FileAgent(os::Fd socket);

  bool alive() const { return channel_.alive(); }

  FileAnswer<OpenedFile> Open(const std::string& path,
                              const FileLimits& limits);
  enum class Links { kFollow, kNoFollow };
  FileAnswer<FileFacts> Stat(const std::string& path, Links links,
                             const FileLimits& limits);

  // What is written is the whole content, at once or not at all.
  FileAnswer<FileFacts> Write(const std::string& path,
                              absl::string_view content,
                              const WriteOptions& options,
                              const FileLimits& limits);
  // The first `size` bytes of a regular file, or what comes out of a pipe.
  FileAnswer<FileFacts> WriteFrom(const std::string& path, const os::Fd& source,
                                  uint64_t size, const WriteOptions& options,
                                  const FileLimits& limits);
  FileAnswer<FileUpload> BeginWrite(const std::string& path,
                                    const WriteOptions& options,
                                    const FileLimits& limits);

  // Sorted by name; those behind `after`, at most `max_entries`.
  FileAnswer<FileList> List(const std::string& path, const std::string& after,
                            uint32_t max_entries, const FileLimits& limits);
  enum class Parents { kMustExist, kMake };
  FileResult MakeDirectory(const std::string& path, Parents parents,
                           uint32_t mode, const FileLimits& limits);
  enum class Depth { kOne, kRecursive };
  // How many names are gone, also when not all of them are.
  FileAnswer<uint64_t> Remove(const std::string& path, Depth depth,
                              const FileLimits& limits);
  enum class Overwrite { kNo, kYes };
  FileResult Move(const std::string& from, const std::string& to,
                  Overwrite overwrite, Parents parents,
                  const FileLimits& limits);
  FileResult Copy(const std::string& from, const std::string& to,
                  Parents parents, const FileLimits& limits);

  // Absolute paths of what matches. A pattern without a slash is about names at
  // any depth; one with a slash is relative to `path`, or to the root when it
  // begins with it. Has * ? [] ** and {a,b}.
  FileAnswer<FileList> Glob(const std::string& path, const std::string& pattern,
                            const GlobOptions& options,
                            const FileLimits& limits);
  FileAnswer<TextMatches> Grep(const std::string& path,
                               const std::string& pattern,
                               const GrepOptions& options,
                               const FileLimits& limits);
  enum class Occurrences { kOne, kAll };
  // How often the text was replaced; of kMultiple, how often it is there.
  FileAnswer<uint64_t> Edit(const std::string& path,
                            const std::string& old_text,
                            const std::string& new_text,
                            Occurrences occurrences, const FileLimits& limits);

  // Takes down how the tree is now; the tracker tells what changed since.
  FileAnswer<FileTracker> Track(const std::string& path,
                                const TrackOptions& options,
                                const FileLimits& limits);

  // `archive` is what the tar is written to, and read from: a pipe whose other
  // end somebody works on meanwhile, or a regular file.
  FileAnswer<TreeCount> Pack(const std::string& path, const os::Fd& archive,
                             uint64_t max_bytes, const FileLimits& limits);
  FileAnswer<TreeCount> Unpack(const std::string& path, const os::Fd& archive,
                               Parents parents, uint64_t max_bytes,
                               uint32_t max_entries, const FileLimits& limits);
  // The same piece by piece.
  enum class Which {
    kReadable,
    kAll,  // also what only its mode makes unreadable
  };
  FileAnswer<TreeDownload> BeginPack(const std::string& path, Which which,
                                     const FileLimits& limits);
  enum class Members {
    kAll,             // one that can't be made ends the unpacking
    kThoseThatCanBe,  // … or is told as missing
  };
  FileAnswer<TreeUpload> BeginUnpack(const std::string& path, Parents parents,
                                     uint64_t max_bytes, uint32_t max_entries,
                                     const FileLimits& limits,
                                     Members members = Members::kAll);

 private:
  using Take =
      std::function<void(internal::FileReply& reply, std::vector<os::Fd>& fds)>;
  // Until the last reply, or until `take` says that there was enough.
  FileResult Run(internal::FileRequest& request, absl::Span<const int> fds,
                 FileAgentChannel::Check check, const FileLimits& limits,
                 const Take& take, const bool* enough = nullptr);

  FileAgentChannel channel_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_AGENT_CLIENT_H_
