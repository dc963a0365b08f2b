// Sessions that begin with the files of another.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/files.h"

namespace sandglass::testing {
namespace {

using Stub = v1::SessionService::Stub;

class Fork : public DurableTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  grpc::Status Make(const v1::ForkSessionRequest& request,
                    v1::ForkSessionResponse* response) {
    return CallSessions(client(), &Stub::ForkSession, request, response);
  }
  // So many children that ask for nothing.
  std::vector<std::string> Children(const std::string& id, int count) {
    v1::ForkSessionRequest request;
    request.set_session_id(id);
    for (int i = 0; i < count; ++i) request.add_children();
    v1::ForkSessionResponse response;
    EXPECT_THAT(Make(request, &response), IsOk());
    std::vector<std::string> ids;
    for (const v1::Session& child : response.sessions()) {
      EXPECT_EQ(child.forked_from(), id);
      ids.push_back(child.session_id());
    }
    return ids;
  }
};

TEST_F(Fork, ChildrenBeginWithTheFilesAndGoTheirOwnWay) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string parent = Create(PythonSession());
  ASSERT_THAT(RunIn(parent,
                    "import os\n"
                    "x = 1\n"
                    "os.mkdir('d'); open('d/f', 'w').write('parent')\n"
                    "os.chmod('d/f', 0o400); os.symlink('d/f', 'l')\n"
                    "open('no', 'w').write('n'); os.chmod('no', 0)"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::vector<std::string> ids = Children(parent, 3);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 3u);
  // What the parent does from here on is its own.
  ASSERT_THAT(RunIn(parent, "open('later', 'w')"), OutcomeIs(v1::OUTCOME_OK));
  for (size_t i = 0; i < ids.size(); ++i) {
    const RunResult result =
        RunIn(ids[i], absl::StrCat("import os\n"
                                   "print(open('l').read(), os.listdir('d'),\n"
                                   "      oct(os.stat('d/f').st_mode),\n"
                                   "      oct(os.stat('no').st_mode),\n"
                                   "      os.path.exists('later'),\n"
                                   "      'x' in globals())\n"
                                   "open('own', 'x').write('",
                                   i, "')"));
    EXPECT_EQ(result.response.stdout().data(),
              "parent ['f'] 0o100400 0o100000 False False\n");
    EXPECT_EQ(result.response.session().state_lost(), "");
  }
  EXPECT_EQ(
      RunIn(parent, "print(x, os.path.exists('own'))").response.stdout().data(),
      "1 False\n");
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(Content(ids[i], "own"), absl::StrCat(i));
  }
}

TEST_F(Fork, EachChildHasItsOwnLimitsLabelsAndTimes) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::CreateSessionRequest create = PythonSession();
  (*create.mutable_labels())["of"] = "parent";
  (*create.mutable_env())["A"] = "1";
  (*create.mutable_env())["B"] = "1";
  create.mutable_limits()->set_max_processes(40);
  const std::string parent = Create(create);
  v1::ForkSessionRequest request;
  request.set_session_id(parent);
  request.add_children();
  v1::ForkChild& second = *request.add_children();
  second.mutable_limits()->set_memory_bytes(uint64_t{128} << 20);
  (*second.mutable_labels()->mutable_labels())["of"] = "child";
  (*second.mutable_env())["B"] = "2";
  second.mutable_idle_timeout()->set_seconds(60);
  v1::ForkSessionResponse response;
  ASSERT_THAT(Make(request, &response), IsOk());
  ASSERT_EQ(response.sessions_size(), 2);
  const v1::Session& first = response.sessions(0);
  EXPECT_EQ(first.limits().max_processes(), 40u);
  EXPECT_EQ(first.limits().memory_bytes(), uint64_t{256} << 20);
  EXPECT_EQ(first.labels().at("of"), "parent");
  const v1::Session& other = response.sessions(1);
  EXPECT_EQ(other.limits().max_processes(), 40u);
  EXPECT_EQ(other.limits().memory_bytes(), uint64_t{128} << 20);
  EXPECT_EQ(other.labels().at("of"), "child");
  EXPECT_EQ(other.idle_timeout().seconds(), 60);
  EXPECT_EQ(RunIn(other.session_id(),
                  "import os; print(os.environ['A'], os.environ['B'])")
                .response.stdout()
                .data(),
            "1 2\n");
  request.mutable_children(1)->mutable_limits()->set_memory_bytes(uint64_t{1}
                                                                  << 50);
  EXPECT_THAT(Make(request, &response),
              RefusesField("children[1].limits.memory_bytes"));
  request.clear_children();
  EXPECT_THAT(Make(request, &response), RefusesField("children"));
}

TEST_F(Fork, AllChildrenAreMadeOrNone) {
  ASSERT_NO_FATAL_FAILURE(Start(", \"max\": 5"));
  const std::string parent = Create(DurableSession());
  ASSERT_THAT(RunIn(parent, "open('a', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  v1::ForkSessionRequest request;
  request.set_session_id(parent);
  for (int i = 0; i < 5; ++i) request.add_children();
  v1::ForkSessionResponse response;
  const grpc::Status refused = Make(request, &response);
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_SESSIONS");
  v1::ListSessionsResponse listed;
  ASSERT_THAT(CallSessions(client(), &Stub::ListSessions, {}, &listed), IsOk());
  EXPECT_EQ(listed.sessions_size(), 1);
  EXPECT_EQ(Children(parent, 4).size(), 4u);
}

TEST_F(Fork, ChildrenOfADurableSessionAreDurable) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string parent = Create();
  ASSERT_THAT(RunIn(parent, "open('a', 'w').write('parent')"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::vector<std::string> ids = Children(parent, 2);
  ASSERT_EQ(ids.size(), 2u);
  ASSERT_THAT(RunIn(ids[0], "open('a', 'a').write(' and child')"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Describe(ids[1]).forked_from(), parent);
  EXPECT_EQ(Content(parent, "a"), "parent");
  EXPECT_EQ(Content(ids[0], "a"), "parent and child");
  EXPECT_EQ(Content(ids[1], "a"), "parent");
}

TEST_F(Fork, UnusedAndDormantSessionsCanBeForked) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string fresh = Create(PythonSession());
  const std::vector<std::string> of_fresh = Children(fresh, 1);
  ASSERT_THAT(RunIn(fresh, "open('a', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  // A child of a child that nobody used.
  const std::vector<std::string> child = Children(fresh, 1);
  const std::vector<std::string> grandchild = Children(child.at(0), 1);
  EXPECT_EQ(Content(grandchild.at(0), "a"), "1");
  EXPECT_EQ(RunIn(of_fresh.at(0), "import os; print(os.listdir())")
                .response.stdout()
                .data(),
            "[]\n");
  const std::string durable = Create();
  ASSERT_THAT(RunIn(durable, "open('a', 'w').write('kept')"),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Content(Children(durable, 1).at(0), "a"), "kept");
}

TEST_F(Fork, TheFilesAreOfOneMoment) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string parent = Create(PythonSession());
  // Two files that a busy process keeps equal, one right behind the other.
  ASSERT_THAT(
      RunIn(parent,
            "import subprocess\n"
            "code = '''\n"
            "import os\n"
            "n = 0\n"
            "names = [f'f{i:03}' for i in range(200)]\n"
            "fds = [os.open(f, os.O_CREAT | os.O_RDWR) for f in names]\n"
            "while True:\n"
            "  n += 1\n"
            "  for fd in fds: os.pwrite(fd, b'%09d' % n, 0)\n"
            "'''\n"
            "p = subprocess.Popen(['python3', '-c', code])\n"
            "import time, os\n"
            "while not os.path.exists('f199'): time.sleep(0.01)\n"
            "time.sleep(0.2)"),
      OutcomeIs(v1::OUTCOME_OK));
  for (const std::string& id : Children(parent, 2)) {
    const RunResult seen =
        RunIn(id,
              "v = [int(open(f'f{i:03}').read()) for i in range(200)]\n"
              "print(max(v) - min(v) <= 1, v == sorted(v, reverse=True))");
    EXPECT_EQ(seen.response.stdout().data(), "True True\n");
  }
  // And it goes on afterwards.
  EXPECT_EQ(RunIn(parent,
                  "a = open('f000').read(); time.sleep(0.3)\n"
                  "print(a != open('f000').read())")
                .response.stdout()
                .data(),
            "True\n");
}

TEST_F(Fork, FilesThatWaitForTheirUseHaveABound) {
  ASSERT_NO_FATAL_FAILURE(Start(", \"fork_bytes\": \"8MiB\""));
  const std::string parent = Create(PythonSession());
  ASSERT_THAT(
      RunIn(parent, "import os\nopen('a', 'wb').write(os.urandom(5 << 20))"),
      OutcomeIs(v1::OUTCOME_OK));
  const std::vector<std::string> ids = Children(parent, 4);
  v1::ForkSessionRequest request;
  request.set_session_id(parent);
  request.add_children();
  v1::ForkSessionResponse response;
  EXPECT_EQ(ReasonOf(Make(request, &response)), "FORK_SPACE_FULL");
  // The last that uses them makes room.
  for (const std::string& id : ids) {
    EXPECT_EQ(RunIn(id, "import os; print(os.stat('a').st_size)")
                  .response.stdout()
                  .data(),
              absl::StrCat(5 << 20, "\n"));
  }
  EXPECT_EQ(Children(parent, 1).size(), 1u);
}

}  // namespace
}  // namespace sandglass::testing
