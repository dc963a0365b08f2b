#ifndef SANDGLASS_TESTS_FUZZ_FILES_H_
#define SANDGLASS_TESTS_FUZZ_FILES_H_

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "sandbox/os/fd.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::fuzz {

// A directory in memory that goes away with its object.
class Directory {
 public:
  Directory() {
    char name[] = "/dev/shm/sandglass-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

  void Write(const std::string& name, std::string_view text) const {
    const os::Fd file(::open(Path(name).c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    FUZZ_CHECK(::write(file.get(), text.data(), text.size()) ==
               static_cast<ssize_t>(text.size()));
  }

 private:
  std::string path_;
};

}  // namespace sandglass::fuzz

#endif  // SANDGLASS_TESTS_FUZZ_FILES_H_
