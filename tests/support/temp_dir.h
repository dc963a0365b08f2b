#ifndef SANDGLASS_TESTS_SUPPORT_TEMP_DIR_H_
#define SANDGLASS_TESTS_SUPPORT_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sandglass::testing {

// A new directory that goes away with its object. Its path is short enough for
// a socket's address.
class TempDir {
 public:
  TempDir() : TempDir("/tmp") {}
  // In a directory of the test's choice, such as one in memory.
  explicit TempDir(const std::string& parent) {
    std::string name = parent + "/sandglass-unit-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// "<missing>" when there is no such file.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "<missing>";
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_TEMP_DIR_H_
