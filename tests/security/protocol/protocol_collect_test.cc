// An init that was taken over, when it is asked for files: none that nobody
// asked for, none that is no file of the jail's, and an end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/security/protocol/protocol_run.h"

namespace sandglass::server {
namespace {

using policy::Outcome;

Job Fetching(std::vector<std::string> patterns = {"result.txt", "out/**"}) {
  Job job = SmallJob();
  job.fetch = std::move(patterns);
  return job;
}

// The program has run and is over, and init was asked for files.
void ToCollection(FarEnd& end) {
  end.ReadyAndStarted();
  end.Exited(0);
  end.AwaitRunKill();
  end.Exited(0);
  const auto request = end.AwaitRequest();
  ASSERT_TRUE(request.has_value());
  ASSERT_TRUE(request->has_collect());
}

// What `files` sends instead of the files is not believed: the program's fate
// stands, and of files there are at most those before.
Ended ExpectCutOff(const std::function<void(FarEnd&)>& files,
                   size_t max_files = 0,
                   absl::Duration bound = absl::Seconds(5)) {
  Ended ended = RunAgainst(
      [&](FarEnd& end) {
        ToCollection(end);
        files(end);
      },
      Fetching(), bound);
  ExpectOutcome(ended, Outcome::kOk);
  if (ended.result.ok()) {
    EXPECT_TRUE(ended.result->files_left_out);
    EXPECT_LE(ended.result->files.size(), max_files);
  }
  return ended;
}

os::Fd Memfd(const std::string& text) {
  os::Fd file(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  return file;
}

// The one file that is handed out as `fd`.
FileResult Collect(int fd) {
  const Ended ended = RunAgainst(
      [&](FarEnd& end) {
        ToCollection(end);
        end.File("result.txt", 0, fd);
        end.CollectDone();
      },
      Fetching());
  ExpectOutcome(ended, Outcome::kOk);
  if (!ended.result.ok() || ended.result->files.size() != 1) {
    ADD_FAILURE() << "no file";
    return {};
  }
  EXPECT_FALSE(ended.result->files_left_out);
  return ended.result->files[0];
}

TEST(Collection, WhatIsAFileArrives) {
  const FileResult file = Collect(Memfd("text").get());
  EXPECT_EQ(file.error, FileError::kNone);
  EXPECT_EQ(file.content, "text");
}

TEST(Collection, WhatIsNoFileOfAJailIsNotRead) {
  const Pipe pipe = MakePipe();
  const int fds[] = {
      ::open("/tmp", O_RDONLY | O_CLOEXEC),
      ::open("/dev/shm", O_RDONLY | O_CLOEXEC),
      ::open("/dev/zero", O_RDONLY | O_CLOEXEC),
      ::open("/proc/self/status", O_RDONLY | O_CLOEXEC),
      ::open("/etc/passwd", O_RDONLY | O_CLOEXEC),
      ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC),
      ::eventfd(0, EFD_CLOEXEC),
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
      ::dup(pipe.read.get()),
  };
  for (const int fd : fds) {
    const os::Fd owned(fd);
    SCOPED_TRACE(fd);
    const FileResult file = Collect(fd);
    EXPECT_EQ(file.error, FileError::kNotRegular);
    EXPECT_EQ(file.content, "");
  }
}

TEST(Collection, AFileThatCanNotBeReadIsNotGiven) {
  const os::Fd file = Memfd("text");
  const std::string name = absl::StrCat("/proc/self/fd/", file.get());
  for (const int flags : {O_PATH, O_WRONLY}) {
    const os::Fd other(::open(name.c_str(), flags | O_CLOEXEC));
    const FileResult result = Collect(other.get());
    EXPECT_EQ(result.error, FileError::kUnavailable);
    EXPECT_EQ(result.content, "");
  }
}

TEST(Collection, ASparseFileIsTooLarge) {
  const os::Fd file = Memfd("");
  ASSERT_EQ(::ftruncate(file.get(), off_t{1} << 42), 0);
  const FileResult result = Collect(file.get());
  EXPECT_EQ(result.error, FileError::kTooLarge);
  EXPECT_EQ(result.content, "");
}

TEST(Collection, FilesThatShrinkAsTheyAreReadTakeNoMoreMemoryThanOthers) {
  constexpr off_t kSize = off_t{12} << 20;
  const os::Fd file = Memfd("");
  std::atomic<bool> over{false};
  std::thread changer([&] {
    while (!over) {
      (void)!::ftruncate(file.get(), kSize);
      (void)!::ftruncate(file.get(), 0);
    }
  });
  // RunAgainst looks at the memory.
  const Ended ended = RunAgainst(
      [&](FarEnd& end) {
        ToCollection(end);
        for (int i = 0; i < 250; ++i) {
          end.File(absl::StrCat("out/", i), 0, file.get());
        }
        end.CollectDone();
      },
      Fetching(), absl::Seconds(10));
  over = true;
  changer.join();
  ExpectOutcome(ended, Outcome::kOk);
  ASSERT_TRUE(ended.result.ok());
  uint64_t bytes = 0;
  for (const FileResult& each : ended.result->files) {
    bytes += each.content.size();
  }
  EXPECT_LE(bytes, kMaxCollectedBytes);
}

TEST(Collection, NamesThatNobodyAskedForEndIt) {
  for (const std::string& path :
       {std::string("other.txt"), std::string("../result.txt"),
        std::string("/etc/passwd"), std::string(""),
        std::string("out/../../etc/passwd"), std::string("out//x"),
        std::string("result.txt\0x", 12), std::string("out/\0", 5),
        "out/" + std::string(100'000, 'x')}) {
    SCOPED_TRACE(path.substr(0, 40));
    ExpectCutOff([&](FarEnd& end) {
      end.File(path, 1);
      end.CollectDone();
    });
  }
}

TEST(Collection, TheSameNameTwiceEndsIt) {
  ExpectCutOff(
      [](FarEnd& end) {
        end.File("result.txt", 1);
        end.File("result.txt", 1);
        end.CollectDone();
      },
      1);
}

TEST(Collection, AProblemThatIsNoneEndsIt) {
  for (const int problem : {-1, 5, 6, 1 << 30}) {
    ExpectCutOff([&](FarEnd& end) {
      end.File("result.txt", problem);
      end.CollectDone();
    });
  }
  ExpectCutOff([](FarEnd& end) { end.File("result.txt", 0); });
  ExpectCutOff([](FarEnd& end) {
    const os::Fd file = Memfd("x");
    end.File("result.txt", 1, file.get());
  });
}

TEST(Collection, AFloodOfFilesIsCutOff) {
  ExpectCutOff(
      [](FarEnd& end) {
        for (uint64_t i = 0; end.File(absl::StrCat("out/", i), 1); ++i) {
        }
      },
      kMaxCollectedFiles + 2);
}

TEST(Collection, OneFileAMillisecondForeverIsCutOff) {
  ExpectCutOff(
      [](FarEnd& end) {
        while (end.File("result.txt", 1)) absl::SleepFor(absl::Milliseconds(1));
      },
      1);
}

// Each new, and so slow that their number isn't reached.
TEST(Collection, OneFileASecondEndsWithTheDaemonsPatience) {
  const Ended ended = ExpectCutOff(
      [](FarEnd& end) {
        for (int i = 0; end.File(absl::StrCat("out/", i), 1); ++i) {
          absl::SleepFor(absl::Milliseconds(500));
        }
      },
      kMaxCollectedFiles, absl::Seconds(13));
  EXPECT_GT(ended.took, absl::Seconds(9));
}

TEST(Collection, OtherEventsEndIt) {
  ExpectCutOff([](FarEnd& end) { end.Ready(); });
  ExpectCutOff([](FarEnd& end) { end.Started(); });
  ExpectCutOff([](FarEnd& end) { end.SendBytes("\xff\xff"); });
  internal::InitEvent event;
  event.mutable_failed()->set_error(1);
  ExpectCutOff([&](FarEnd& end) { end.Send(event); });
}

TEST(Collection, SilenceAndClosingEndIt) {
  ExpectCutOff([](FarEnd& end) { end.control.reset(); });
  ExpectCutOff([](FarEnd& end) { ::shutdown(end.control.get(), SHUT_WR); });
  ExpectCutOff([](FarEnd& end) { end.AwaitJailKill(); }, 0, absl::Seconds(13));
}

TEST(Collection, WithoutInitEveryFileIsUnavailable) {
  const Ended ended = RunAgainst(
      [](FarEnd& end) {
        end.ReadyAndStarted();
        end.Exited(0);
        end.control.reset();
      },
      Fetching());
  ExpectOutcome(ended, Outcome::kOk);
  ASSERT_TRUE(ended.result.ok());
  for (const FileResult& file : ended.result->files) {
    EXPECT_EQ(file.error, FileError::kUnavailable);
  }
}

}  // namespace
}  // namespace sandglass::server
