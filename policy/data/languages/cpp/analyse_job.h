// The input of an analyser: the files that it reads, and a sample. Also how an
// analyser that was started ahead of its job reports that it waits, and then
// gets the files' names (sandbox/jail/job_frame.h).
#ifndef SANDGLASS_ANALYSE_JOB_H_
#define SANDGLASS_ANALYSE_JOB_H_

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct LookJob {
  std::vector<std::string> files;
  // Has to be written after everything else, with the exit code and a line
  // feed; empty: it must not be written.
  std::string end;
};

inline void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw std::runtime_error("can't write the facts");
    text.remove_prefix(static_cast<size_t>(wrote));
  }
}

inline std::string ReadFromInput(size_t size) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t got = ::read(STDIN_FILENO, &bytes[have], size - have);
    if (got < 0 && errno == EINTR) continue;
    // The daemon has given up the jail.
    if (got <= 0) std::exit(0);
    have += static_cast<size_t>(got);
  }
  return bytes;
}

inline LookJob AwaitJob() {
  WriteAll("sandglass: waiting\n");
  size_t size = 0;
  for (const char byte : ReadFromInput(4)) {
    size = size << 8 | static_cast<unsigned char>(byte);
  }
  const std::string frame = ReadFromInput(size);
  std::vector<std::string> words;
  for (size_t at = 0; at < frame.size(); at += words.back().size() + 1) {
    words.emplace_back(frame.c_str() + at);
  }
  LookJob job;
  if (words.size() < 2) throw std::runtime_error("no job came");
  const std::string& secret = words[0];
  if (!secret.empty()) {
    job.end = std::string(1, '\0') + "sandglass: over " + secret + " ";
  }
  const size_t count = std::stoul(words[1]);
  for (size_t i = 2; i < words.size() && i < count + 2; ++i) {
    job.files.push_back(words[i]);
  }
  return job;
}

inline std::string Read(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::runtime_error("can't read " + name);
  if (text.compare(0, 3, "\xef\xbb\xbf") == 0) text.erase(0, 3);
  return text;
}

// A program that it analyses before it waits, so that the analyser is in memory
// when the real program comes.
inline constexpr char kSample[] = R"(
#include <cstdio>
#define RUN std::system
namespace fs = std::filesystem;
template <typename T> struct Box { std::vector<T> values; auto size() const; };
int main(int n, char** v) {
  std::ofstream file("out", std::ios::app);
  for (auto& value : Box<int>{}.values) { if (n > 1) RUN("id"); else value++; }
  while (true) { switch (n) { case 1: break; default: std::exit(0x1f); } }
  do { fopen(v[0], 'r' ? "w" : "r"); } while (!n);
}
)";

#endif  // SANDGLASS_ANALYSE_JOB_H_
