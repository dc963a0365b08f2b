// An init that was taken over: frames that are none, and descriptors of wrong
// kinds. The run ends in bounded time with an error of ours.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/protocol/protocol_run.h"

namespace sandglass::server {
namespace {

using policy::Outcome;

// ---- frames that are none ----

void ExpectBreaks(const std::string& bytes, size_t descriptors = 0) {
  SCOPED_TRACE(absl::StrCat(bytes.size(), " bytes, ", descriptors, " fds"));
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    const os::Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    end.SendBytes(bytes, std::vector<int>(descriptors, file.get()));
  }));
  // The same words from an init that behaved until its program ran.
  ExpectBroken(RunAgainst([&](FarEnd& end) {
    const os::Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    end.ReadyAndStarted();
    end.SendBytes(bytes, std::vector<int>(descriptors, file.get()));
  }));
}

TEST(InitFrames, RubbishEndsTheRun) {
  ExpectBreaks("\xff\xff\xff\xff");
  ExpectBreaks(std::string(4096, '\0'));
  ExpectBreaks(std::string("\x0a\x7f", 2));  // a message longer than its frame
  ExpectBreaks(std::string("\x1a\x02\x08", 3));  // a varint cut off
}

TEST(InitFrames, AnEventThatIsNoneEndsTheRun) {
  ExpectBreaks(std::string("\xfa\x06\x00", 3));  // an unknown field alone
  internal::InitRequest request;                 // the other direction's
  request.mutable_collect()->add_patterns(std::string(100, 'x'));
  ExpectBreaks(request.SerializeAsString());
}

TEST(InitFrames, AFrameThatIsTooLargeEndsTheRun) {
  internal::InitEvent event;
  event.mutable_file()->set_path(std::string(os::kMaxPacketBytes, 'x'));
  event.mutable_file()->set_problem(1);
  ExpectBreaks(event.SerializeAsString());
}

TEST(InitFrames, MoreDescriptorsThanAnyFrameHasEndTheRun) {
  // More than SendDatagram sends: by hand.
  ExpectBroken(RunAgainst([](FarEnd& end) {
    const os::Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    std::vector<char> control(CMSG_SPACE(sizeof(int) * 253));
    struct iovec part = {const_cast<char*>("\x3a\x00"), 2};
    struct msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * 253);
    for (int i = 0; i < 253; ++i) {
      reinterpret_cast<int*>(CMSG_DATA(header))[i] = file.get();
    }
    EXPECT_GT(::sendmsg(end.control.get(), &message, MSG_NOSIGNAL), 0);
  }));
}

TEST(InitFrames, DescriptorsThatNoEventCarriesEndTheRun) {
  internal::InitEvent event;
  event.mutable_raised();
  ExpectBreaks(event.SerializeAsString(), 1);
  event.mutable_started()->set_monotonic_ns(1);
  ExpectBreaks(event.SerializeAsString(), 32);
  event.mutable_exited()->set_wait_status(0);
  ExpectBreaks(event.SerializeAsString(), 1);
  event.mutable_failed()->set_step(1);
  ExpectBreaks(event.SerializeAsString(), 1);
  event.mutable_ready();
  ExpectBreaks(event.SerializeAsString(), 4);
  ExpectBreaks(event.SerializeAsString(), 6);
}

TEST(InitFrames, AnEmptyFrameIsAnInitThatIsGone) {
  ExpectBroken(RunAgainst([](FarEnd& end) { end.SendBytes(""); }));
  ExpectOutcome(RunAgainst([](FarEnd& end) {
                  end.ReadyAndStarted();
                  end.SendBytes("");
                }),
                Outcome::kJailFailed);
}

// ---- steps and their times, which go into the answer ----

TEST(InitSteps, NumbersThatAreNoStepEndTheRun) {
  for (const int step : {-1, 1000, std::numeric_limits<int>::min()}) {
    internal::InitEvent event;
    event.mutable_ready()->add_steps()->set_step(step);
    ExpectBreaks(event.SerializeAsString(), 5);
  }
}

TEST(InitSteps, TimesThatCanNotBeEndTheRun) {
  for (const uint64_t time : {uint64_t{1} << 63, ~uint64_t{0}}) {
    internal::InitEvent event;
    event.mutable_raised()->add_steps()->set_nanoseconds(time);
    ExpectBreaks(event.SerializeAsString());
  }
}

TEST(InitSteps, MoreStepsThanThereAreEndTheRun) {
  internal::InitEvent event;
  for (int i = 0; i < 1000; ++i) event.mutable_raised()->add_steps();
  ExpectBreaks(event.SerializeAsString());
}

TEST(InitSteps, AFailureOfAStepThatIsNoneIsOurs) {
  internal::InitEvent event;
  event.mutable_failed()->set_step(std::numeric_limits<int>::max());
  event.mutable_failed()->set_error(std::numeric_limits<int>::min());
  ExpectBreaks(event.SerializeAsString());
}

// ---- descriptors of wrong kinds ----

struct Kind {
  const char* name;
  os::Fd fd;
};

// Some that would be read without an end, block, or take long to close.
std::vector<Kind> WrongKinds() {
  std::vector<Kind> kinds;
  const auto add = [&](const char* name, int fd) {
    kinds.push_back({name, os::Fd(fd)});
  };
  add("directory", ::open("/tmp", O_RDONLY | O_CLOEXEC));
  add("zero", ::open("/dev/zero", O_RDWR | O_CLOEXEC));
  add("O_PATH", ::open("/dev/null", O_PATH | O_CLOEXEC));
  add("eventfd", ::eventfd(0, EFD_CLOEXEC));
  add("memfd", ::memfd_create("x", MFD_CLOEXEC));
  add("pty", ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  add("socket", ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return kinds;
}

TEST(InitStreams, OnlyPipesAreTaken) {
  for (size_t place = 0; place < 3; ++place) {
    for (size_t kind = 0; kind < WrongKinds().size(); ++kind) {
      SCOPED_TRACE(absl::StrCat(WrongKinds()[kind].name, " as ", place));
      ExpectBroken(RunAgainst([&](FarEnd& end) {
        const std::vector<Kind> kinds = WrongKinds();
        const Pipe in = MakePipe(O_NONBLOCK);
        const Pipe out = MakePipe(O_NONBLOCK);
        const os::Fd tmp(::open("/dev/shm", O_PATH | O_CLOEXEC));
        std::vector<int> fds = {in.write.get(), out.read.get(), out.read.get(),
                                tmp.get(), tmp.get()};
        fds[place] = kinds[kind].fd.get();
        internal::InitEvent event;
        event.mutable_ready();
        if (end.Send(event, fds)) end.AwaitRequest();
        end.Started();
      }));
    }
  }
}

// Sends Ready with the pipes' ends as they are in `end`, which keeps copies.
void ReadyWithOwnPipes(FarEnd& end, int flags) {
  end.in = MakePipe(flags);
  end.out = MakePipe(flags);
  end.err = MakePipe(flags);
  const os::Fd tmp(::open("/dev/shm", O_PATH | O_CLOEXEC));
  internal::InitEvent event;
  event.mutable_ready();
  end.Send(event, {end.in.write.get(), end.out.read.get(), end.err.read.get(),
                   tmp.get(), tmp.get()});
}

Job WithInput() {
  Job job = SmallJob();
  job.stdin_data = std::string(1 << 20, 'x');
  return job;
}

TEST(InitStreams, PipesThatBlockHoldNobodyUp) {
  ExpectOutcome(RunAgainst(
                    [](FarEnd& end) {
                      ReadyWithOwnPipes(end, 0);
                      end.AwaitRequest();
                      end.Started();
                      // The daemon has some to read, and nobody reads its own.
                      (void)!::write(end.out.write.get(), "x", 1);
                      end.AwaitRunKill();
                      end.Exited(9);
                    },
                    WithInput()),
                Outcome::kTimeout);
}

TEST(InitStreams, PipesThatAreMadeToBlockAgainHoldNobodyUp) {
  ExpectOutcome(
      RunAgainst(
          [](FarEnd& end) {
            ReadyWithOwnPipes(end, O_NONBLOCK);
            end.AwaitRequest();
            end.Started();
            while (!end.run_killed()) {
              for (const os::Fd* fd : {&end.in.write, &end.out.read}) {
                ::fcntl(fd->get(), F_SETFL, 0);
              }
              // Room for a byte, and a byte that is gone again at once: poll(2)
              // promises what is no longer true.
              char bytes[4096];
              struct pollfd readable = {end.in.read.get(), POLLIN, 0};
              if (::poll(&readable, 1, 0) == 1) {
                (void)!::read(end.in.read.get(), bytes, sizeof(bytes));
              }
              (void)!::write(end.out.write.get(), "x", 1);
              ::fcntl(end.out.read.get(), F_SETFL, O_NONBLOCK);
              (void)!::read(end.out.read.get(), bytes, sizeof(bytes));
            }
            end.Exited(9);
          },
          WithInput()),
      Outcome::kTimeout);
}

TEST(InitStreams, ASocketThatLingersIsClosedAtOnce) {
  ExpectBroken(RunAgainst([](FarEnd& end) {
    const os::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<struct sockaddr*>(&address);
    socklen_t size = sizeof(address);
    ASSERT_EQ(::bind(listener.get(), any, size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), any, &size), 0);
    os::Fd sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(sender.get(), any, size), 0);
    const os::Fd receiver(
        ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // More than the other end, which never reads, takes.
    const std::string data(1 << 20, 'x');
    while (::send(sender.get(), data.data(), data.size(), MSG_DONTWAIT) > 0) {
    }
    const struct linger linger = {1, 7};
    ASSERT_EQ(::setsockopt(sender.get(), SOL_SOCKET, SO_LINGER, &linger,
                           sizeof(linger)),
              0);
    internal::InitEvent event;
    event.mutable_ready();
    ASSERT_TRUE(end.Send(event, {sender.get()}));
    sender.reset();
    // Should the daemon have been faster, the last to close it is this side.
    end.AwaitJailKill();
  }));
}

}  // namespace
}  // namespace sandglass::server
