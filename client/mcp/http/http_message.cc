#include "client/mcp/http/http_message.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sandglass::client {
namespace {

bool IsToken(absl::string_view text) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kMarks.find(c) != absl::string_view::npos;
  });
}

bool IsFieldValue(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || !absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

absl::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// Reads a line such as "POST /mcp HTTP/1.1".
bool ParseRequestLine(absl::string_view line, HttpRequest& request) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3 || !IsToken(parts[0]) || parts[1].empty() ||
      parts[1][0] != '/' || !IsFieldValue(parts[1]) ||
      (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0")) {
    return false;
  }
  request.method = std::string(parts[0]);
  request.target = std::string(parts[1]);
  return true;
}

}  // namespace

std::optional<std::string> HttpRequest::Header(absl::string_view name) const {
  if (Count(name) != 1) return std::nullopt;
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return std::nullopt;
}

size_t HttpRequest::Count(absl::string_view name) const {
  return static_cast<size_t>(
      std::count_if(headers.begin(), headers.end(),
                    [&](const auto& each) { return each.first == name; }));
}

std::string HttpRequest::Path() const {
  return target.substr(0, target.find('?'));
}

std::optional<HttpRequest> ParseHttpHead(absl::string_view head) {
  HttpRequest request;
  bool first = true;
  for (absl::string_view line : absl::StrSplit(head, "\r\n")) {
    if (first) {
      if (!ParseRequestLine(line, request)) return std::nullopt;
      first = false;
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || !IsToken(line.substr(0, colon)) ||
        !IsFieldValue(line)) {
      return std::nullopt;
    }
    request.headers.emplace_back(
        absl::AsciiStrToLower(line.substr(0, colon)),
        absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return request;
}

BodyLength BodyLengthOf(const HttpRequest& request) {
  const size_t lengths = request.Count("content-length");
  if (request.Count("transfer-encoding") > 0) {
    return {lengths > 0 ? 400 : 411, 0};
  }
  if (lengths == 0) return {request.method == "POST" ? 411 : 0, 0};
  const std::optional<std::string> text = request.Header("content-length");
  uint64_t bytes = 0;
  if (!text || text->empty() ||
      !std::all_of(text->begin(), text->end(),
                   [](unsigned char c) { return absl::ascii_isdigit(c); }) ||
      !absl::SimpleAtoi(*text, &bytes)) {
    return {400, 0};
  }
  return {0, bytes};
}

std::string HttpText(const HttpResponse& response) {
  std::string text = absl::StrCat("HTTP/1.1 ", response.status, " ",
                                  Reason(response.status), "\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  if (!response.content_type.empty()) {
    absl::StrAppend(&text, "Content-Type: ", response.content_type, "\r\n");
  }
  absl::StrAppend(&text, "Content-Length: ", response.body.size(),
                  "\r\nConnection: close\r\n\r\n", response.body);
  return text;
}

std::string EventStreamHead() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
         "Cache-Control: no-cache, no-transform\r\n"
         "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n";
}

std::string EventText(absl::string_view data) {
  return absl::StrCat("event: message\ndata: ", data, "\n\n");
}

}  // namespace sandglass::client
