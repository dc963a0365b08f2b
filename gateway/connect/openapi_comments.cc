#include "gateway/connect/openapi_comments.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/connect/api_descriptors.h"
#include "google/protobuf/descriptor.pb.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

const DescriptorPool* BuildPool() {
  auto* const pool = new DescriptorPool();
  FileDescriptorSet files;
  const std::string_view bytes = ApiDescriptors();
  files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  // Each stands after those that it needs.
  for (const FileDescriptorProto& file : files.file()) pool->BuildFile(file);
  return pool;
}

}  // namespace

const DescriptorPool& CommentedPool() {
  static const DescriptorPool* const pool = BuildPool();
  return *pool;
}

std::string CommentText(const google::protobuf::SourceLocation& location) {
  const std::string& comment = location.leading_comments.empty()
                                   ? location.trailing_comments
                                   : location.leading_comments;
  std::string text;
  bool paragraph = false;
  for (const absl::string_view line : absl::StrSplit(comment, '\n')) {
    const absl::string_view words = absl::StripAsciiWhitespace(line);
    if (words.empty()) {
      paragraph = !text.empty();
      continue;
    }
    absl::StrAppend(&text, text.empty() ? "" : paragraph ? "\n\n" : " ", words);
    paragraph = false;
  }
  return text;
}

}  // namespace sandglass::gateway
