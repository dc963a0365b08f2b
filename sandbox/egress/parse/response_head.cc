#include "sandbox/egress/parse/response_head.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

constexpr int kBadGateway = 502;

// The status in "HTTP/1.1 200 OK" or "HTTP/1.1 200"; 0 when there is none.
int StatusOf(std::string_view line) {
  const bool ends = line.size() == 12 || (line.size() > 12 && line[12] == ' ');
  if (!ends || line[8] != ' ') return 0;
  const std::string_view digits = line.substr(9, 3);
  int status = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status >= 100 ? status : 0;
}

// Splits a list: "42, 42" is the same value twice.
void SplitLengths(std::string_view value, std::vector<std::string>& lengths) {
  while (true) {
    const size_t comma = value.find(',');
    lengths.emplace_back(
        absl::StripAsciiWhitespace(AbslView(value.substr(0, comma))));
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace

HeadState ResponseHeadParser::Feed(std::string_view& data) {
  while (state_ == HeadState::kNeedMore && lines_.Next(data)) {
    if (!ParseLine(lines_.line())) break;
  }
  if (state_ == HeadState::kNeedMore) RefuseBytes();
  return state_;
}

// Returns false when the head has ended, whether valid or not.
bool ResponseHeadParser::ParseLine(const std::string& line) {
  if (!started_) return started_ = ParseStatusLine(line);
  if (line.empty()) {
    if (Finish()) state_ = HeadState::kComplete;
    return false;
  }
  if (head_.fields.size() == kMaxFields) {
    return Refuse(
        absl::StrCat("its head has more than ", kMaxFields, " header lines"));
  }
  std::string words =
      ParseFieldLine(line, SpaceBeforeColon::kDropped, head_.fields);
  return words.empty() || Refuse(words);
}

bool ResponseHeadParser::ParseStatusLine(std::string_view line) {
  const std::string_view version = line.substr(0, 8);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Refuse(absl::StrCat("it begins with ", Quoted(line),
                               ", which is not HTTP/1.1 or HTTP/1.0"));
  }
  const int status = StatusOf(line);
  if (status == 0) {
    return Refuse(absl::StrCat("its status line is ", Quoted(line),
                               ", without a status of three digits"));
  }
  if (status == 101) {
    return Refuse(
        "its status is 101; no change of protocols was asked for, they go "
        "through CONNECT");
  }
  head_.minor_version = version.back() - '0';
  head_.status = status;
  head_.reason = std::string(line.substr(std::min<size_t>(line.size(), 13)));
  return true;
}

bool ResponseHeadParser::Finish() {
  FieldFacts facts;
  std::string words = CollectFacts(head_.fields, facts);
  if (!words.empty()) return Refuse(words);
  if (!ParseFraming(facts)) return false;
  const bool persists = head_.minor_version == 1 ? !facts.Lists("close")
                                                 : facts.Lists("keep-alive") &&
                                                       !facts.Lists("close");
  head_.keep_alive =
      persists && head_.framing.kind != BodyFraming::Kind::kUntilClose;
  head_.connection = std::move(facts.connection);
  return true;
}

// Follows RFC 9112, section 6.3, in its order.
bool ResponseHeadParser::ParseFraming(const FieldFacts& facts) {
  const auto& codings = facts.transfer_encoding;
  std::optional<uint64_t> length;
  if (!ParseLength(facts.content_length, length)) return false;
  if (!codings.empty()) {
    if (length) {
      return Refuse("it has a Content-Length and a Transfer-Encoding");
    }
    if (head_.minor_version == 0) {
      return Refuse("it has a Transfer-Encoding with HTTP/1.0");
    }
    if (codings.size() > 1 || !EqualsIgnoreCase(codings[0], "chunked")) {
      return Refuse(absl::StrCat("its Transfer-Encoding is ",
                                 Quoted(codings[0]),
                                 codings.size() > 1 ? " and more" : "",
                                 "; \"chunked\" alone is known"));
    }
  }
  if (BodyIsEmpty()) {
    if (method_ == "HEAD" || head_.status == 304) {
      head_.length_elsewhere = length;
    }
    head_.framing.kind = BodyFraming::Kind::kNone;
  } else if (!codings.empty()) {
    head_.framing.kind = BodyFraming::Kind::kChunked;
  } else if (length) {
    head_.framing = {BodyFraming::Kind::kLength, *length};
  } else {
    head_.framing.kind = BodyFraming::Kind::kUntilClose;
  }
  return true;
}

bool ResponseHeadParser::ParseLength(const std::vector<std::string>& values,
                                     std::optional<uint64_t>& length) {
  std::vector<std::string> lengths;
  for (const std::string& value : values) SplitLengths(value, lengths);
  for (const std::string& text : lengths) {
    const auto number = ParseContentLength(text);
    if (!number) {
      return Refuse(absl::StrCat("its Content-Length is ", Quoted(text),
                                 ", which is no number up to ",
                                 kMaxContentLength));
    }
    if (length && *length != *number) {
      return Refuse(absl::StrCat("its Content-Length is ", *length, " and ",
                                 *number, " at once"));
    }
    length = number;
  }
  return true;
}

bool ResponseHeadParser::BodyIsEmpty() const {
  return head_.interim() || head_.status == 204 || head_.status == 304 ||
         method_ == "HEAD" ||
         (method_ == "CONNECT" && head_.status >= 200 && head_.status < 300);
}

bool ResponseHeadParser::RefuseBytes() {
  switch (lines_.problem()) {
    case HeadLines::Problem::kNone:
      return true;
    case HeadLines::Problem::kBadByte:
      return Refuse(absl::StrCat("it has ", lines_.words()));
    case HeadLines::Problem::kLongStart:
      return Refuse(absl::StrCat("its status line has more than ",
                                 kMaxStartLineBytes, " bytes"));
    case HeadLines::Problem::kLongHead:
      return Refuse(
          absl::StrCat("its head has more than ", kMaxHeadBytes, " bytes"));
  }
  return true;
}

bool ResponseHeadParser::Refuse(const std::string& words) {
  state_ = HeadState::kRefused;
  refusal_ = {kBadGateway,
              absl::StrCat("the server's answer can't be passed on: ", words)};
  return false;
}

BodyFraming DownstreamFraming(const ResponseHead& head,
                              int client_minor_version) {
  if (head.framing.kind == BodyFraming::Kind::kChunked &&
      client_minor_version == 0) {
    return {BodyFraming::Kind::kUntilClose};
  }
  return head.framing;
}

std::string SerializeResponseHead(const ResponseHead& head,
                                  const BodyFraming& framing, bool keep_alive) {
  std::string out =
      absl::StrCat("HTTP/1.1 ", head.status, " ", head.reason, "\r\n");
  for (const HttpField& field : head.fields) {
    if (IsFramingField(field.name) || IsHopByHop(field.name, head.connection)) {
      continue;
    }
    AppendField(field.name, field.value, out);
  }
  AppendFraming(framing, out);
  if (head.length_elsewhere) {
    AppendFraming({BodyFraming::Kind::kLength, *head.length_elsewhere}, out);
  }
  AppendVia(head.minor_version, out);
  // An interim response says nothing about the connection.
  const bool closes =
      !keep_alive || framing.kind == BodyFraming::Kind::kUntilClose;
  if (closes && !head.interim()) AppendField("Connection", "close", out);
  return out.append("\r\n");
}

}  // namespace sandglass::egress
