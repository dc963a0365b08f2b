// Files that came back from a run, under the names that its program chose, on
// the user's own disk. Links and files stand in the way; nothing is written but
// below the directory.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/run/fetch_writer.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::client {
namespace {

constexpr char kSecret[] = "secret";

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Write(fuzz::Input& input, const FetchWriter& writer,
           const std::string& directory) {
  v1::OutputFile file;
  file.set_path(input.Text());
  file.set_content(input.Text());
  file.set_mode(input.Short());
  file.set_error(static_cast<v1::FileError>(input.Byte() / 32));
  const bool passes = CheckFetchPath(file.path()).ok();
  const absl::Status written = writer.Write(file);
  if (!written.ok()) return;
  FUZZ_CHECK(passes && file.error() == v1::FILE_ERROR_UNSPECIFIED);
  const std::string path = directory + "/" + file.path();
  struct stat info = {};
  FUZZ_CHECK(::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode));
  FUZZ_CHECK((info.st_mode & (S_ISUID | S_ISGID | S_ISVTX | S_IWOTH)) == 0);
  FUZZ_CHECK(std::filesystem::canonical(path).string() == path);
  FUZZ_CHECK(Content(path) == file.content());
}

void Run(fuzz::Input input) {
  const fuzz::Directory outside;
  outside.Write(kSecret, kSecret);
  const std::string directory = outside.Path("fetched");
  FUZZ_CHECK(::mkdir(directory.c_str(), 0700) == 0);
  // What stands there already.
  FUZZ_CHECK(::symlink("..", (directory + "/up").c_str()) == 0);
  FUZZ_CHECK(::symlink(("../" + std::string(kSecret)).c_str(),
                       (directory + "/link").c_str()) == 0);
  FUZZ_CHECK(::mkfifo((directory + "/fifo").c_str(), 0600) == 0);
  FUZZ_CHECK(::mkdir((directory + "/d").c_str(), 0700) == 0);
  const auto writer = FetchWriter::Open(directory, (input.Byte() & 1) != 0
                                                       ? ExistingFile::kReplace
                                                       : ExistingFile::kKeep);
  FUZZ_CHECK(writer.ok());
  for (int left = 8; left > 0 && !input.empty(); --left) {
    Write(input, *writer, directory);
  }
  FUZZ_CHECK(Content(outside.Path(kSecret)) == kSecret);
  const std::filesystem::directory_iterator names(outside.path());
  FUZZ_CHECK(std::distance(begin(names), end(names)) == 2);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    // What it writes into first (fetch_writer.cc); a program may call a file of
    // its own nearly so.
    FUZZ_CHECK(entry.path().filename().string() !=
               absl::StrCat(".sandglass-fetch-", ::getpid(), "-0.tmp"));
  }
}

}  // namespace
}  // namespace sandglass::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::client::Run({data, size});
  return 0;
}
