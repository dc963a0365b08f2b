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

// The status for a result, naming `what` (a path). Its code is from gRPC's
// canonical list; its text begins with the FileCode.
absl::Status StatusOfFile(FileResult result, absl::string_view what);

// A file that is being written. If this object is destroyed before Commit has
// succeeded, the write is aborted and nothing of it remains. Not thread-safe.
class FileUpload {
 public:
  FileUpload() = default;
  FileUpload(FileUpload&& other) noexcept;
  FileUpload& operator=(FileUpload&& other) noexcept;
  ~FileUpload();

  // Fails with kIncomplete when the agent has ended the operation; Commit then
  // returns the reason.
  FileResult Append(absl::string_view data, const FileLimits& limits);
  FileAnswer<FileFacts> Commit(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
  uint64_t size_ = 0;
};

// An archive on its way into a jail, where it is unpacked as it arrives. If
// this object is destroyed before Finish, the rest is given up; what was made
// stays. Not thread-safe.
class TreeUpload {
 public:
  TreeUpload() = default;
  TreeUpload(TreeUpload&& other) noexcept;
  TreeUpload& operator=(TreeUpload&& other) noexcept;
  ~TreeUpload();

  // The same as FileUpload::Append; Finish returns the reason.
  FileResult Append(absl::string_view data, const FileLimits& limits);
  FileAnswer<TreeCount> Finish(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
};

// An archive that a jail makes of a tree. Given up when this object is
// destroyed. Not thread-safe.
class TreeDownload {
 public:
  TreeDownload() = default;
  TreeDownload(TreeDownload&& other) noexcept;
  TreeDownload& operator=(TreeDownload&& other) noexcept;
  ~TreeDownload();

  // Fills `data` with the next bytes and returns their number, which is below
  // `size` only at the end.
  FileAnswer<size_t> Read(char* data, size_t size, const FileLimits& limits);
  // Call after the end; returns whether the archive is whole.
  FileAnswer<TreeCount> Finish(const FileLimits& limits);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  os::Fd pipe_;
};

// Compares a tree with its earlier state, again and again; see
// FileAgent::Track. Not thread-safe.
class FileTracker {
 public:
  using Sink = std::function<void(FileChanged change)>;

  FileTracker() = default;
  FileTracker(FileTracker&& other) noexcept;
  FileTracker& operator=(FileTracker&& other) noexcept;
  ~FileTracker();

  // Passes the changes since the last call to `sink`. With an interval, it
  // waits for the next comparison that finds any. Returns true when a bound has
  // left some out.
  FileAnswer<bool> Next(const FileLimits& limits, const Sink& sink);

 private:
  friend class FileAgent;

  FileAgentChannel* channel_ = nullptr;
  uint64_t id_ = 0;
  bool on_demand_ = false;
  bool first_due_ = false;  // the first Next is to report what exists
};

// The daemon's side of a jail's file agent (sandbox/file_agent/file_agent.h),
// for any number of threads. Calls block, but no longer than their limits
// allow. Besides the results of the operation itself they can return kTimedOut,
// kCancelled, kAgentGone and kAgentBroken; after the last two every later call
// fails as well. Operations of FileUpload and FileTracker must be over before
// this object is destroyed.
class FileAgent {
 public:
  explicit FileAgent(os::Fd socket);

  bool alive() const { return channel_.alive(); }

  FileAnswer<OpenedFile> Open(const std::string& path,
                              const FileLimits& limits);
  enum class Links { kFollow, kNoFollow };
  FileAnswer<FileFacts> Stat(const std::string& path, Links links,
                             const FileLimits& limits);

  // Writes the whole content of a file, atomically.
  FileAnswer<FileFacts> Write(const std::string& path,
                              absl::string_view content,
                              const WriteOptions& options,
                              const FileLimits& limits);
  // Writes the first `size` bytes of a regular file, or whatever comes out of a
  // pipe.
  FileAnswer<FileFacts> WriteFrom(const std::string& path, const os::Fd& source,
                                  uint64_t size, const WriteOptions& options,
                                  const FileLimits& limits);
  FileAnswer<FileUpload> BeginWrite(const std::string& path,
                                    const WriteOptions& options,
                                    const FileLimits& limits);

  // Returns the entries sorted by name: those after `after`, at most
  // `max_entries`.
  FileAnswer<FileList> List(const std::string& path, const std::string& after,
                            uint32_t max_entries, const FileLimits& limits);
  enum class Parents { kMustExist, kMake };
  FileResult MakeDirectory(const std::string& path, Parents parents,
                           uint32_t mode, const FileLimits& limits);
  enum class Depth { kOne, kRecursive };
  // Returns how many names were removed, also when that wasn't all of them.
  FileAnswer<uint64_t> Remove(const std::string& path, Depth depth,
                              const FileLimits& limits);
  enum class Overwrite { kNo, kYes };
  FileResult Move(const std::string& from, const std::string& to,
                  Overwrite overwrite, Parents parents,
                  const FileLimits& limits);
  FileResult Copy(const std::string& from, const std::string& to,
                  Parents parents, const FileLimits& limits);

  // Returns the absolute paths that match. A pattern without a slash applies to
  // names at any depth; one with a slash is relative to `path`, or to the root
  // when it begins with the slash. Patterns may use * ? [] ** and {a,b}.
  FileAnswer<FileList> Glob(const std::string& path, const std::string& pattern,
                            const GlobOptions& options,
                            const FileLimits& limits);
  FileAnswer<TextMatches> Grep(const std::string& path,
                               const std::string& pattern,
                               const GrepOptions& options,
                               const FileLimits& limits);
  enum class Occurrences { kOne, kAll };
  // Returns how often the text was replaced; with kMultiple, how often it
  // occurs.
  FileAnswer<uint64_t> Edit(const std::string& path,
                            const std::string& old_text,
                            const std::string& new_text,
                            Occurrences occurrences, const FileLimits& limits);

  // A socket of TCP on its way to the program that listens on that port of the
  // jail's loopback; kFailed with ECONNREFUSED: none does. The jail's code may
  // have the socket, too, and change what it likes about it: nobody may rely on
  // its not waiting, nor on how it closes.
  FileAnswer<os::Fd> Connect(uint16_t port, const FileLimits& limits);

  // Records the present state of the tree; the tracker then reports what has
  // changed since.
  FileAnswer<FileTracker> Track(const std::string& path,
                                const TrackOptions& options,
                                const FileLimits& limits);

  // `archive` is where the tar is written to or read from: a regular file, or a
  // pipe whose other end is served meanwhile.
  FileAnswer<TreeCount> Pack(const std::string& path, const os::Fd& archive,
                             uint64_t max_bytes, const FileLimits& limits);
  FileAnswer<TreeCount> Unpack(const std::string& path, const os::Fd& archive,
                               Parents parents, uint64_t max_bytes,
                               uint32_t max_entries, const FileLimits& limits);
  // The same in pieces.
  enum class Which {
    kReadable,
    kAll,  // also what only its mode makes unreadable
  };
  FileAnswer<TreeDownload> BeginPack(const std::string& path, Which which,
                                     const FileLimits& limits);
  enum class Members {
    kAll,             // a member that can't be made ends the unpacking
    kThoseThatCanBe,  // … or is reported as missing
  };
  FileAnswer<TreeUpload> BeginUnpack(const std::string& path, Parents parents,
                                     uint64_t max_bytes, uint32_t max_entries,
                                     const FileLimits& limits,
                                     Members members = Members::kAll);

 private:
  using ReplyHandler =
      std::function<void(internal::FileReply& reply, std::vector<os::Fd>& fds)>;
  // Reads replies until the last one, or until `handle` has set `enough`.
  FileResult Run(internal::FileRequest& request, absl::Span<const int> fds,
                 FileAgentChannel::Check check, const FileLimits& limits,
                 const ReplyHandler& handle, const bool* enough = nullptr);

  FileAgentChannel channel_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_AGENT_CLIENT_H_
