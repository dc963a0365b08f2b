#include "gateway/connect/metadata.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/connect/base64.h"
#include "gateway/connect/connect_errors.h"
#include "policy/text/views.h"
#include "server/base/strings.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;
using policy::StdView;

constexpr std::array<std::string_view, 4> kPassedOn = {
    "authorization", "traceparent", "tracestate", "x-request-id"};

// Whoever may begin a name like this is not whoever calls.
constexpr std::array<std::string_view, 3> kReserved = {"connect-", "grpc-",
                                                       "sandglass-"};

// Of answers: what HTTP says about the connection, the content or the browser.
constexpr std::array<std::string_view, 27> kOfHttp = {"age",
                                                      "alt-svc",
                                                      "cache-control",
                                                      "clear-site-data",
                                                      "connection",
                                                      "cookie",
                                                      "date",
                                                      "etag",
                                                      "expires",
                                                      "host",
                                                      "keep-alive",
                                                      "last-modified",
                                                      "link",
                                                      "location",
                                                      "pragma",
                                                      "refresh",
                                                      "retry-after",
                                                      "server",
                                                      "set-cookie",
                                                      "te",
                                                      "trailer",
                                                      "transfer-encoding",
                                                      "upgrade",
                                                      "user-agent",
                                                      "vary",
                                                      "via",
                                                      "www-authenticate"};
constexpr std::array<std::string_view, 8> kOfHttpPrefixes = {
    "accept", "access-control-",   "content-", "proxy-",
    "sec-",   "strict-transport-", "trailer-", "x-content-type-"};

template <size_t kSize>
bool BeginsWithOne(std::string_view name,
                   const std::array<std::string_view, kSize>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) {
                       return name.substr(0, prefix.size()) == prefix;
                     });
}

template <size_t kSize>
bool IsOneOf(std::string_view name,
             const std::array<std::string_view, kSize>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsBinary(std::string_view name) {
  return absl::EndsWith(AbslView(name), "-bin");
}

// Connect's Header-Name.
bool IsName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == '.';
  });
}

// Several values of one name may have been joined by commas.
absl::Status AddBinary(const std::string& name, const std::string& value,
                       HeaderFields& metadata) {
  for (const absl::string_view part : absl::StrSplit(value, ',')) {
    std::optional<std::string> bytes =
        DecodeBase64(StdView(absl::StripAsciiWhitespace(part)));
    if (!bytes.has_value()) return BadHeader(name, "is not base64");
    metadata.push_back({name, *std::move(bytes)});
  }
  return absl::OkStatus();
}

absl::Status AddRequestField(const std::string& name, const std::string& value,
                             HeaderFields& metadata) {
  if (!server::IsPrintableAscii(value)) {
    return BadHeader(name, "has a character that is no printable ASCII");
  }
  if (IsBinary(name)) return AddBinary(name, value, metadata);
  metadata.push_back({name, value});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<std::string_view>> OnlyHeader(
    const HeaderFields& headers, std::string_view name) {
  std::optional<std::string_view> value;
  for (const HeaderField& header : headers) {
    if (!absl::EqualsIgnoreCase(header.name, AbslView(name))) continue;
    if (value.has_value()) return BadHeader(name, "is given twice");
    value = header.value;
  }
  return value;
}

absl::StatusOr<HeaderFields> RequestMetadata(const HeaderFields& headers) {
  HeaderFields metadata;
  size_t bytes = 0;
  for (const HeaderField& header : headers) {
    const std::string name = absl::AsciiStrToLower(header.name);
    const bool passed =
        IsOneOf(name, kPassedOn) ||
        (IsBinary(name) && IsName(name) && !BeginsWithOne(name, kReserved));
    if (!passed) continue;
    bytes += name.size() + header.value.size();
    if (bytes > kMaxMetadataBytes) {
      return BadHeader(name,
                       absl::StrCat("is too long; such headers may have ",
                                    kMaxMetadataBytes, " bytes together"));
    }
    if (absl::Status added = AddRequestField(name, header.value, metadata);
        !added.ok()) {
      return added;
    }
  }
  return metadata;
}

HeaderFields AnswerHeaders(const HeaderFields& metadata,
                           std::string_view prefix) {
  HeaderFields headers;
  for (const HeaderField& entry : metadata) {
    if (!IsName(entry.name) || BeginsWithOne(entry.name, kReserved) ||
        BeginsWithOne(entry.name, kOfHttpPrefixes) ||
        IsOneOf(entry.name, kOfHttp)) {
      continue;
    }
    std::string value =
        IsBinary(entry.name) ? UnpaddedBase64(entry.value) : entry.value;
    if (!server::IsPrintableAscii(value)) continue;
    headers.push_back(
        {absl::StrCat(AbslView(prefix), entry.name), std::move(value)});
  }
  return headers;
}

}  // namespace sandglass::gateway
