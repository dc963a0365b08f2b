#include "server/phases/compiled_file.h"

#include <utility>

#include "policy/text/paths.h"
#include "sandbox/os/files.h"
#include "server/base/digest.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr std::string_view kMark = "sandglass compiled 1\n";
constexpr size_t kKeyBytes = 64;
constexpr size_t kNumberBytes = 8;
constexpr size_t kDigestBytes = 32;
// Each sealed file takes a descriptor; for smaller ones, copying costs nothing.
constexpr size_t kSealFrom = size_t{256} << 10;
constexpr size_t kHeaderBytes = kMark.size() + kKeyBytes + kNumberBytes;

void PutNumber(uint64_t number, std::string& bytes) {
  for (size_t i = 0; i < kNumberBytes; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i)));
  }
}

void PutText(std::string_view text, std::string& bytes) {
  PutNumber(text.size(), bytes);
  bytes.append(text);
}

void PutOutput(const StreamResult& output, std::string& bytes) {
  PutText(output.data, bytes);
  PutNumber(output.truncated ? 1 : 0, bytes);
  PutNumber(output.total_bytes, bytes);
  PutNumber(output.head_bytes, bytes);
}

// Takes apart what the functions above put together. If something is missing,
// it is read as zero or empty, and ok() returns false from then on.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  uint64_t Number() {
    uint64_t number = 0;
    const std::string_view bytes = Consume(kNumberBytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i]))
                << (8 * i);
    }
    return number;
  }
  std::string_view Text() { return Consume(Number()); }
  StreamResult Output() {
    StreamResult output;
    output.data = Text();
    output.truncated = Number() != 0;
    output.total_bytes = Number();
    output.head_bytes = Number();
    if (output.head_bytes > output.data.size()) ok_ = false;
    return output;
  }
  // Whether everything was there so far.
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view Consume(uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

void Compiled::Seal() {
  for (const FileResult& file : files) {
    std::shared_ptr<const os::Fd>& fd = sealed.emplace_back();
    if (file.content.size() < kSealFrom) continue;
    // If no sealed file can be made, the content is copied as usual.
    absl::StatusOr<os::Fd> made =
        os::MakeSealedMemfd("compiled", AbslView(file.content));
    if (made.ok()) fd = std::make_shared<const os::Fd>(*std::move(made));
  }
}

uint64_t Compiled::bytes() const {
  uint64_t bytes =
      sizeof(Compiled) + stdout_result.data.size() + stderr_result.data.size();
  for (const FileResult& file : files) {
    bytes += sizeof(FileResult) + file.path.size() + file.content.size();
  }
  for (size_t i = 0; i < sealed.size(); ++i) {
    if (sealed[i] != nullptr) bytes += files[i].content.size();
  }
  return bytes;
}

std::string EncodeCompiled(const std::string& key, const Compiled& compiled) {
  std::string body;
  body.reserve(compiled.bytes());
  PutNumber(compiled.files.size(), body);
  for (const FileResult& file : compiled.files) {
    PutText(file.path, body);
    PutNumber(file.mode, body);
    PutText(file.content, body);
  }
  PutOutput(compiled.stdout_result, body);
  PutOutput(compiled.stderr_result, body);
  std::string bytes(kMark);
  bytes.append(key);
  PutText(body, bytes);
  bytes.append(Sha256(bytes));
  return bytes;
}

absl::StatusOr<Compiled> DecodeCompiled(const std::string& key,
                                        std::string_view bytes) {
  if (bytes.size() < kHeaderBytes + kDigestBytes) {
    return absl::DataLossError("it is too short");
  }
  if (bytes.substr(0, kMark.size()) != kMark) {
    return absl::DataLossError("it does not begin as it should");
  }
  if (bytes.substr(kMark.size(), kKeyBytes) != key) {
    return absl::DataLossError("it belongs to another key");
  }
  const std::string_view body =
      bytes.substr(kHeaderBytes, bytes.size() - kHeaderBytes - kDigestBytes);
  if (Reader(bytes.substr(kMark.size() + kKeyBytes)).Number() != body.size()) {
    return absl::DataLossError("it is not as long as it says");
  }
  if (bytes.substr(bytes.size() - kDigestBytes) !=
      Sha256(bytes.substr(0, bytes.size() - kDigestBytes))) {
    return absl::DataLossError("its content does not match its SHA-256");
  }
  Reader reader(body);
  Compiled compiled;
  for (uint64_t left = reader.Number(); left > 0 && reader.ok(); --left) {
    FileResult& file = compiled.files.emplace_back();
    file.path = reader.Text();
    file.mode = static_cast<uint32_t>(reader.Number());
    file.content = reader.Text();
    file.size = file.content.size();
    if (!policy::ValidateRelativePath(file.path).ok()) {
      return absl::DataLossError("a path in it leads out of the workspace");
    }
  }
  compiled.stdout_result = reader.Output();
  compiled.stderr_result = reader.Output();
  if (!reader.ok() || !reader.at_end()) {
    return absl::DataLossError("it can't be read");
  }
  return compiled;
}

}  // namespace sandglass::server
