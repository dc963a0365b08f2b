// An archive that is unpacked: the first byte says what stands there already,
// the rest is the archive. A secret stands beside the directory: nothing may
// reach it. What could be read is written again and has to read the same.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "sandbox/archive/tar.h"
#include "sandbox/archive/unpack.h"
#include "sandbox/os/files.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

constexpr char kSecret[] = "secret";
constexpr uint64_t kMaxBytes = 64 * 1024;
constexpr uint64_t kMaxEntries = 16;

// A source that gives some bytes at a time.
TarReader::Source Pieces(std::string_view& rest, size_t piece) {
  return [&rest, piece](char* data, size_t size) {
    const size_t given = rest.copy(data, std::min(size, piece));
    rest.remove_prefix(given);
    return static_cast<ssize_t>(given);
  };
}

void Repeat(std::string_view archive) {
  std::string again;
  std::vector<TarMember> members;
  TarReader reader(Pieces(archive, 512));
  TarMember member;
  while (reader.Next(member) == TarReader::Step::kMember) {
    // Without content; and a name's end says what a directory is.
    member.size = 0;
    while (!member.path.empty() && member.path.back() == '/') {
      member.path.pop_back();
    }
    if (member.path.find('\0') != std::string::npos ||
        member.link.find('\0') != std::string::npos) {
      continue;
    }
    if (member.type != TarType::kHardLink && member.type != TarType::kSymlink) {
      member.link.clear();
    }
    members.push_back(member);
    again += TarHeader(member);
  }
  again += TarEnd();
  std::string_view rest = again;
  TarReader second(Pieces(rest, 4096));
  for (const TarMember& expected : members) {
    FUZZ_CHECK(second.Next(member) == TarReader::Step::kMember);
    FUZZ_CHECK(member.type == expected.type);
    while (!member.path.empty() && member.path.back() == '/') {
      member.path.pop_back();
    }
    FUZZ_CHECK(member.path == expected.path);
    FUZZ_CHECK(member.link == expected.link);
    FUZZ_CHECK(member.mode == expected.mode);
    FUZZ_CHECK(member.mtime.tv_sec == expected.mtime.tv_sec);
    FUZZ_CHECK(member.mtime.tv_nsec == expected.mtime.tv_nsec);
  }
  FUZZ_CHECK(second.Next(member) == TarReader::Step::kEnd);
}

void Run(fuzz::Input input) {
  const uint8_t there = input.Byte();
  std::string_view archive = input.Rest();
  Repeat(archive);
  const fuzz::Directory outside;
  outside.Write(kSecret, kSecret);
  const std::string base = outside.Path("base");
  FUZZ_CHECK(::mkdir(base.c_str(), 0700) == 0);
  const os::Fd directory(
      ::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if ((there & 1) != 0) ::symlinkat("..", directory.get(), "a");
  if ((there & 2) != 0) ::mkdirat(directory.get(), "b", 0755);
  if ((there & 4) != 0) ::mkfifoat(directory.get(), "c", 0644);
  TarReader reader(Pieces(archive, there | 1));
  Unpacker unpacker(directory, kMaxBytes, kMaxEntries);
  const FileResult result = unpacker.Run(reader);
  FUZZ_CHECK(unpacker.bytes() <= kMaxBytes);
  FUZZ_CHECK(unpacker.entries() <= kMaxEntries);
  FUZZ_CHECK(result.code != FileCode::kCancelled);
  const auto secret = os::ReadWholeFile(outside.Path(kSecret));
  FUZZ_CHECK(secret.ok() && *secret == kSecret);
  FUZZ_CHECK(std::filesystem::hard_link_count(outside.Path(kSecret)) == 1);
  size_t names = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(outside.path())) {
    ++names;
    (void)entry;
  }
  FUZZ_CHECK(names == 2);
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::sandbox::Run({data, size});
  return 0;
}
