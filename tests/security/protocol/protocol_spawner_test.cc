// A daemon that was taken over, at the channel of a real spawner, and a zygote
// that was, below it. Needs root. Each yard is made in a process of its own.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/yard/yard.h"
#include "sandbox/yard/yard_root.h"

namespace sandglass::sandbox {
namespace {

constexpr uint32_t kMaxJails = 4;
constexpr int kPatienceMs = 5000;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// What the yard's only template allows at most.
internal::JailSlots Most() {
  internal::JailSlots slots;
  slots.set_memory_bytes(256 * kMiB);
  slots.set_max_processes(32);
  slots.set_cpu_millis(1000);
  slots.set_tmp_bytes(16 * kMiB);
  slots.set_workspace_bytes(16 * kMiB);
  slots.set_max_files(1000);
  return slots;
}

internal::SpawnerRequest Request(uint64_t id, bool with_runner = false) {
  internal::SpawnerRequest request;
  request.mutable_create()->set_jail_id(id);
  request.mutable_create()->set_template_name("default");
  *request.mutable_create()->mutable_slots() = Most();
  request.mutable_create()->set_with_runner(with_runner);
  return request;
}

bool Readable(const os::Fd& fd, int timeout_ms) {
  struct pollfd poll = {fd.get(), POLLIN, 0};
  return ::poll(&poll, 1, timeout_ms) == 1;
}

// The yard is over: its PID 1 has ended, and so the kernel ends all of it.
bool Ends(const Yard& yard) { return Readable(yard.pidfd, kPatienceMs); }

absl::StatusOr<Yard> MakeYard(const std::string& state,
                              const std::string& instance,
                              const std::string& zygote) {
  HostReport host = ProbeHost();
  auto cgroups = FindCgroups("");
  if (!cgroups.ok()) return cgroups.status();
  absl::Status status = MakeCgroupTree(*cgroups, instance, state + "/cgroups");
  if (!status.ok()) return status;
  const std::string root = state + "/yard";
  const std::string proc = state + "/proc";
  ::mkdir(root.c_str(), 0700);
  ::mkdir(proc.c_str(), 0700);
  if (!os::Unshare(os::kNewMount) || !os::MakeMountsSlave()) {
    return absl::InternalError("unshare");
  }
  status = BuildYardRoot(root, "");
  if (!status.ok()) return status;
  os::MountProc(proc.c_str(),
                {.flags = os::kNoSuid | os::kNoDev | os::kNoExec});
  YardOptions options = {.spawner_path = SANDGLASS_SPAWNER, .root = root};
  internal::Template& only = *options.config.add_templates();
  only.set_name("default");
  *only.mutable_maximum() = Most();
  options.config.set_max_jails(kMaxJails);
  options.config.set_parallel_raises(2);
  options.config.set_landlock_abi(host.landlock_abi);
  options.config.set_memory_on_v1(!cgroups->memory_v1_parent.empty());
  options.config.set_pids_on_v1(!cgroups->pids_v1_parent.empty());
  options.config.set_cpu_on_v1(!cgroups->cpu_v1_parent.empty());
  if (!zygote.empty()) {
    options.config.set_spare_jails(1);
    for (const char* word : {"/usr/bin/python3", "-I", "-S", "-c"}) {
      options.config.mutable_zygote()->add_argv(word);
    }
    options.config.mutable_zygote()->add_argv(zygote);
    options.zygote_library = "none";
    options.zygote_script = "none";
  }
  auto groups = MakeYardCgroups(*cgroups, instance, "yard", options.uids.first);
  if (!groups.ok()) return groups.status();
  return StartYard(options, *groups);
}

// Runs `body` with a yard, in a child that holds its mounts; `zygote` is what
// Python runs in the zygote's place. Afterwards nothing of it may be left.
void WithYard(const std::string& zygote,
              const std::function<void(Yard&)>& body) {
  char name[] = "/tmp/sandglass-protocol-XXXXXX";
  const std::string state = ::mkdtemp(name);
  const std::string instance = absl::StrCat("sandglass-protocol-", ::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    auto yard = MakeYard(state, instance, zygote);
    EXPECT_TRUE(yard.ok()) << yard.status();
    if (yard.ok()) {
      body(*yard);
      yard->channel.reset();
      EXPECT_TRUE(Ends(*yard)) << "the yard outlives its channel";
    }
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
  // Fails when a process is left in any group, or a group can't be removed.
  const absl::Status swept = SweepCgroups(state + "/cgroups", instance);
  EXPECT_TRUE(swept.ok()) << swept;
  std::filesystem::remove_all(state);
}

struct Reply {
  internal::SpawnerEvent event;
  std::vector<os::Fd> fds;
};

absl::StatusOr<Reply> Next(const Yard& yard, int timeout_ms = kPatienceMs) {
  if (!Readable(yard.channel, timeout_ms)) {
    return absl::DeadlineExceededError("the spawner says nothing");
  }
  auto packet = os::ReceivePacket(yard.channel.get(), os::Wait::kNo);
  if (!packet.ok()) return packet.status();
  Reply reply;
  if (!reply.event.ParseFromString(packet->data)) {
    return absl::InternalError("rubbish");
  }
  reply.fds = std::move(packet->fds);
  return reply;
}

// ---- the daemon ----

// The yard hears this and ends, without a jail.
void ExpectYardEnds(const std::string& bytes, int descriptors = 0) {
  WithYard("", [&](Yard& yard) {
    const std::vector<int> fds(descriptors, 2);
    ASSERT_TRUE(os::SendDatagram(yard.channel.get(), bytes, fds));
    EXPECT_TRUE(Ends(yard));
    auto reply = Next(yard);
    EXPECT_FALSE(reply.ok()) << reply->event.event_case();
  });
}

TEST(SpawnerRequests, RubbishEndsTheYard) {
  ExpectYardEnds("\xff\xff\xff");
  ExpectYardEnds(std::string(os::kMaxPacketBytes + 1, '\1'));
  ExpectYardEnds("");  // an end of the channel, as it looks
}

TEST(SpawnerRequests, AnUnknownRequestEndsTheYard) {
  ExpectYardEnds(std::string("\xfa\x06\x00", 3));
  std::string cut = Request(1).SerializeAsString();
  cut.pop_back();
  ExpectYardEnds(cut);
}

TEST(SpawnerRequests, UnexpectedDescriptorsEndTheYard) {
  ExpectYardEnds(Request(1).SerializeAsString(), 1);
  ExpectYardEnds(Request(1).SerializeAsString(), 32);
}

internal::SpawnerRequest StockQuestion() {
  internal::SpawnerRequest request;
  request.mutable_take_stock();
  return request;
}

TEST(SpawnerRequests, DescriptorsWithAQuestionEndTheYard) {
  ExpectYardEnds(StockQuestion().SerializeAsString(), 1);
}

TEST(SpawnerRequests, WhatNoTemplateAllowsEndsTheYard) {
  const auto expect =
      [](const std::function<void(internal::CreateJail&)>& set) {
        internal::SpawnerRequest request = Request(1);
        set(*request.mutable_create());
        ExpectYardEnds(request.SerializeAsString());
      };
  expect([](auto& create) { create.set_template_name("other"); });
  expect([](auto& create) {
    create.set_template_name("default\0x");
    create.clear_template_name();
  });
  expect([](auto& create) { create.clear_slots(); });
  expect([](auto& create) { create.set_with_runner(true); });  // has no zygote
  expect([](auto& create) {
    create.mutable_slots()->set_memory_bytes(256 * kMiB + 1);
  });
  expect([](auto& create) { create.mutable_slots()->set_memory_bytes(~0ull); });
  expect([](auto& create) { create.mutable_slots()->set_max_processes(33); });
  expect([](auto& create) { create.mutable_slots()->set_cpu_millis(~0u); });
  expect(
      [](auto& create) { create.mutable_slots()->set_tmp_bytes(1ull << 63); });
  expect([](auto& create) { create.mutable_slots()->set_max_files(0); });
}

TEST(SpawnerRequests, AFloodMakesNoMoreJailsThanThereMayBe) {
  WithYard("", [](Yard& yard) {
    // Answers pile up until neither side can send; then they are taken.
    constexpr int kRequests = 100'000;
    int sent = 0;
    int answers = 0;
    int jails = 0;
    std::vector<Reply> held;
    const std::string bytes = Request(7).SerializeAsString();  // one id for all
    while (answers < kRequests) {
      while (sent < kRequests &&
             os::SendDatagram(yard.channel.get(), bytes, {}, MSG_DONTWAIT)) {
        ++sent;
      }
      auto reply = Next(yard);
      ASSERT_TRUE(reply.ok()) << reply.status() << " after " << answers;
      if (!reply->event.has_created()) continue;
      ++answers;
      if (reply->event.created().no_slot()) continue;
      ++jails;
      EXPECT_FALSE(reply->fds.empty());
      held.push_back(*std::move(reply));
    }
    EXPECT_EQ(jails, kMaxJails);
    // What was held is given up, and the yard serves on.
    held.clear();
    for (uint32_t gone = 0; gone < kMaxJails;) {
      auto reply = Next(yard);
      ASSERT_TRUE(reply.ok()) << reply.status();
      if (reply->event.has_gone()) ++gone;
    }
    ASSERT_TRUE(os::SendDatagram(yard.channel.get(), bytes, {}));
    auto reply = Next(yard);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_FALSE(reply->event.created().no_slot());
  });
}

TEST(SpawnerRequests, AFloodOfQuestionsKeepsNoJailAway) {
  WithYard("", [](Yard& yard) {
    const std::string question = StockQuestion().SerializeAsString();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(os::SendDatagram(yard.channel.get(), question, {}));
    }
    ASSERT_TRUE(os::SendDatagram(yard.channel.get(),
                                 Request(1).SerializeAsString(), {}));
    Reply made;
    int answers = 0;
    while (made.fds.empty() || answers == 0) {
      auto reply = Next(yard);
      ASSERT_TRUE(reply.ok()) << reply.status();
      if (reply->event.has_stock()) {
        ++answers;
      } else {
        made = *std::move(reply);
      }
    }
    // Answers to what was asked before may still come.
    ASSERT_TRUE(os::SendDatagram(yard.channel.get(), question, {}));
    for (;;) {
      auto reply = Next(yard);
      ASSERT_TRUE(reply.ok()) << reply.status();
      if (reply->event.stock().jails() == 1) break;
    }
  });
}

TEST(SpawnerRequests, ADaemonThatGoesAmidAFloodLeavesNothing) {
  WithYard("", [](Yard& yard) {
    const std::string bytes = Request(7).SerializeAsString();
    for (int i = 0; i < 2000; ++i) {
      if (!os::SendDatagram(yard.channel.get(), bytes, {}, MSG_DONTWAIT)) break;
    }
  });
}

// ---- the zygote ----

// What Python has of the channel. `order` is the serial of an order, which is
// the pid of the jail's init.
constexpr char kPrelude[] = R"py(
import os, socket, struct, time
channel = socket.socket(fileno=200)
def say(serial, pid, error=0):
    channel.send(struct.pack("=Qii", serial, pid, error))
def order():
    data, fds, _, _ = socket.recv_fds(channel, 64, 16)
    if not data: os._exit(0)
    for fd in fds: os.close(fd)
    return struct.unpack_from("=Q", data)[0]
)py";

// Whatever the zygote does, the spawner goes on to make jails and to clear them
// away.
void ExpectServes(const std::string& zygote) {
  WithYard(kPrelude + zygote, [](Yard& yard) {
    for (uint64_t id = 1; id <= 2 * kMaxJails; ++id) {
      const bool with_runner = id <= kMaxJails;
      ASSERT_TRUE(os::SendDatagram(yard.channel.get(),
                                   Request(id, with_runner).SerializeAsString(),
                                   {}));
      // Those whose zygote failed them go by themselves, some time.
      const auto await = [&](const auto& is_it) {
        for (;;) {
          auto reply = Next(yard, 10'000);
          if (!reply.ok() || is_it(reply->event)) return reply;
        }
      };
      auto made = await([](const auto& event) { return event.has_created(); });
      ASSERT_TRUE(made.ok()) << made.status() << " for jail " << id;
      EXPECT_EQ(made->event.created().jail_id(), id);
      EXPECT_TRUE(with_runner || !made->event.created().has_failure());
      if (made->fds.empty()) continue;
      made->fds.clear();  // the jail is given up
      const auto gone = await(
          [&](const auto& event) { return event.gone().jail_id() == id; });
      ASSERT_TRUE(gone.ok()) << gone.status() << " for jail " << id;
    }
  });
}

TEST(HostileZygote, TheYardServesDespiteAFloodOfReplies) {
  ExpectServes(R"py(
say(0, 0)
n = 1
while True:
    n += 1
    say(n, 1000000 + n)
)py");
}

TEST(HostileZygote, TheYardServesDespiteAFloodOfReadiness) {
  ExpectServes("while True: say(0, 0)\n");
}

TEST(HostileZygote, TheYardServesDespiteEndlessTalk) {
  ExpectServes("say(0, 0)\nwhile True: os.write(1, b'x' * 65536)\n");
}

TEST(HostileZygote, TheYardServesDespiteFalseRunners) {
  // The jail's init, the spawner, itself, all, and none.
  for (const char* pid : {"n", "1", "os.getpid()", "-2147483648", "0"}) {
    SCOPED_TRACE(pid);
    ExpectServes(absl::StrCat(R"py(
say(0, 0)
while True:
    n = order()
    say(n, )py",
                              pid, ")\n"));
  }
}

TEST(HostileZygote, TheYardServesDespiteRepliesForUnknownJails) {
  ExpectServes(R"py(
say(0, 0)
while True:
    order()
    say((1 << 64) - 1, 1)
    say(99999, 77777)
)py");
}

TEST(HostileZygote, TheYardServesDespiteRubbishAndAClosedChannel) {
  ExpectServes("say(0, 0)\norder()\nchannel.send(b'x')\ntime.sleep(60)\n");
  ExpectServes(
      "say(0, 0)\norder()\nchannel.send(b'x' * 4096)\ntime.sleep(60)\n");
  ExpectServes("say(0, 0)\norder()\nchannel.close()\ntime.sleep(60)\n");
  ExpectServes("channel.close()\ntime.sleep(60)\n");
}

TEST(HostileZygote, TheYardServesDespiteASilentZygote) {
  ExpectServes("say(0, 0)\ntime.sleep(60)\n");
  ExpectServes("time.sleep(60)\n");
}

}  // namespace
}  // namespace sandglass::sandbox
