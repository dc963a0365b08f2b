#include "sandbox/egress/parse/body_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

std::optional<uint64_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint64_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint64_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint64_t>(c - 'A' + 10);
  return std::nullopt;
}

std::string Shown(char c) { return Quoted(std::string_view(&c, 1)); }

}  // namespace

BodyReader::BodyReader(const BodyFraming& framing)
    : kind_(framing.kind), left_(framing.length) {
  const bool empty = kind_ == BodyFraming::Kind::kNone ||
                     (kind_ == BodyFraming::Kind::kLength && left_ == 0);
  if (empty) state_ = State::kEnd;
  if (kind_ == BodyFraming::Kind::kChunked) left_ = 0;
}

std::string_view BodyReader::Read(std::string_view& data) {
  if (state_ != State::kMore) return {};
  switch (kind_) {
    case BodyFraming::Kind::kNone:
      return {};
    case BodyFraming::Kind::kUntilClose:
      return std::exchange(data, data.substr(data.size()));
    case BodyFraming::Kind::kLength: {
      const std::string_view content = ConsumeContent(data);
      if (left_ == 0) state_ = State::kEnd;
      return content;
    }
    case BodyFraming::Kind::kChunked:
      break;
  }
  while (!data.empty() && state_ == State::kMore) {
    if (place_ == Place::kData) {
      const std::string_view content = ConsumeContent(data);
      if (left_ == 0) place_ = Place::kDataCr;
      return content;
    }
    ParseByte(data.front());
    data.remove_prefix(1);
  }
  return {};
}

bool BodyReader::AtClose() const {
  return state_ == State::kEnd ||
         (state_ == State::kMore && kind_ == BodyFraming::Kind::kUntilClose);
}

std::string_view BodyReader::ConsumeContent(std::string_view& data) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, data.size()));
  const std::string_view content = data.substr(0, size);
  data.remove_prefix(size);
  left_ -= size;
  return content;
}

void BodyReader::ParseByte(char c) {
  switch (place_) {
    case Place::kSize:
      return ParseSize(c);
    case Place::kExtension:
      return ParseExtension(c);
    case Place::kSizeLf:
      if (c == '\n') return EndOfSize();
      return Expect(c, '\n', Place::kSizeLf);
    case Place::kData:
      return;
    case Place::kDataCr:
      return Expect(c, '\r', Place::kDataLf);
    case Place::kDataLf:
      return Expect(c, '\n', Place::kSize);
    case Place::kTrailer:
    case Place::kTrailerLine:
      return ParseTrailer(c);
    case Place::kTrailerLf:
      return Expect(c, '\n', Place::kTrailer);
    case Place::kLastLf:
      Expect(c, '\n', Place::kLastLf);
      if (state_ == State::kMore) state_ = State::kEnd;
      return;
  }
}

void BodyReader::ParseSize(char c) {
  if (const auto digit = HexDigit(c)) {
    if (++digits_ > kMaxChunkDigits || left_ > (kMaxContentLength >> 4)) {
      return Refuse(absl::StrCat("a chunk's size has more than ",
                                 kMaxChunkDigits, " digits or is above ",
                                 kMaxContentLength));
    }
    left_ = left_ << 4 | *digit;
    return;
  }
  if (digits_ == 0) {
    return Refuse(absl::StrCat("a chunk begins with ", Shown(c),
                               "; it begins with its size in hexadecimal"));
  }
  place_ = Place::kExtension;
  extension_named_ = false;
  ParseExtension(c);
}

// White space without an extension is accepted as well: some servers pad a size
// with it.
void BodyReader::ParseExtension(char c) {
  if (c == '\r') {
    place_ = Place::kSizeLf;
    return;
  }
  if (c == ';') extension_named_ = true;
  const bool blank = c == ' ' || c == '\t';
  if (IsControl(c) || (!extension_named_ && !blank)) {
    return Refuse(absl::StrCat("behind a chunk's size there is ", Shown(c),
                               "; an extension begins with \";\" and a line "
                               "ends with CRLF"));
  }
  if (++extension_bytes_ > kMaxExtensionBytes) {
    Refuse(absl::StrCat("the body has more than ", kMaxExtensionBytes,
                        " bytes of chunk extensions; leave them out"));
  }
}

void BodyReader::EndOfSize() {
  place_ = left_ > 0 ? Place::kData : Place::kTrailer;
  digits_ = 0;
}

void BodyReader::ParseTrailer(char c) {
  if (++trailer_bytes_ > kMaxTrailerBytes) {
    return Refuse(absl::StrCat("the body has more than ", kMaxTrailerBytes,
                               " bytes of trailers; leave them out"));
  }
  if (c == '\r') {
    place_ = place_ == Place::kTrailer ? Place::kLastLf : Place::kTrailerLf;
    return;
  }
  if (IsControl(c)) {
    return Refuse(absl::StrCat("a trailer has the control character ", Shown(c),
                               "; lines end with CRLF"));
  }
  place_ = Place::kTrailerLine;
}

void BodyReader::Expect(char c, char wanted, Place next) {
  if (c == wanted) {
    place_ = next;
    return;
  }
  Refuse(absl::StrCat("in a chunked body there is ", Shown(c), " instead of ",
                      Shown(wanted),
                      "; a chunk is as long as its size says, "
                      "and lines end with CRLF"));
}

void BodyReader::Refuse(std::string words) {
  state_ = State::kRefused;
  words_ = std::move(words);
}

void AppendChunkHead(uint64_t size, std::string& out) {
  absl::StrAppend(&out, absl::Hex(size), "\r\n");
}

}  // namespace sandglass::egress
