#include "server/session/file_status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;

TEST(FileResults, PathsAreBelowTheWorkspaceUnlessTheyAreAbsolute) {
  EXPECT_EQ(*AgentPath("a/b"), "/workspace/a/b");
  EXPECT_EQ(*AgentPath("/tmp/a"), "/tmp/a");
  EXPECT_EQ(*AgentPath("", EmptyPath::kWorkspace), "/workspace");
  EXPECT_EQ(*AgentPath("../a"), "/workspace/../a");
  EXPECT_EQ(AgentPath("/" + std::string(4095, 'a'))->size(), 4096u);
  for (const std::string& bad :
       {std::string(), std::string("a\0b", 3), std::string(4096, 'a'),
        "/" + std::string(4096, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(AgentPath(bad).status()));
  }
}

TEST(FileResults, EveryCodeHasItsNameInTheApi) {
  std::set<std::string> reasons;
  for (int i = 1; i < sandbox::kFileCodeCount; ++i) {
    const auto code = static_cast<FileCode>(i);
    const std::string reason = FileReason(code);
    EXPECT_TRUE(reasons.insert(reason).second) << reason;
    EXPECT_TRUE(FileErrorCode_IsValid(ToProto(code))) << reason;
    std::string name = v1::FileErrorCode_Name(ToProto(code));
    name = name.substr(std::string("FILE_ERROR_CODE_").size());
    EXPECT_EQ(reason,
              code == FileCode::kNotFound ? name : absl::StrCat("FILE_", name));
    EXPECT_FALSE(FileStatus({code, 0}, "/a").ok()) << reason;
  }
}

TEST(FileResults, ErrorsAreValidTextWhateverThePath) {
  const absl::Status status =
      FileStatus({FileCode::kNotFound, 2}, "/workspace/\xff");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(IsValidUtf8(StdView(status.message())));
}

TEST(FileResults, WhereOneMayWriteIsSaidOfPathsElsewhere) {
  const auto says = [](int error, absl::string_view path) {
    const absl::Status status =
        FileStatus({FileCode::kPermissionDenied, error}, path);
    return absl::StrContains(
        status.message(), "may write below /workspace, /tmp and /home/sandbox");
  };
  EXPECT_TRUE(says(EROFS, "/hello.py"));
  EXPECT_TRUE(says(EACCES, "/etc/x"));
  EXPECT_TRUE(says(EACCES, "/workspaces"));
  EXPECT_FALSE(says(EACCES, "/workspace/closed/x"));
  EXPECT_FALSE(says(EACCES, "/tmp"));
}

TEST(FileResults, NamesThatAreNoUtf8AreToldBothWays) {
  sandbox::FileFacts facts;
  facts.name =
      "a\xff"
      "b\xe2\x82";
  facts.mode = 0100644;
  facts.type = sandbox::FileType::kRegular;
  v1::FileInfo info = ToProto(facts);
  EXPECT_EQ(info.path(),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(info.raw_path(), facts.name);
  EXPECT_EQ(info.mode(), 0644u);
  facts.name = "\xe2\x82\xac\n\xf0\x9f\x98\x80";
  info = ToProto(facts);
  EXPECT_EQ(info.path(), facts.name);
  EXPECT_EQ(info.raw_path(), "");
}

}  // namespace
}  // namespace sandglass::server
