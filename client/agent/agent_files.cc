#include "client/agent/agent_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/agent/conversation_json.h"
#include "client/agent/tool_definitions.h"
#include "client/base/file_io.h"
#include "client/base/local_files.h"
#include "client/base/terminal_filter.h"
#include "client/connection/error_text.h"
#include "client/run/result_files.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kMaxThread = size_t{256} << 20;
constexpr size_t kMaxName = 64;
constexpr uint32_t kMaxFiles = 1000;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsThreadName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::StatusOr<std::vector<LlmMessage>> MessagesOf(const Json& list) {
  std::vector<LlmMessage> messages;
  if (!list.is_array()) return absl::InvalidArgumentError("it has no messages");
  for (const Json& json : list) {
    absl::StatusOr<LlmMessage> message = MessageFromJson(json);
    if (!message.ok()) return message.status();
    messages.push_back(*std::move(message));
  }
  return messages;
}

// Locks the thread until the descriptor is closed. Linux ends the lock with the
// process, however that ends.
absl::StatusOr<UniqueFd> LockThread(const std::string& path,
                                    const std::string& name) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) {
    return absl::ErrnoToStatus(errno, absl::StrCat("lock ", path));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("another sandglass agent has the thread '", name,
                   "'; end that one, or name another thread"));
}

}  // namespace

absl::StatusOr<std::string> AgentStateDirectory(
    const EnvironmentLookup& environment) {
  std::string base;
  if (const auto state = environment("XDG_STATE_HOME")) {
    base = *state;
  } else if (const auto home = environment("HOME")) {
    base = *home + "/.local/state";
  } else {
    return absl::InvalidArgumentError(
        "neither HOME nor XDG_STATE_HOME says where conversations are kept");
  }
  const std::string directory = base + "/sandglass";
  std::error_code error;
  fs::create_directories(base, error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make ", directory));
  }
  return directory;
}

absl::StatusOr<ThreadFile> ThreadFile::Open(const std::string& state_directory,
                                            const std::string& name) {
  if (!IsThreadName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", VisibleText(name),
        "' is no thread's name: letters, digits, . _ and -, at most 64"));
  }
  const std::string directory = state_directory + "/threads";
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make ", directory));
  }
  const std::string path = absl::StrCat(directory, "/", name);
  absl::StatusOr<UniqueFd> lock = LockThread(path + ".lock", name);
  if (!lock.ok()) return lock.status();
  ThreadFile thread(path + ".json", *std::move(lock));
  struct stat info = {};
  if (::stat(thread.path_.c_str(), &info) != 0) return thread;
  const absl::StatusOr<FileContent> file = ReadInput(thread.path_, kMaxThread);
  if (!file.ok()) return file.status();
  const Json json = Json::parse(file->bytes, nullptr, false);
  const Json none;
  const bool object = json.is_object();
  absl::StatusOr<std::vector<LlmMessage>> messages =
      MessagesOf(object && json.contains("messages") ? json["messages"] : none);
  if (!messages.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        thread.path_, " is no kept conversation: ", messages.status().message(),
        "; remove it, or name another thread"));
  }
  if (json.contains("provider") && json["provider"].is_string()) {
    thread.provider_ = json["provider"].get<std::string>();
  }
  thread.messages_ = *std::move(messages);
  return thread;
}

std::vector<LlmMessage> ThreadFile::ReleaseMessages(
    const std::string& provider) {
  if (provider != provider_) {
    for (LlmMessage& message : messages_) message.raw = Json();
  }
  return std::exchange(messages_, {});
}

absl::Status ThreadFile::Save(const std::string& provider,
                              const std::vector<LlmMessage>& messages) const {
  Json json = {{"provider", provider}, {"messages", Json::array()}};
  for (const LlmMessage& message : messages) {
    json["messages"].push_back(ToJson(message));
  }
  const size_t slash = path_.rfind('/');
  const UniqueFd directory(::open(path_.substr(0, slash).c_str(),
                                  O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return absl::ErrnoToStatus(errno, path_);
  absl::StatusOr<NewFile> file = NewFile::Create(
      directory.get(), path_.substr(slash + 1), ExistingFile::kReplace);
  if (!file.ok()) return file.status();
  if (absl::Status written = file->Write(Dump(json)); !written.ok()) {
    return written;
  }
  if (absl::Status kept = file->Sync(); !kept.ok()) return kept;
  return file->Place(0600);
}

absl::StatusOr<Transcript> Transcript::Open(const std::string& path) {
  UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("write ", path));
  }
  return Transcript(path, std::move(file));
}

absl::Status Transcript::Add(const LlmMessage& message) const {
  const int error =
      WriteAll(file_.get(), absl::StrCat(Dump(ToJson(message)), "\n"));
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("write ", path_));
}

absl::StatusOr<std::vector<LlmMessage>> Transcript::Read(
    const std::string& path) {
  const absl::StatusOr<FileContent> file = ReadInput(path, kMaxThread);
  if (!file.ok()) return file.status();
  std::vector<LlmMessage> messages;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(file->bytes, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const Json json =
        Json::parse(line.data(), line.data() + line.size(), nullptr, false);
    absl::StatusOr<LlmMessage> message = MessageFromJson(json);
    if (!message.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ", line ", number, ": ", message.status().message()));
    }
    messages.push_back(*std::move(message));
  }
  return messages;
}

absl::StatusOr<OutDirectory> OutDirectory::Open(const std::string& path) {
  absl::StatusOr<FetchWriter> writer =
      FetchWriter::Open(path, ExistingFile::kReplace);
  if (!writer.ok()) return writer.status();
  return OutDirectory(*std::move(writer));
}

absl::StatusOr<std::vector<std::string>> OutDirectory::SaveImages(
    const ToolAnswer& answer) {
  std::vector<std::string> saved;
  for (const ToolImage& image : answer.images) {
    v1::OutputFile file;
    file.set_path(
        absl::StrCat("image-", ++images_, ExtensionOf(image.mime_type)));
    file.set_content(image.bytes);
    file.set_mode(0644);
    if (absl::Status written = writer_.Write(file); !written.ok()) {
      return written;
    }
    saved.push_back(file.path());
  }
  return saved;
}

absl::Status OutDirectory::SaveFilesOf(const Daemon& daemon,
                                       const std::string& sandbox,
                                       const std::string& session_id,
                                       std::vector<std::string>& saved) {
  grpc::ClientContext of_glob;
  of_glob.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(60));
  v1::GlobFilesRequest glob;
  glob.set_session_id(session_id);
  glob.set_path(kOutInSandbox);
  glob.set_pattern("**");
  glob.set_max_matches(kMaxFiles);
  v1::GlobFilesResponse found;
  grpc::Status status = daemon.files->GlobFiles(&of_glob, glob, &found);
  // No program made the directory, or the sandbox is gone.
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    return absl::OkStatus();
  }
  if (!status.ok()) {
    return absl::UnavailableError(RpcErrorText(status, daemon.address));
  }
  for (const v1::FileInfo& info : found.entries()) {
    const std::string below =
        info.path().substr(std::min(info.path().size(), sizeof(kOutInSandbox)));
    const std::string place =
        sandbox == kMainSandbox ? below : absl::StrCat(sandbox, "/", below);
    const std::string state =
        absl::StrCat(info.size(), " ", info.modify_time().seconds(), ".",
                     info.modify_time().nanos());
    if (seen_[place] == state) continue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(60));
    v1::DownloadFilesRequest request;
    request.set_session_id(session_id);
    request.add_paths(info.path());
    v1::DownloadFilesResponse response;
    status = daemon.files->DownloadFiles(&context, request, &response);
    if (!status.ok()) {
      return absl::UnavailableError(RpcErrorText(status, daemon.address));
    }
    const v1::DownloadedFile& file = response.files(0);
    if (file.error() != v1::FILE_ERROR_CODE_UNSPECIFIED) {
      return absl::UnavailableError(absl::StrCat("can't fetch ",
                                                 VisibleText(info.path()), ": ",
                                                 VisibleText(file.message())));
    }
    v1::OutputFile output;
    output.set_path(place);
    output.set_content(file.content());
    output.set_mode(0644);
    if (absl::Status written = writer_.Write(output); !written.ok()) {
      return written;
    }
    seen_[place] = state;
    saved.push_back(place);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> OutDirectory::SaveFiles(
    const Daemon& daemon, const std::map<std::string, std::string>& sandboxes) {
  std::vector<std::string> saved;
  for (const auto& [name, session_id] : sandboxes) {
    if (absl::Status done = SaveFilesOf(daemon, name, session_id, saved);
        !done.ok()) {
      return done;
    }
  }
  return saved;
}

}  // namespace sandglass::client
