// Whatever a file agent packs it unpacks again: trees of files as only hostile
// code or a fuzzer makes them, by chance but the same ones in each run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "sandbox/archive/tar.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/files.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Parents = FileAgent::Parents;

constexpr uint64_t kPlenty = uint64_t{1} << 30;
constexpr uint32_t kMaxEntries = 100'000;
constexpr int64_t kYear2486 = 16'283'462'400;
constexpr int64_t kYear1600 = -11'676'096'000;

constexpr int64_t kSeconds[] = {
    0, 1, -1, kYear2486, kYear1600, INT64_MAX, INT64_MIN, INT64_MAX - 1,
    // Where nanoseconds end that are counted in 64 bits, and what eleven octal
    // digits can say.
    9'223'372'036, 9'223'372'037, -9'223'372'036, -9'223'372'037, 077777777777,
    0100000000000, 2'147'483'648, -62'135'596'801};
constexpr int64_t kParts[] = {0, 1, 500'000'000, 999'999'999};
constexpr size_t kNameSizes[] = {1, 2, 8, 99, 100, 101, 254, 255};
constexpr size_t kLinkSizes[] = {1, 99, 100, 101, 255, 1000, PATH_MAX - 1};
constexpr uint64_t kFileSizes[] = {0,    1,    511,    512,      513,
                                   4096, 4097, 70'000, 1'000'000};

// What of a file comes back.
struct Kept {
  mode_t type = 0;
  mode_t mode = 0;  // not of links
  int64_t seconds = 0;
  int64_t nanos = 0;
  std::string content;     // of a link where it leads to
  std::string first_name;  // of a file with several names the first of them

  bool operator==(const Kept&) const = default;
};

std::string Describe(const Kept& kept) {
  return absl::StrCat(absl::Hex(kept.type), " ", absl::Hex(kept.mode), " ",
                      kept.seconds, ".", kept.nanos, " ", kept.content.size(),
                      " bytes, ", absl::CHexEscape(kept.first_name));
}

using Tree = std::map<std::string, Kept>;

// Reads what is below a directory; FIFOs and sockets aren't told.
void ReadTree(int at, const std::string& path,
              std::map<std::pair<dev_t, ino_t>, std::string>& names,
              Tree& tree) {
  const std::string place = absl::StrCat("/proc/self/fd/", at);
  std::vector<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    entries.push_back(entry.path().filename().string());
  }
  std::sort(entries.begin(), entries.end());
  for (const std::string& name : entries) {
    struct stat info = {};
    ASSERT_EQ(::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0);
    const std::string own = path.empty() ? name : absl::StrCat(path, "/", name);
    Kept kept = {.type = info.st_mode & S_IFMT,
                 .seconds = info.st_mtim.tv_sec,
                 .nanos = info.st_mtim.tv_nsec};
    // The set-id bits and the sticky bit aren't unpacked.
    if (!S_ISLNK(info.st_mode)) kept.mode = info.st_mode & 0777;
    if (S_ISREG(info.st_mode)) {
      const os::Fd file(::openat(at, name.c_str(), O_RDONLY | O_CLOEXEC));
      ASSERT_TRUE(file.valid());
      kept.content.resize(static_cast<size_t>(info.st_size));
      ASSERT_EQ(
          ::pread(file.get(), kept.content.data(), kept.content.size(), 0),
          info.st_size);
      kept.first_name =
          names.try_emplace({info.st_dev, info.st_ino}, own).first->second;
    } else if (S_ISLNK(info.st_mode)) {
      char target[PATH_MAX];
      const ssize_t size =
          ::readlinkat(at, name.c_str(), target, sizeof(target));
      ASSERT_GT(size, 0);
      kept.content.assign(target, static_cast<size_t>(size));
    } else if (!S_ISDIR(info.st_mode)) {
      continue;
    }
    tree[own] = kept;
    if (!S_ISDIR(info.st_mode)) continue;
    const os::Fd below(
        ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(below.valid());
    ReadTree(below.get(), own, names, tree);
  }
}

class FileRoundTripTest : public sandglass::testing::AgentFixture {
 protected:
  Tree TreeAt(const std::string& path) const {
    const os::Fd top(
        ::open(At(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(top.valid());
    std::map<std::pair<dev_t, ino_t>, std::string> names;
    Tree tree;
    ReadTree(top.get(), "", names, tree);
    return tree;
  }

  // Packs one directory, unpacks the archive into another, and compares.
  void ExpectBack(const std::string& from, const std::string& to,
                  uint64_t left_out) {
    const absl::StatusOr<os::Fd> archive = os::MakeMemfd("tar", "");
    ASSERT_TRUE(archive.ok());
    const auto packed = agent().Pack(from, *archive, kPlenty, limits_);
    ASSERT_TRUE(packed.ok()) << FileCodeName(packed.result.code);
    EXPECT_EQ(packed.value.left_out, left_out);
    // The second time over what the first left.
    for (int i = 0; i < 2; ++i) {
      const auto unpacked = agent().Unpack(to, *archive, Parents::kMake,
                                           kPlenty, kMaxEntries, limits_);
      ASSERT_TRUE(unpacked.ok()) << FileCodeName(unpacked.result.code);
      EXPECT_EQ(unpacked.value.entries, packed.value.entries);
      ExpectSame(TreeAt(from), TreeAt(to));
    }
  }

  static void ExpectSame(const Tree& wanted, const Tree& got) {
    EXPECT_EQ(wanted.size(), got.size());
    for (const auto& [path, kept] : wanted) {
      const auto found = got.find(path);
      const std::string name = absl::CHexEscape(path.substr(0, 300));
      if (found == got.end()) {
        ADD_FAILURE() << "isn't there: " << name;
      } else if (!(kept == found->second)) {
        ADD_FAILURE() << name << ": " << Describe(kept) << " came back as "
                      << Describe(found->second);
      }
    }
  }
};

// Makes a tree that depends on its seed alone.
class Grower {
 public:
  explicit Grower(uint32_t seed) : random_(seed) {}

  void Grow(int at, const std::string& path, int depth) {
    const int count = 2 + Below(7);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const std::string name = Name();
      const std::string own = absl::StrCat(path, "/", name);
      struct stat info = {};
      if (own.size() > PATH_MAX - 300 ||
          ::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
        continue;
      }
      Make(at, name, own, depth);
      names.push_back(name);
    }
    for (const std::string& name : names) SetTime(at, name);
  }

  uint64_t left_out() const { return left_out_; }

 private:
  int Below(int end) {
    return static_cast<int>(random_() % static_cast<uint32_t>(end));
  }
  template <typename T, size_t kSize>
  T OneOf(const T (&all)[kSize]) {
    return all[Below(static_cast<int>(kSize))];
  }

  // Any bytes but NUL and, in a name, slashes.
  std::string Bytes(size_t size, bool slashes) {
    std::string bytes(size, '\0');
    for (char& c : bytes) {
      do {
        c = static_cast<char>(1 + Below(255));
      } while (c == '/' && !slashes);
    }
    return bytes;
  }
  std::string Name() {
    std::string name = Bytes(OneOf(kNameSizes), false);
    if (name == "." || name == "..") name = "...";
    return name;
  }

  void Make(int at, const std::string& name, const std::string& own,
            int depth) {
    switch (Below(10)) {
      case 0:
        ASSERT_EQ(::symlinkat(Target().c_str(), at, name.c_str()), 0);
        return;
      case 1:
        ASSERT_EQ(::mkfifoat(at, name.c_str(), 0644), 0);
        ++left_out_;
        return;
      case 2:
      case 3:
        if (files_.empty()) break;
        ASSERT_EQ(::linkat(root_,
                           files_[static_cast<size_t>(
                                      Below(static_cast<int>(files_.size())))]
                               .c_str(),
                           at, name.c_str(), 0),
                  0);
        return;
      case 4:
      case 5:
      case 6: {
        if (depth == 0) break;
        ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
        const os::Fd below(
            ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(below.valid());
        Grow(below.get(), own, depth - 1);
        ASSERT_EQ(::fchmod(below.get(), static_cast<mode_t>(Below(010000))), 0);
        return;
      }
      default:
        break;
    }
    MakeFile(at, name);
    files_.push_back(own.substr(1));
  }

  std::string Target() {
    constexpr const char* kUsual[] = {
        "/", "..", ".", "/etc/passwd", "loop", "../../../../../../../../etc"};
    return Below(2) == 0 ? OneOf(kUsual) : Bytes(OneOf(kLinkSizes), true);
  }

  // Bytes with holes between them.
  void MakeFile(int at, const std::string& name) {
    const os::Fd file(::openat(at, name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
    const uint64_t size = OneOf(kFileSizes);
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
    for (int i = Below(4); i > 0 && size > 0; --i) {
      const std::string piece = Bytes(std::min<uint64_t>(size, 300), true);
      const uint64_t room = size - piece.size();
      const auto to = static_cast<off_t>(room == 0 ? 0 : random_() % room);
      ASSERT_EQ(::pwrite(file.get(), piece.data(), piece.size(), to),
                static_cast<ssize_t>(piece.size()));
    }
    ASSERT_EQ(::fchmod(file.get(), static_cast<mode_t>(Below(010000))), 0);
  }

  void SetTime(int at, const std::string& name) {
    const struct timespec time = {.tv_sec = OneOf(kSeconds),
                                  .tv_nsec = OneOf(kParts)};
    const struct timespec times[] = {time, time};
    ASSERT_EQ(::utimensat(at, name.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

 public:
  // The directory that paths of hard links begin at.
  void set_root(int root) { root_ = root; }

 private:
  std::mt19937 random_;
  int root_ = AT_FDCWD;
  std::vector<std::string> files_;
  uint64_t left_out_ = 0;
};

TEST_F(FileRoundTripTest, WhatIsPackedIsUnpackedWhateverTheTree) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to read files of any mode";
  Start();
  constexpr uint32_t kTrees = 40;
  for (uint32_t seed = 1; seed <= kTrees && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::string from = absl::StrCat("/from", seed);
    const std::string to = absl::StrCat("/to", seed);
    ASSERT_EQ(::mkdir(At(from).c_str(), 0755), 0);
    const os::Fd top(
        ::open(At(from).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Grower grower(seed);
    grower.set_root(top.get());
    grower.Grow(top.get(), "", 3);
    ExpectBack(from, to, grower.left_out());
    std::filesystem::remove_all(At(from));
    std::filesystem::remove_all(At(to));
  }
}

TEST_F(FileRoundTripTest, EachTimeThatAFileCanHaveComesBack) {
  ASSERT_EQ(::mkdir(At("/from").c_str(), 0755), 0);
  int number = 0;
  for (const int64_t seconds : kSeconds) {
    for (const int64_t part : kParts) {
      const std::string path = absl::StrCat("/from/", number++);
      switch (number % 3) {
        case 0:
          Put(path, "text");
          break;
        case 1:
          ASSERT_EQ(::mkdir(At(path).c_str(), 0755), 0);
          break;
        default:
          ASSERT_EQ(::symlink("nowhere", At(path).c_str()), 0);
      }
      const struct timespec time = {.tv_sec = seconds, .tv_nsec = part};
      const struct timespec times[] = {time, time};
      ASSERT_EQ(
          ::utimensat(AT_FDCWD, At(path).c_str(), times, AT_SYMLINK_NOFOLLOW),
          0);
    }
  }
  Start();
  ExpectBack("/from", "/to", 0);
  // A stat of the agent's tells them as well.
  for (const auto& [path, kept] : TreeAt("/from")) {
    const auto facts =
        agent().Stat("/from/" + path, FileAgent::Links::kNoFollow, limits_);
    ASSERT_TRUE(facts.ok()) << path;
    const struct timespec told = absl::ToTimespec(facts.value.mtime);
    EXPECT_EQ(told.tv_sec, kept.seconds) << path;
    EXPECT_EQ(told.tv_nsec, kept.nanos) << path;
  }
}

TEST_F(FileRoundTripTest, TheLongestPathsComeBack) {
  for (const size_t size : {size_t{PATH_MAX - 3}, size_t{PATH_MAX - 2}}) {
    const std::string from = absl::StrCat("/from", size);
    ASSERT_EQ(::mkdir(At(from).c_str(), 0755), 0);
    os::Fd at(::open(At(from).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    size_t left = size;
    while (left > 255) {
      const std::string name(std::min<size_t>(255, left - 2), 'n');
      ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
      at.reset(
          ::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_TRUE(at.valid());
      left -= name.size() + 1;
    }
    ASSERT_EQ(::mkdirat(at.get(), std::string(left, 'd').c_str(), 0755), 0);
  }
  Start();
  for (const size_t size : {size_t{PATH_MAX - 3}, size_t{PATH_MAX - 2}}) {
    ExpectBack(absl::StrCat("/from", size), absl::StrCat("/to", size), 0);
  }
}

// Archives of others may say what no file of a kernel has.
TEST(TarTimes, OfOtherArchivesAreKeptAsFarAsTheKernelGoes) {
  const std::pair<const char*, std::pair<int64_t, int64_t>> cases[] = {
      {"1.5", {1, 500'000'000}},
      {"-1.5", {-2, 500'000'000}},
      {"-0.000000001", {-1, 999'999'999}},
      {"16283462400", {kYear2486, 0}},
      {"9223372036854775808", {INT64_MAX, 0}},
      {"99999999999999999999999.25", {INT64_MAX, 250'000'000}},
      {"-9223372036854775808", {INT64_MIN, 0}},
      {"-9223372036854775807.5", {INT64_MIN, 500'000'000}},
      {"-9223372036854775808.25", {INT64_MIN, 0}},
      {"-99999999999999999999999.25", {INT64_MIN, 0}},
  };
  for (const auto& [text, expected] : cases) {
    const std::string value = absl::StrCat("mtime=", text, "\n");
    const std::string record = absl::StrCat(value.size() + 3, " ", value);
    TarMember pax = {.path = "x", .mode = 0644, .size = record.size()};
    std::string archive = TarHeader(pax);
    // As the header of a member's extension.
    unsigned sum = 0;
    archive[156] = 'x';
    for (size_t i = 0; i < kTarBlock; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive[i]);
    }
    char digits[8];
    std::snprintf(digits, sizeof(digits), "%06o", sum);
    archive.replace(148, 7, digits, 7);
    archive += record;
    archive.append(TarPadding(record.size()), '\0');
    archive += TarHeader({.path = "f", .mode = 0644}) + TarEnd();
    absl::string_view rest = archive;
    TarReader reader([&rest](char* data, size_t size) {
      const size_t given = rest.copy(data, size);
      rest.remove_prefix(given);
      return static_cast<ssize_t>(given);
    });
    TarMember member;
    ASSERT_EQ(reader.Next(member), TarReader::Step::kMember) << text;
    EXPECT_EQ(member.mtime.tv_sec, expected.first) << text;
    EXPECT_EQ(member.mtime.tv_nsec, expected.second) << text;
  }
}

}  // namespace
}  // namespace sandglass::sandbox
