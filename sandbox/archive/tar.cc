#include "sandbox/archive/tar.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sandglass::sandbox {
namespace {

// The fields of a header and their places, as POSIX defines them.
struct Field {
  size_t offset;
  size_t size;
};
constexpr Field kName = {0, 100}, kMode = {100, 8}, kUid = {108, 8},
                kGid = {116, 8}, kSize = {124, 12}, kMtime = {136, 12},
                kChecksum = {148, 8}, kType = {156, 1}, kLink = {157, 100},
                kMagic = {257, 8}, kPrefix = {345, 155};

constexpr uint64_t kMaxOctal = 077777777777;  // eleven digits
constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kFractionDigits = 9;
// The most bytes of a long name or a pax header.
constexpr uint64_t kMaxExtensionBytes = 1024 * 1024;
constexpr uint64_t kMaxSize = uint64_t{1} << 62;

absl::string_view Get(const char* block, Field field) {
  return {block + field.offset, field.size};
}

// The text up to the first NUL.
std::string GetText(const char* block, Field field) {
  const absl::string_view all = Get(block, field);
  return std::string(all.substr(0, all.find('\0')));
}

void Put(std::string& block, Field field, absl::string_view text) {
  text = text.substr(0, field.size);
  block.replace(field.offset, text.size(), text.data(), text.size());
}

void PutOctal(std::string& block, Field field, uint64_t value) {
  std::string digits(field.size - 1, '0');
  for (size_t i = digits.size(); i-- > 0; value >>= 3) {
    digits[i] = static_cast<char>('0' + (value & 7));
  }
  Put(block, field, digits);
}

// Reads octal digits, or GNU's form for larger numbers: the first bit is set
// and the value follows in binary.
std::optional<uint64_t> GetNumber(const char* block, Field field) {
  absl::string_view text = Get(block, field);
  uint64_t value = 0;
  if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    for (size_t i = 0; i < text.size(); ++i) {
      auto byte = static_cast<unsigned char>(text[i]);
      if (i == 0) byte &= 0x7f;
      if (value >> 54 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  for (const char c : text) {
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7' || value >> 60 != 0) return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

// The sum of a header's bytes, with its own field counted as spaces.
uint64_t Checksum(const char* block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i) {
    const bool own =
        i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string PaxRecord(absl::string_view key, absl::string_view value) {
  // The length includes its own digits.
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (absl::StrCat(length).size() + rest != length) ++length;
  return absl::StrCat(length, " ", key, "=", value, "\n");
}

// A time as a decimal number, the form that pax has: 1.5 s before the epoch is
// "-1.5", while the kernel represents it as -2 s plus half a second.
std::string PaxTime(const struct timespec& time) {
  // Unsigned, because the lowest number of seconds has no positive counterpart.
  auto seconds = static_cast<uint64_t>(time.tv_sec);
  int64_t part = time.tv_nsec;
  const bool negative = time.tv_sec < 0;
  if (negative) {
    seconds = 0 - seconds;
    if (part > 0) {
      --seconds;
      part = kSecond - part;
    }
  }
  const std::string digits = absl::StrCat(part);
  return absl::StrCat(negative ? "-" : "", seconds, ".",
                      std::string(kFractionDigits - digits.size(), '0'),
                      digits);
}

bool AllDigits(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Reads what PaxTime writes, and similar numbers; digits beyond nanoseconds are
// ignored. A time outside the kernel's range becomes the nearest one in it: no
// archive is refused because of a file's time.
std::optional<struct timespec> ParseTime(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  const size_t dot = text.find('.');
  const absl::string_view whole = text.substr(0, dot);
  if (whole.empty() || !AllDigits(whole)) return std::nullopt;
  uint64_t seconds = 0;
  // The text has only digits, so this fails only when there are too many.
  if (!absl::SimpleAtoi(whole, &seconds)) seconds = UINT64_MAX;
  int64_t part = 0;
  if (dot != absl::string_view::npos) {
    std::string digits(text.substr(dot + 1, kFractionDigits));
    if (!AllDigits(digits)) return std::nullopt;
    digits.resize(kFractionDigits, '0');
    if (!absl::SimpleAtoi(digits, &part)) return std::nullopt;
  }
  constexpr auto kMax = static_cast<uint64_t>(INT64_MAX);
  struct timespec time = {};
  if (!negative) {
    time.tv_sec = static_cast<int64_t>(std::min(seconds, kMax));
    time.tv_nsec = part;
    return time;
  }
  if (seconds > kMax) {
    time.tv_sec = INT64_MIN;
    return time;
  }
  if (part > 0) {
    part = kSecond - part;
    // As a positive number, the whole seconds of this time would be one too
    // many.
    if (seconds == kMax) {
      time.tv_sec = INT64_MIN;
      time.tv_nsec = part;
      return time;
    }
    ++seconds;
  }
  time.tv_sec = -static_cast<int64_t>(seconds);
  time.tv_nsec = part;
  return time;
}

std::string Header(char type, absl::string_view path, absl::string_view link,
                   mode_t mode, uint64_t size, uint64_t mtime) {
  std::string block(kTarBlock, '\0');
  Put(block, kName, path);
  PutOctal(block, kMode, mode);
  PutOctal(block, kUid, 0);
  PutOctal(block, kGid, 0);
  PutOctal(block, kSize, size);
  PutOctal(block, kMtime, mtime);
  block[kType.offset] = type;
  Put(block, kLink, link);
  Put(block, kMagic, absl::string_view("ustar\00000", kMagic.size));
  PutOctal(block, {kChecksum.offset, kChecksum.size - 1},
           Checksum(block.data()));
  block[kChecksum.offset + kChecksum.size - 1] = ' ';
  return block;
}

bool IsZeroBlock(const char* block) {
  return std::all_of(block, block + kTarBlock, [](char c) { return c == 0; });
}

}  // namespace

size_t TarPadding(uint64_t size) {
  return static_cast<size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

std::string TarEnd() { return std::string(2 * kTarBlock, '\0'); }

std::string TarHeader(const TarMember& member) {
  std::string path = member.path;
  char type = '0';
  uint64_t size = 0;
  switch (member.type) {
    case TarType::kFile:
      size = member.size;
      break;
    case TarType::kDirectory:
      type = '5';
      path += '/';
      break;
    case TarType::kSymlink:
      type = '2';
      break;
    case TarType::kHardLink:
      type = '1';
      break;
    case TarType::kOther:
      type = '6';
      break;
  }
  const uint64_t seconds =
      member.mtime.tv_sec < 0
          ? 0
          : std::min(static_cast<uint64_t>(member.mtime.tv_sec), kMaxOctal);
  std::string pax;
  if (path.size() > kName.size) pax += PaxRecord("path", path);
  if (member.link.size() > kLink.size) {
    pax += PaxRecord("linkpath", member.link);
  }
  if (size > kMaxOctal) pax += PaxRecord("size", absl::StrCat(size));
  if (member.mtime.tv_sec != static_cast<int64_t>(seconds) ||
      member.mtime.tv_nsec != 0) {
    pax += PaxRecord("mtime", PaxTime(member.mtime));
  }
  std::string text;
  if (!pax.empty()) {
    text = Header('x', "PaxHeader", "", 0644, pax.size(), 0);
    text += pax;
    text.append(TarPadding(pax.size()), '\0');
  }
  text += Header(type, path, member.link, member.mode & 07777,
                 std::min(size, kMaxOctal), seconds);
  return text;
}

TarReader::Step TarReader::ReadBlock(char* block) {
  for (size_t done = 0; done < kTarBlock;) {
    const ssize_t got = source_(block + done, kTarBlock - done);
    if (got < 0) return Step::kUnreadable;
    if (got == 0) return Step::kCut;
    done += static_cast<size_t>(got);
  }
  return Step::kMember;
}

TarReader::Step TarReader::Skip(uint64_t size) {
  char buffer[4096];
  while (size > 0) {
    const ssize_t got =
        source_(buffer, std::min<uint64_t>(size, sizeof(buffer)));
    if (got < 0) return Step::kUnreadable;
    if (got == 0) return Step::kCut;
    size -= static_cast<uint64_t>(got);
  }
  return Step::kMember;
}

TarReader::Step TarReader::ReadText(uint64_t size, std::string& text) {
  if (size > kMaxExtensionBytes) return Step::kBad;
  text.resize(size);
  for (size_t done = 0; done < text.size();) {
    const ssize_t got = source_(text.data() + done, text.size() - done);
    if (got < 0) return Step::kUnreadable;
    if (got == 0) return Step::kCut;
    done += static_cast<size_t>(got);
  }
  return Skip(TarPadding(size));
}

bool TarReader::ParsePaxRecords(absl::string_view records) {
  while (!records.empty()) {
    const size_t space = records.find(' ');
    size_t length = 0;
    if (space == absl::string_view::npos ||
        !absl::SimpleAtoi(records.substr(0, space), &length) ||
        length > records.size() || length < space + 3 ||
        records[length - 1] != '\n') {
      return false;
    }
    const absl::string_view record =
        records.substr(space + 1, length - space - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == absl::string_view::npos) return false;
    const absl::string_view key = record.substr(0, equals);
    const absl::string_view value = record.substr(equals + 1);
    if (key == "path") {
      overrides_.path = std::string(value);
    } else if (key == "linkpath") {
      overrides_.link = std::string(value);
    } else if (key == "size") {
      uint64_t size = 0;
      if (!absl::SimpleAtoi(value, &size)) return false;
      overrides_.size = size;
    } else if (key == "mtime") {
      overrides_.mtime = ParseTime(value);
      if (!overrides_.mtime.has_value()) return false;
    } else if (absl::StartsWith(key, "GNU.sparse.")) {
      return false;  // its content isn't the file's
    }
  }
  return true;
}

// Reads headers that describe the member after them.
TarReader::Step TarReader::ParseExtension(char type, uint64_t size) {
  std::string text;
  if (const Step step = ReadText(size, text); step != Step::kMember) {
    return step;
  }
  if (type == 'x') return ParsePaxRecords(text) ? Step::kMember : Step::kBad;
  if (type == 'L' || type == 'K') {
    text.resize(std::min(text.find('\0'), text.size()));
    (type == 'L' ? overrides_.path : overrides_.link) = text;
  }
  return Step::kMember;
}

TarReader::Step TarReader::ParseHeader(const char* block, TarMember& member,
                                       bool& complete) {
  const std::optional<uint64_t> sum = GetNumber(block, kChecksum);
  const std::optional<uint64_t> size = GetNumber(block, kSize);
  const std::optional<uint64_t> mode = GetNumber(block, kMode);
  if (!sum.has_value() || *sum != Checksum(block) || !size.has_value() ||
      !mode.has_value()) {
    return Step::kBad;
  }
  const char type = block[kType.offset];
  if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
    return ParseExtension(type, *size);
  }
  member.path = GetText(block, kName);
  // GNU's own variant has other fields where ustar has the prefix.
  if (Get(block, kMagic).substr(0, 6) == absl::string_view("ustar", 6)) {
    const std::string prefix = GetText(block, kPrefix);
    if (!prefix.empty()) member.path = absl::StrCat(prefix, "/", member.path);
  }
  if (overrides_.path.has_value()) member.path = *overrides_.path;
  switch (type) {
    case '0':
    case '\0':
    case '7':
      // Before ustar, a slash at the end of the name marked a directory.
      member.type = absl::EndsWith(member.path, "/") ? TarType::kDirectory
                                                     : TarType::kFile;
      break;
    case '1':
      member.type = TarType::kHardLink;
      break;
    case '2':
      member.type = TarType::kSymlink;
      break;
    case '5':
      member.type = TarType::kDirectory;
      break;
    case '3':
    case '4':
    case '6':
      member.type = TarType::kOther;
      break;
    default:
      return Step::kBad;
  }
  member.link = overrides_.link.value_or(GetText(block, kLink));
  member.mode = static_cast<mode_t>(*mode & 07777);
  member.mtime = overrides_.mtime.value_or(
      timespec{.tv_sec = static_cast<int64_t>(std::min<uint64_t>(
                   GetNumber(block, kMtime).value_or(0), INT64_MAX)),
               .tv_nsec = 0});
  member.size = overrides_.size.value_or(*size);
  if (member.size > kMaxSize) return Step::kBad;
  // For other types the size means nothing, or is that of a link's target.
  if (member.type != TarType::kFile) member.size = 0;
  overrides_ = {};
  left_ = member.size;
  padding_ = TarPadding(left_);
  complete = true;
  return Step::kMember;
}

TarReader::Step TarReader::Next(TarMember& member) {
  if (const Step step = Skip(std::exchange(left_, 0)); step != Step::kMember) {
    return step;
  }
  if (const Step step = Skip(std::exchange(padding_, 0));
      step != Step::kMember) {
    return step;
  }
  char block[kTarBlock];
  for (bool complete = false; !complete;) {
    Step step = ReadBlock(block);
    if (step == Step::kMember && IsZeroBlock(block)) return Step::kEnd;
    if (step == Step::kMember) step = ParseHeader(block, member, complete);
    if (step != Step::kMember) return step;
  }
  return Step::kMember;
}

ssize_t TarReader::Read(char* data, size_t size) {
  if (left_ == 0) return 0;
  const ssize_t got = source_(data, std::min<uint64_t>(size, left_));
  if (got <= 0) return -1;
  left_ -= static_cast<uint64_t>(got);
  return got;
}

}  // namespace sandglass::sandbox
