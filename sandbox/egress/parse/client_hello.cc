#include "sandbox/egress/parse/client_hello.h"

#include <algorithm>
#include <bitset>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

// RFC 8446, sections 5.1, 4 and 4.2.
constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kMajorVersion = 3;
constexpr size_t kRecordHeader = 5;
constexpr size_t kMaxRecord = size_t{1} << 14;
constexpr uint8_t kClientHelloType = 1;
constexpr size_t kMessageHeader = 4;
constexpr size_t kRandomBytes = 32;
constexpr size_t kMaxSessionId = 32;
constexpr uint16_t kServerName = 0;
constexpr uint16_t kAlpn = 16;
constexpr uint16_t kEncryptedClientHello = 0xfe0d;
constexpr uint8_t kHostName = 0;

uint8_t ByteAt(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

// Reads fields from the front of the data. A field that isn't complete makes
// the reader fail, and all later fields are empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  // Whether all fields were complete and nothing is left.
  bool Done() const { return ok_ && rest_.empty(); }

  std::string_view Bytes(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // Reads a big-endian number of `width` bytes.
  uint32_t Number(size_t width) {
    uint32_t number = 0;
    const std::string_view bytes = Bytes(width);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number = number << 8 | ByteAt(bytes, i);
    }
    return number;
  }
  // Reads a length of `width` bytes and then as many bytes.
  std::string_view Vector(size_t width) { return Bytes(Number(width)); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '.' || c == '_';
}

// Returns "" when all is well; so do the functions below.
std::string ParseServerName(std::string_view data, ClientHello& hello) {
  Reader extension(data);
  Reader list(extension.Vector(2));
  const auto type = static_cast<uint8_t>(list.Number(1));
  const std::string_view name = list.Vector(2);
  if (!extension.Done() || !list.ok()) {
    return "its server_name extension is malformed";
  }
  if (type != kHostName || !list.empty()) {
    return "its server_name extension has more than one host_name, or another "
           "type of name";
  }
  if (name.empty() || name.size() > kMaxServerNameBytes ||
      !std::all_of(name.begin(), name.end(), IsNameByte)) {
    return absl::StrCat("its server name ", Quoted(name), " of ", name.size(),
                        " bytes is no host name");
  }
  hello.server_name = LowerAscii(name);
  return "";
}

std::string ParseAlpn(std::string_view data, ClientHello& hello) {
  Reader extension(data);
  const std::string_view names = extension.Vector(2);
  Reader list(names);
  bool well = extension.Done() && !names.empty();
  while (well && !list.empty()) {
    const std::string_view protocol = list.Vector(1);
    well = list.ok() && !protocol.empty();
    if (well) hello.alpn.emplace_back(protocol);
  }
  return well ? "" : "its ALPN extension is malformed";
}

std::string ParseExtensions(std::string_view data, ClientHello& hello) {
  Reader list(data);
  std::bitset<65536> seen;
  while (!list.empty()) {
    const auto type = static_cast<uint16_t>(list.Number(2));
    const std::string_view body = list.Vector(2);
    if (!list.ok()) return "its list of extensions is cut short";
    // RFC 8446, section 4.2.
    if (seen.test(type)) {
      return absl::StrCat("it has extension ", type, " twice");
    }
    seen.set(type);
    std::string words;
    if (type == kServerName) words = ParseServerName(body, hello);
    if (type == kAlpn) words = ParseAlpn(body, hello);
    if (!words.empty()) return words;
    hello.encrypted_client_hello |= type == kEncryptedClientHello;
  }
  return "";
}

std::string ParseHello(std::string_view body, ClientHello& hello) {
  Reader reader(body);
  const uint32_t version = reader.Number(2);
  reader.Bytes(kRandomBytes);
  const std::string_view session = reader.Vector(1);
  const std::string_view suites = reader.Vector(2);
  const std::string_view compressions = reader.Vector(1);
  if (!reader.ok() || version >> 8 != kMajorVersion ||
      session.size() > kMaxSessionId || suites.empty() ||
      suites.size() % 2 != 0 || compressions.empty()) {
    return "its version, session id, cipher suites or compression methods are "
           "malformed";
  }
  // Before TLS 1.3 there may be no extensions.
  if (reader.empty()) return "";
  const std::string_view extensions = reader.Vector(2);
  if (!reader.Done()) return "its extensions don't end where it ends";
  return ParseExtensions(extensions, hello);
}

}  // namespace

ClientHelloParser::State ClientHelloParser::Feed(std::string_view data) {
  while (state_ == State::kNeedMore && !data.empty()) {
    data.remove_prefix(left_ == 0 ? ParseHeader(data) : ParseFragment(data));
  }
  return state_;
}

size_t ClientHelloParser::ParseHeader(std::string_view data) {
  const size_t size = std::min(kRecordHeader - header_.size(), data.size());
  header_.append(data.substr(0, size));
  CheckHeader();
  return size;
}

void ClientHelloParser::CheckHeader() {
  const bool right_type = ByteAt(header_, 0) == kHandshakeRecord;
  const bool right_version =
      header_.size() < 2 || ByteAt(header_, 1) == kMajorVersion;
  if (!right_type || !right_version) {
    if (records_ == 0) {
      state_ = State::kNotTls;
      return;
    }
    // RFC 8446, section 5.1: nothing comes between the parts of a message.
    return Refuse("another kind of record comes before its end");
  }
  if (header_.size() < kRecordHeader) return;
  // The low byte of the version says nothing (RFC 8446, section 5.1).
  left_ = static_cast<size_t>(ByteAt(header_, 3)) << 8 | ByteAt(header_, 4);
  header_.clear();
  if (left_ == 0 || left_ > kMaxRecord) {
    return Refuse(absl::StrCat("a record of it has ", left_,
                               " bytes; it can have 1 to ", kMaxRecord));
  }
  if (++records_ > kMaxClientHelloRecords) {
    Refuse(absl::StrCat("it is spread over more than ", kMaxClientHelloRecords,
                        " records"));
  }
}

size_t ClientHelloParser::ParseFragment(std::string_view data) {
  const size_t size = std::min(left_, data.size());
  message_.append(data.substr(0, size));
  left_ -= size;
  CheckMessage();
  return size;
}

void ClientHelloParser::CheckMessage() {
  const uint8_t type = ByteAt(message_, 0);
  if (type != kClientHelloType) {
    return Refuse(absl::StrCat("the first handshake message has type ", type,
                               "; a ClientHello has ", kClientHelloType));
  }
  if (message_.size() < kMessageHeader) return;
  const size_t size = Reader(std::string_view(message_).substr(1)).Number(3);
  if (size > kMaxClientHelloBytes) {
    return Refuse(absl::StrCat("it has ", size, " bytes; at most ",
                               kMaxClientHelloBytes, " are taken"));
  }
  // A client sends nothing after its hello before it is answered.
  if (message_.size() + left_ > kMessageHeader + size) {
    return Refuse("its last record goes on behind it");
  }
  if (message_.size() < kMessageHeader + size) return;
  std::string words =
      ParseHello(std::string_view(message_).substr(kMessageHeader), hello_);
  if (!words.empty()) return Refuse(words);
  state_ = State::kComplete;
}

void ClientHelloParser::Refuse(const std::string& words) {
  state_ = State::kRefused;
  hello_ = {};
  words_ = absl::StrCat("the TLS ClientHello can't be taken: ", words);
}

}  // namespace sandglass::egress
