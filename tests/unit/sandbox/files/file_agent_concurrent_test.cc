// Several who write into one file: nobody's bytes are lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/io.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Occurrences = FileAgent::Occurrences;

class FileConcurrentTest : public sandglass::testing::AgentFixture {
 protected:
  FileCode Append(const std::string& path, const std::string& text) {
    return agent()
        .Write(path, text, {.how = WriteMode::kAppend}, limits_)
        .result.code;
  }
  FileCode Edit(const std::string& path, const std::string& old_text,
                const std::string& new_text) {
    return agent()
        .Edit(path, old_text, new_text, Occurrences::kOne, limits_)
        .result.code;
  }
  ino_t InodeOf(const std::string& path) const {
    struct stat info = {};
    EXPECT_EQ(::stat(At(path).c_str(), &info), 0);
    return info.st_ino;
  }
  // How often each of the lines "who number" is there that were written.
  void ExpectEach(const std::string& path, int writers, int lines) const {
    const std::string text = Get(path);
    size_t all = 0;
    for (int who = 0; who < writers; ++who) {
      for (int i = 0; i < lines; ++i) {
        const std::string line = absl::StrCat("<", who, " ", i, ">\n");
        const size_t first = text.find(line);
        EXPECT_NE(first, std::string::npos) << line;
        all += line.size();
      }
    }
    EXPECT_EQ(text.size(), all);
  }
};

TEST_F(FileConcurrentTest, NoAppendOfManyIsLost) {
  Start();
  constexpr int kLines = 40;
  for (const int writers : {2, 6}) {
    // The first ones make the file, at the same time.
    const std::string path = absl::StrCat("/log", writers);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(writers));
    for (int who = 0; who < writers; ++who) {
      threads.emplace_back([&, who] {
        for (int i = 0; i < kLines; ++i) {
          EXPECT_EQ(Append(path, absl::StrCat("<", who, " ", i, ">\n")),
                    FileCode::kOk);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectEach(path, writers, kLines);
  }
  // Nothing stays of what was staged.
  EXPECT_EQ(NamesIn("/"), 2u);
}

TEST_F(FileConcurrentTest, LargeAppendsDontMix) {
  Start();
  constexpr size_t kSize = 3'000'000;
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c'}) {
    threads.emplace_back([&, letter] {
      auto upload =
          agent().BeginWrite("/large", {.how = WriteMode::kAppend}, limits_);
      ASSERT_TRUE(upload.ok());
      ASSERT_TRUE(
          upload.value.Append(std::string(kSize, letter), limits_).ok());
      EXPECT_TRUE(upload.value.Commit(limits_).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Get("/large");
  ASSERT_EQ(text.size(), 3 * kSize);
  for (size_t i = 0; i < text.size(); i += kSize) {
    EXPECT_EQ(text.substr(i, kSize), std::string(kSize, text[i]));
  }
}

TEST_F(FileConcurrentTest, AProgramGoesOnInTheFileThatWasAppendedTo) {
  Put("/log", "");
  std::filesystem::create_hard_link(At("/log"), At("/other"));
  const os::Fd log(::open(At("/log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const ino_t before = InodeOf("/log");
  Start();
  ASSERT_TRUE(os::WriteAll(log.get(), "program\n"));
  EXPECT_EQ(Append("/log", "call\n"), FileCode::kOk);
  ASSERT_TRUE(os::WriteAll(log.get(), "program again\n"));
  EXPECT_EQ(Get("/log"), "program\ncall\nprogram again\n");
  EXPECT_EQ(Get("/other"), Get("/log"));
  EXPECT_EQ(InodeOf("/log"), before);
}

TEST_F(FileConcurrentTest, NothingOfAnAppendThatDoesntFitIsThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  ASSERT_EQ(::mkdir(At("/small").c_str(), 0755), 0);
  ASSERT_EQ(
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      std::system(absl::StrCat("mount -t tmpfs -o size=1m none ", At("/small"))
                      .c_str()),
      0);
  Put("/small/log", "first\n");
  Start();
  // There is room to stage it, or to append it, but not for both.
  const std::string piece(200'000, 'x');
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Append("/small/log", piece), FileCode::kOk);
  }
  EXPECT_EQ(Append("/small/log", piece), FileCode::kNoSpace);
  EXPECT_EQ(Get("/small/log").size(), 6 + 4 * piece.size());
  EXPECT_EQ(NamesIn("/small"), 1u);
  Stop();
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  EXPECT_EQ(std::system(absl::StrCat("umount ", At("/small")).c_str()), 0);
}

TEST_F(FileConcurrentTest, AnEditKeepsOffWhatAProgramWrites) {
  Put("/f", "one two\n");
  std::filesystem::create_hard_link(At("/f"), At("/other"));
  Start();
  for (const int how : {O_WRONLY | O_APPEND, O_RDWR}) {
    const os::Fd program(::open(At("/f").c_str(), how | O_CLOEXEC));
    ASSERT_TRUE(program.valid());
    EXPECT_EQ(Edit("/f", "two", "2"), FileCode::kBusyChanged);
    EXPECT_EQ(Get("/f"), "one two\n");
  }
  {
    // By a mapping alone.
    os::Fd program(::open(At("/f").c_str(), O_RDWR | O_CLOEXEC));
    void* const mapped = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED,
                                program.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    program.reset();
    EXPECT_EQ(Edit("/f", "two", "2"), FileCode::kBusyChanged);
    ::munmap(mapped, 8);
  }
  const ino_t before = InodeOf("/f");
  EXPECT_EQ(Edit("/f", "two", "2"), FileCode::kOk);
  EXPECT_EQ(Get("/f"), "one 2\n");
  EXPECT_EQ(Edit("/f", "2", "two and more"), FileCode::kOk);
  EXPECT_EQ(Get("/other"), "one two and more\n");
  EXPECT_EQ(InodeOf("/f"), before);
}

TEST_F(FileConcurrentTest, WhoReadsAFileKeepsWhatItHasOfIt) {
  Put("/script", "echo one\necho two\n");
  Start();
  const os::Fd reader(::open(At("/script").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Edit("/script", "two", "three"), FileCode::kOk);
  EXPECT_EQ(Get("/script"), "echo one\necho three\n");
  char text[64];
  const ssize_t size = ::pread(reader.get(), text, sizeof(text), 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(size)),
            "echo one\necho two\n");
  EXPECT_EQ(NamesIn("/"), 1u);
}

TEST_F(FileConcurrentTest, AnEditThatGivesWayLeavesWhatOthersWroteSince) {
  Start();
  constexpr int kTries = 20;
  int gave_way = 0;
  for (int i = 0; i < kTries; ++i) {
    Put("/f", "one two\n");
    std::filesystem::create_hard_link(At("/f"), At("/other"));
    const ino_t before = InodeOf("/f");
    // Of what somebody reads the edit makes a new file.
    const os::Fd reader(::open(At("/f").c_str(), O_RDONLY | O_CLOEXEC));
    FileCode code = FileCode::kOk;
    std::atomic<bool> done = false;
    std::thread editor([&] {
      code = Edit("/f", "two", "2");
      done = true;
    });
    while (!done && InodeOf("/f") == before) {
    }
    // As one who had found the old file, and opens it now.
    const os::Fd late(
        ::open(At("/other").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(agent().Write("/f", "theirs\n", {}, limits_).ok());
    editor.join();
    if (code != FileCode::kOk) {
      EXPECT_EQ(code, FileCode::kBusyChanged);
      ++gave_way;
    }
    EXPECT_EQ(Get("/f"), "theirs\n");
    EXPECT_EQ(Get("/other"), "one two\n");
    EXPECT_EQ(NamesIn("/"), 2u);
    std::filesystem::remove(At("/f"));
    std::filesystem::remove(At("/other"));
  }
  EXPECT_GT(gave_way, 0);
}

TEST_F(FileConcurrentTest, NoLineIsLostBetweenReadingAndWritingOfAnEdit) {
  Put("/log", "state 0\n");
  Start();
  constexpr int kLines = 3000;
  std::atomic<bool> done = false;
  // A program that opens its log for each line.
  std::thread program([&] {
    for (int i = 0; i < kLines; ++i) {
      const os::Fd log(
          ::open(At("/log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      ASSERT_TRUE(os::WriteAll(log.get(), absl::StrCat("<0 ", i, ">\n")));
      if (i % 16 == 0) ::usleep(500);
    }
    done = true;
  });
  int state = 0, aborted = 0;
  while (!done) {
    const FileCode code = Edit("/log", absl::StrCat("state ", state, "\n"),
                               absl::StrCat("state ", state + 1, "\n"));
    if (code == FileCode::kOk) {
      ++state;
    } else {
      EXPECT_EQ(code, FileCode::kBusyChanged);
      ++aborted;
    }
  }
  program.join();
  const std::string head = absl::StrCat("state ", state, "\n");
  const std::string text = Get("/log");
  ASSERT_TRUE(absl::StartsWith(text, head));
  Put("/lines", text.substr(head.size()));
  ExpectEach("/lines", 1, kLines);
  RecordProperty("edits", state);
  RecordProperty("aborted", aborted);
}

TEST_F(FileConcurrentTest, NoEditOfManyIsLost) {
  Put("/f", "end\n");
  Start();
  constexpr int kWriters = 4, kLines = 25;
  std::vector<std::thread> threads;
  threads.reserve(kWriters);
  for (int who = 0; who < kWriters; ++who) {
    threads.emplace_back([&, who] {
      for (int i = 0; i < kLines; ++i) {
        FileCode code = FileCode::kBusyChanged;
        for (int n = 0; n < 10'000 && code == FileCode::kBusyChanged; ++n) {
          code =
              Edit("/f", "end\n", absl::StrCat("<", who, " ", i, ">\nend\n"));
        }
        EXPECT_EQ(code, FileCode::kOk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Get("/f");
  ASSERT_TRUE(absl::EndsWith(text, "end\n"));
  Put("/lines", text.substr(0, text.size() - 4));
  ExpectEach("/lines", kWriters, kLines);
}

}  // namespace
}  // namespace sandglass::sandbox
