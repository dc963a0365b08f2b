#include "client/probe/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace sandglass::probe {

std::string ReadAll(const std::string& path) {
  constexpr size_t kMax = 1 << 20;
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  ssize_t size = 0;
  while (text.size() < kMax && (size = read(fd, part, sizeof(part))) > 0) {
    text.append(part, static_cast<size_t>(size));
  }
  close(fd);
  return text;
}

std::vector<std::string> Entries(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(directory);
  return names;
}

std::string Below(const std::string& directory, const std::string& name) {
  return directory + "/" + name;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = text.find(separator, start);
    const std::string part = text.substr(
        start, end == std::string::npos ? std::string::npos : end - start);
    if (!part.empty()) parts.push_back(part);
    if (end == std::string::npos) break;
    start = end + 1;
  }
  return parts;
}

}  // namespace sandglass::probe
