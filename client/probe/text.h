#ifndef SANDGLASS_CLIENT_PROBE_TEXT_H_
#define SANDGLASS_CLIENT_PROBE_TEXT_H_

#include <string>
#include <vector>

namespace sandglass::probe {

// The content of a small file, for example in /proc; empty when it can't be
// read.
std::string ReadAll(const std::string& path);

// The names in a directory, without "." and "..".
std::vector<std::string> Entries(const std::string& path);

// The path of what has this name in a directory.
std::string Below(const std::string& directory, const std::string& name);

std::vector<std::string> Split(const std::string& text, char separator);
inline std::vector<std::string> Lines(const std::string& text) {
  return Split(text, '\n');
}

}  // namespace sandglass::probe

#endif  // SANDGLASS_CLIENT_PROBE_TEXT_H_
