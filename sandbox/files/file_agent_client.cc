#include "sandbox/files/file_agent_client.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/files/file_replies.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

// Content up to this size is sent within the request.
constexpr size_t kInlineBytes = 128 * 1024;
constexpr uint32_t kMaxListed = 1'000'000;

internal::WriteFile& Describe(const std::string& path,
                              const WriteOptions& options,
                              internal::FileRequest& request) {
  internal::WriteFile& write = *request.mutable_write();
  write.set_path(path);
  write.set_disposition(
      options.how == WriteMode::kReplace     ? internal::WRITE_REPLACE
      : options.how == WriteMode::kCreateNew ? internal::WRITE_CREATE_NEW
                                             : internal::WRITE_APPEND);
  write.set_make_parents(options.make_parents);
  if (options.mode.has_value()) {
    write.set_set_mode(true);
    write.set_mode(*options.mode);
  }
  write.set_max_bytes(options.max_bytes);
  return write;
}

uint32_t Millis(absl::Duration duration) {
  constexpr int64_t kMax = 3'600'000;
  return static_cast<uint32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, kMax));
}

FileResult ResultOf(const internal::FileReply& reply) {
  return {static_cast<FileCode>(reply.code()), reply.error()};
}

// Makes a pipe whose end `ours` is non-blocking; the agent uses poll(2).
FileResult MakePipe(os::Fd& reading, os::Fd& writing, const os::Fd& ours) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ResultOfErrno(errno);
  reading.reset(ends[0]);
  writing.reset(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ResultOfErrno(errno);
  }
  return {};
}

}  // namespace

FileAgent::FileAgent(os::Fd socket) : channel_(std::move(socket)) {}

FileResult FileAgent::Run(internal::FileRequest& request,
                          absl::Span<const int> fds,
                          FileAgentChannel::Check check,
                          const FileLimits& limits, const ReplyHandler& handle,
                          const bool* enough) {
  const absl::Time deadline = limits.Deadline();
  uint64_t id = 0;
  FileResult result =
      channel_.Begin(request, fds, std::move(check), limits, deadline, id);
  if (!result.ok()) return result;
  while (true) {
    FileAgentChannel::Answer answer;
    result = channel_.Next(id, limits, deadline, answer);
    if (!result.ok()) break;
    handle(*answer.reply, answer.fds);
    const bool last = answer.reply->last();
    if (last) result = ResultOf(*answer.reply);
    if (last || (enough != nullptr && *enough)) break;
  }
  channel_.Drop(id);
  return result;
}

FileAnswer<OpenedFile> FileAgent::Open(const std::string& path,
                                       const FileLimits& limits) {
  internal::FileRequest request;
  request.mutable_open()->set_path(path);
  FileAnswer<OpenedFile> answer;
  answer.result =
      Run(request, {}, OneFile(), limits,
          [&](internal::FileReply& reply, std::vector<os::Fd>& fds) {
            answer.value.facts = FactsOf(*reply.mutable_info());
            if (!fds.empty()) answer.value.file = std::move(fds[0]);
          });
  return answer;
}

FileAnswer<os::Fd> FileAgent::Connect(uint16_t port, const FileLimits& limits) {
  internal::FileRequest request;
  request.mutable_connect()->set_port(port);
  FileAnswer<os::Fd> answer;
  answer.result = Run(request, {}, OneSocket(), limits,
                      [&](internal::FileReply&, std::vector<os::Fd>& fds) {
                        if (!fds.empty()) answer.value = std::move(fds[0]);
                      });
  return answer;
}

FileAnswer<FileFacts> FileAgent::Stat(const std::string& path, Links links,
                                      const FileLimits& limits) {
  internal::FileRequest request;
  request.mutable_stat()->set_path(path);
  request.mutable_stat()->set_no_follow(links == Links::kNoFollow);
  FileAnswer<FileFacts> answer;
  answer.result = Run(request, {}, OnlyLast(), limits,
                      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
                        answer.value = FactsOf(*reply.mutable_info());
                      });
  return answer;
}

FileAnswer<FileFacts> FileAgent::Write(const std::string& path,
                                       absl::string_view content,
                                       const WriteOptions& options,
                                       const FileLimits& limits) {
  FileAnswer<FileFacts> answer;
  if (content.size() > kInlineBytes) {
    const absl::StatusOr<os::Fd> file = os::MakeMemfd("upload", content);
    if (!file.ok()) {
      answer.result = {FileCode::kFailed, 0};
      return answer;
    }
    return WriteFrom(path, *file, content.size(), options, limits);
  }
  internal::FileRequest request;
  Describe(path, options, request).set_content(std::string(content));
  answer.result = Run(request, {}, OnlyLast(), limits,
                      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
                        answer.value = FactsOf(*reply.mutable_info());
                      });
  return answer;
}

FileAnswer<FileFacts> FileAgent::WriteFrom(const std::string& path,
                                           const os::Fd& source, uint64_t size,
                                           const WriteOptions& options,
                                           const FileLimits& limits) {
  internal::FileRequest request;
  internal::WriteFile& write = Describe(path, options, request);
  write.set_with_descriptor(true);
  write.set_sized(true);
  write.set_size(size);
  const int fds[] = {source.get()};
  FileAnswer<FileFacts> answer;
  answer.result = Run(request, fds, OnlyLast(), limits,
                      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
                        answer.value = FactsOf(*reply.mutable_info());
                      });
  return answer;
}

FileAnswer<FileUpload> FileAgent::BeginWrite(const std::string& path,
                                             const WriteOptions& options,
                                             const FileLimits& limits) {
  FileAnswer<FileUpload> answer;
  os::Fd reading, writing;
  answer.result = MakePipe(reading, writing, writing);
  if (!answer.ok()) return answer;
  internal::FileRequest request;
  Describe(path, options, request).set_with_descriptor(true);
  const int fds[] = {reading.get()};
  answer.result = channel_.Begin(request, fds, OnlyLast(), limits,
                                 limits.Deadline(), answer.value.id_);
  if (!answer.ok()) return answer;
  answer.value.channel_ = &channel_;
  answer.value.pipe_ = std::move(writing);
  return answer;
}

FileAnswer<FileList> FileAgent::List(const std::string& path,
                                     const std::string& after,
                                     uint32_t max_entries,
                                     const FileLimits& limits) {
  const uint32_t max =
      max_entries == 0 ? kMaxListed : std::min(max_entries, kMaxListed);
  internal::FileRequest request;
  internal::ListDirectory& list = *request.mutable_list();
  list.set_path(path);
  list.set_after(after);
  list.set_max_entries(max);
  FileAnswer<FileList> answer;
  answer.result =
      Run(request, {}, Entries(max, EntryNames::kNames), limits,
          [&](internal::FileReply& reply, std::vector<os::Fd>&) {
            for (internal::FileInfo& entry : *reply.mutable_entries()) {
              answer.value.entries.push_back(FactsOf(entry));
            }
            answer.value.truncated |= reply.truncated();
          });
  return answer;
}

FileResult FileAgent::MakeDirectory(const std::string& path, Parents parents,
                                    uint32_t mode, const FileLimits& limits) {
  internal::FileRequest request;
  internal::MakeDirectory& make = *request.mutable_make_directory();
  make.set_path(path);
  make.set_make_parents(parents == Parents::kMake);
  make.set_mode(mode);
  return Run(request, {}, OnlyLast(), limits,
             [](internal::FileReply&, std::vector<os::Fd>&) {});
}

FileAnswer<uint64_t> FileAgent::Remove(const std::string& path, Depth depth,
                                       const FileLimits& limits) {
  internal::FileRequest request;
  request.mutable_remove()->set_path(path);
  request.mutable_remove()->set_recursive(depth == Depth::kRecursive);
  FileAnswer<uint64_t> answer;
  answer.result = Run(request, {}, OnlyLast(), limits,
                      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
                        answer.value = reply.count();
                      });
  return answer;
}

FileResult FileAgent::Move(const std::string& from, const std::string& to,
                           Overwrite overwrite, Parents parents,
                           const FileLimits& limits) {
  internal::FileRequest request;
  internal::MoveFile& move = *request.mutable_move();
  move.set_from(from);
  move.set_to(to);
  move.set_overwrite(overwrite == Overwrite::kYes);
  move.set_make_parents(parents == Parents::kMake);
  return Run(request, {}, OnlyLast(), limits,
             [](internal::FileReply&, std::vector<os::Fd>&) {});
}

FileResult FileAgent::Copy(const std::string& from, const std::string& to,
                           Parents parents, const FileLimits& limits) {
  internal::FileRequest request;
  internal::CopyFile& copy = *request.mutable_copy();
  copy.set_from(from);
  copy.set_to(to);
  copy.set_make_parents(parents == Parents::kMake);
  return Run(request, {}, OnlyLast(), limits,
             [](internal::FileReply&, std::vector<os::Fd>&) {});
}

FileAnswer<FileList> FileAgent::Glob(const std::string& path,
                                     const std::string& pattern,
                                     const GlobOptions& options,
                                     const FileLimits& limits) {
  internal::FileRequest request;
  internal::Glob& glob = *request.mutable_glob();
  glob.set_path(path);
  glob.set_pattern(pattern);
  glob.set_files_only(options.files_only);
  glob.set_hidden(options.hidden);
  glob.set_max_matches(options.max_matches);
  glob.set_max_visited(options.max_visited);
  glob.set_max_millis(Millis(options.time));
  FileAnswer<FileList> answer;
  size_t bytes = 0;
  bool enough = false;
  answer.result = Run(
      request, {}, Entries(options.max_matches, EntryNames::kPaths), limits,
      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
        for (internal::FileInfo& entry : *reply.mutable_entries()) {
          bytes += sizeof(FileFacts) + entry.name().size();
          answer.value.entries.push_back(FactsOf(entry));
        }
        enough = bytes > kMaxFoundBytes;
        answer.value.truncated |= reply.truncated() || enough;
      },
      &enough);
  return answer;
}

FileAnswer<TextMatches> FileAgent::Grep(const std::string& path,
                                        const std::string& pattern,
                                        const GrepOptions& options,
                                        const FileLimits& limits) {
  internal::FileRequest request;
  internal::Grep& grep = *request.mutable_grep();
  grep.set_path(path);
  grep.set_pattern(pattern);
  grep.set_regex(options.regex);
  grep.set_ignore_case(options.ignore_case);
  for (const std::string& include : options.include) grep.add_include(include);
  grep.set_hidden(options.hidden);
  grep.set_context_before(options.context_before);
  grep.set_context_after(options.context_after);
  grep.set_max_matches(options.max_matches);
  grep.set_max_line_bytes(options.max_line_bytes);
  grep.set_max_visited(options.max_visited);
  grep.set_max_millis(Millis(options.time));
  const uint64_t per_match =
      uint64_t{1} + options.context_before + options.context_after;
  FileAnswer<TextMatches> answer;
  size_t bytes = 0;
  bool enough = false;
  answer.result = Run(
      request, {}, Lines(options.max_matches * per_match), limits,
      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
        for (internal::GrepLine& line : *reply.mutable_lines()) {
          bytes += sizeof(TextLine) + line.path().size() + line.text().size();
          answer.value.matches += line.column() > 0 ? 1 : 0;
          answer.value.lines.push_back({.path = std::move(*line.mutable_path()),
                                        .line = line.line(),
                                        .column = line.column(),
                                        .text = std::move(*line.mutable_text()),
                                        .cut = line.cut()});
        }
        enough = bytes > kMaxFoundBytes;
        answer.value.truncated |= reply.truncated() || enough;
      },
      &enough);
  return answer;
}

FileAnswer<uint64_t> FileAgent::Edit(const std::string& path,
                                     const std::string& old_text,
                                     const std::string& new_text,
                                     Occurrences occurrences,
                                     const FileLimits& limits) {
  internal::FileRequest request;
  internal::EditFile& edit = *request.mutable_edit();
  edit.set_path(path);
  edit.set_all(occurrences == Occurrences::kAll);
  FileAnswer<uint64_t> answer;
  os::Fd texts;
  std::vector<int> fds;
  if (old_text.size() + new_text.size() <= kInlineBytes) {
    edit.set_old_text(old_text);
    edit.set_new_text(new_text);
  } else {
    absl::StatusOr<os::Fd> made =
        os::MakeMemfd("edit", absl::StrCat(old_text, new_text));
    if (!made.ok()) {
      answer.result = {FileCode::kFailed, 0};
      return answer;
    }
    texts = *std::move(made);
    fds.push_back(texts.get());
    edit.set_old_size(old_text.size());
    edit.set_new_size(new_text.size());
  }
  answer.result = Run(request, fds, OnlyLast(), limits,
                      [&](internal::FileReply& reply, std::vector<os::Fd>&) {
                        answer.value = reply.count();
                      });
  return answer;
}

FileAnswer<TreeCount> FileAgent::Pack(const std::string& path,
                                      const os::Fd& archive, uint64_t max_bytes,
                                      const FileLimits& limits) {
  internal::FileRequest request;
  request.mutable_pack()->set_path(path);
  request.mutable_pack()->set_max_bytes(max_bytes);
  const int fds[] = {archive.get()};
  FileAnswer<TreeCount> answer;
  answer.result =
      Run(request, fds, OnlyLast(), limits,
          [&](internal::FileReply& reply, std::vector<os::Fd>&) {
            answer.value = {reply.count(), reply.bytes(), reply.left_out()};
          });
  return answer;
}

FileAnswer<TreeCount> FileAgent::Unpack(const std::string& path,
                                        const os::Fd& archive, Parents parents,
                                        uint64_t max_bytes,
                                        uint32_t max_entries,
                                        const FileLimits& limits) {
  internal::FileRequest request;
  internal::UnpackTree& unpack = *request.mutable_unpack();
  unpack.set_path(path);
  unpack.set_make_parents(parents == Parents::kMake);
  unpack.set_max_bytes(max_bytes);
  unpack.set_max_entries(max_entries);
  const int fds[] = {archive.get()};
  FileAnswer<TreeCount> answer;
  answer.result =
      Run(request, fds, OnlyLast(), limits,
          [&](internal::FileReply& reply, std::vector<os::Fd>&) {
            answer.value = {reply.count(), reply.bytes(), reply.left_out()};
          });
  return answer;
}

FileAnswer<TreeDownload> FileAgent::BeginPack(const std::string& path,
                                              Which which,
                                              const FileLimits& limits) {
  FileAnswer<TreeDownload> answer;
  os::Fd reading, writing;
  answer.result = MakePipe(reading, writing, reading);
  if (!answer.ok()) return answer;
  internal::FileRequest request;
  request.mutable_pack()->set_path(path);
  request.mutable_pack()->set_whole(which == Which::kAll);
  const int fds[] = {writing.get()};
  answer.result = channel_.Begin(request, fds, OnlyLast(), limits,
                                 limits.Deadline(), answer.value.id_);
  if (!answer.ok()) return answer;
  answer.value.channel_ = &channel_;
  answer.value.pipe_ = std::move(reading);
  return answer;
}

FileAnswer<TreeUpload> FileAgent::BeginUnpack(
    const std::string& path, Parents parents, uint64_t max_bytes,
    uint32_t max_entries, const FileLimits& limits, Members members) {
  FileAnswer<TreeUpload> answer;
  os::Fd reading, writing;
  answer.result = MakePipe(reading, writing, writing);
  if (!answer.ok()) return answer;
  internal::FileRequest request;
  internal::UnpackTree& unpack = *request.mutable_unpack();
  unpack.set_path(path);
  unpack.set_make_parents(parents == Parents::kMake);
  unpack.set_max_bytes(max_bytes);
  unpack.set_max_entries(max_entries);
  unpack.set_as_far_as_possible(members == Members::kThoseThatCanBe);
  const int fds[] = {reading.get()};
  answer.result = channel_.Begin(request, fds, OnlyMissing(), limits,
                                 limits.Deadline(), answer.value.id_);
  if (!answer.ok()) return answer;
  answer.value.channel_ = &channel_;
  answer.value.pipe_ = std::move(writing);
  return answer;
}

FileAnswer<FileTracker> FileAgent::Track(const std::string& path,
                                         const TrackOptions& options,
                                         const FileLimits& limits) {
  internal::FileRequest request;
  internal::TrackTree& track = *request.mutable_track();
  track.set_path(path);
  const bool on_demand = options.interval <= absl::ZeroDuration();
  if (!on_demand) track.set_interval_millis(Millis(options.interval));
  track.set_with_descriptors(options.with_files);
  track.set_max_entries(options.max_entries);
  track.set_for_copy(options.for_copy);
  track.set_tell_first(options.tell_first);
  FileAnswer<FileTracker> answer;
  FileTracker& tracker = answer.value;
  const absl::Time deadline = limits.Deadline();
  // One comparison reports at most twice the number of entries: all old ones
  // removed and all new ones created.
  answer.result = channel_.Begin(
      request, {},
      Changes(uint64_t{2} * options.max_entries, options.with_files), limits,
      deadline, tracker.id_);
  if (!answer.ok()) return answer;
  tracker.channel_ = &channel_;
  tracker.on_demand_ = on_demand;
  tracker.first_due_ = options.tell_first;
  if (options.tell_first) return answer;
  // The first comparison reports nothing but its end.
  FileAgentChannel::Answer first;
  answer.result = channel_.Next(tracker.id_, limits, deadline, first);
  if (answer.ok() && first.reply->last()) {
    answer.result = ResultOf(*first.reply);
  }
  return answer;
}

}  // namespace sandglass::sandbox
