#!/usr/bin/python3
"""Each style check finds a planted mistake and passes the tree without it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest


HERE = os.path.dirname(os.path.abspath(__file__))


class StyleCheckTest(unittest.TestCase):
    """Runs a check over a small tree of its own."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="sandglass-style-")
        self.addCleanup(shutil.rmtree, self.top)

    def write(self, path, text):
        full = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_check(self, check):
        program = os.path.join(HERE, check)
        command = [program] if check.endswith(".sh") else [sys.executable,
                                                           program]
        return subprocess.run([*command, self.top], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)

    def assert_passes(self, check):
        done = self.run_check(check)
        self.assertEqual(done.returncode, 0, done.stdout)

    def assert_finds(self, check, *texts):
        done = self.run_check(check)
        self.assertNotEqual(done.returncode, 0, f"{check} found nothing")
        for text in texts:
            self.assertIn(text, done.stdout)


class Layering(StyleCheckTest):
    CHECK = "layering.py"

    ROOMS = {
        "policy": "sandglass_room(policy/audit)\nsandglass_room(policy/limits)\n",
        "sandbox": "sandglass_room(sandbox/os)\n"
                   "sandglass_room(sandbox/jail\n  USES\n    policy/limits\n"
                   "  LIBRARIES\n    absl::time\n  SOURCES\n    jail.cc)\n",
        "server": "sandglass_room(server/base)\n"
                  "sandglass_room(server/job USES server/base sandbox/jail)\n"
                  "sandglass_room(server/rpc USES server/job)\n",
        "gateway": "sandglass_room(gateway/place USES server/base)\n",
        "client": "sandglass_room(client/cli USES policy/audit)\n",
    }

    def setUp(self):
        super().setUp()
        for folder, rooms in self.ROOMS.items():
            self.write(folder + "/CMakeLists.txt", rooms)
        # All that the table allows is used.
        self.write("sandbox/jail/jail.cc", '#include "policy/limits/limits.h"\n')
        self.write("server/job/job.cc", '#include "sandbox/jail/jail.h"\n'
                   '#include "server/base/log.h"\n#include "server/job/job.h"\n'
                   '#include "sandglass/v1/run.pb.h"\n')
        self.write("server/rpc/service.cc", '#include "server/job/job.h"\n'
                   '#include "grpcpp/grpcpp.h"\n')
        self.write("gateway/place/place.cc", '#include "server/base/clock.h"\n')
        self.write("client/cli/main.cc", '#include "policy/audit/chain.h"\n'
                   '#include "sandglass/v1/run.grpc.pb.h"\n')

    def test_includes_by_the_table_pass(self):
        self.write("policy/limits/limits.h", '#include "absl/time/time.h"\n')
        self.write("sandbox/os/mount.cc", "#include <sys/mount.h>\n"
                   "int f() { return syscall(1); }\n")
        self.write("client/probe/main.cc", '#include "client/probe/acts.h"\n')
        self.write("client/examples/cpp/a.cc",
                   '#include "sandglass/v1/run.pb.h"\n')
        self.assert_passes(self.CHECK)

    def test_other_includes_are_found(self):
        for path, include, text in (
                ("policy/limits/a.h", "server/job/job.h",
                 "policy/limits/ may not depend on server/job/"),
                ("policy/limits/a.h", "policy/audit/a.h",
                 "policy/limits/ may not depend on policy/audit/"),
                ("sandbox/jail/a.cc", "server/job/job.h", "on server/job/"),
                ("sandbox/jail/a.cc", "sandbox/os/fd.h", "on sandbox/os/"),
                ("sandbox/jail/a.cc", "sandglass/v1/run.pb.h", "sandglass/v1/"),
                ("server/base/a.cc", "server/job/job.h", "on server/job/"),
                # What a room uses, its users don't.
                ("server/rpc/a.cc", "sandbox/jail/jail.h", "on sandbox/jail/"),
                ("server/job/a.cc", "client/cli/x.h", "on client/cli/"),
                ("server/job/a.cc", "tests/support/x.h", "depend on tests/"),
                ("server/job/a.cc", "server/jobs/x.h", "server/jobs/ is no room"),
                ("server/a.cc", "server/job/job.h", "stands in no room"),
                ("gateway/place/a.cc", "server/job/job.h", "on server/job/"),
                ("gateway/place/a.cc", "sandbox/jail/jail.h", "on sandbox/jail/"),
                ("gateway/place/a.cc", "grpcpp/grpcpp.h", "gRPC is for"),
                ("server/job/a.cc", "gateway/place/place.h", "on gateway/place/"),
                ("client/cli/a.cc", "policy/limits/limits.h", "on policy/limits/"),
                ("client/cli/a.cc", "internal/spawner.pb.h", "on internal/"),
                ("client/probe/a.cc", "client/cli/x.h", "on anything else"),
                ("client/examples/a.cc", "client/cli/x.h", "on anything else"),
                ("sandbox/jail/a.cc", "grpcpp/grpcpp.h", "gRPC is for"),
                ("server/job/a.cc", "grpcpp/grpcpp.h", "gRPC is for"),
        ):
            with self.subTest(path=path, include=include):
                self.write(path, f'// one\n#include "{include}"\n')
                self.assert_finds(self.CHECK, f"{path}:2:", text)
                os.unlink(os.path.join(self.top, path))

    def test_mistakes_in_the_table_are_found(self):
        for folder, room, text in (
                ("server", "sandglass_room(server/ops USES server/base)\n",
                 "server/ops includes nothing of server/base"),
                ("gateway", "sandglass_room(gateway/run USES server/run)\n",
                 "gateway/run may not use server/run"),
                ("client", "sandglass_room(client/run USES server/base)\n",
                 "client/run may not use server/base"),
                ("policy", "sandglass_room(policy/text USES sandbox/os)\n",
                 "policy/text may not use sandbox/os"),
        ):
            with self.subTest(room=room):
                self.write(folder + "/CMakeLists.txt", self.ROOMS[folder] + room)
                self.assert_finds(self.CHECK, text)
                self.write(folder + "/CMakeLists.txt", self.ROOMS[folder])

    def test_raw_kernel_access_is_found_outside_os(self):
        for path, line in (
                ("server/a.cc", "#include <sys/mount.h>"),
                ("server/a.cc", "#include <linux/sched.h>"),
                ("sandbox/jailed/a.cc", "#include <sys/syscall.h>"),
                ("sandbox/a.cc", "int x = syscall(435, 0);"),
                ("sandbox/spawner/a.cc", "if (::unshare(0)) return;"),
                ("policy/a.cc", "#include <linux/sched.h>"),
        ):
            with self.subTest(path=path, line=line):
                self.write(path, line + "\n")
                self.assert_finds(self.CHECK, f"{path}:1:", "sandbox/os/ only")
                os.unlink(os.path.join(self.top, path))

    def test_comments_and_members_are_no_calls(self):
        self.write("server/a.cc", "// a syscall(2) in a comment\n"
                   'auto s = "mount(this)";\n/* setns( */ jail.mount(x);\n'
                   "os::PivotRoot(fd); run->clone();\n")
        self.assert_passes(self.CHECK)

    def test_code_in_an_unknown_folder_is_found(self):
        self.write("helpers/a.cc", "\n")
        self.assert_finds(self.CHECK, "no code belongs in helpers/")


class Sizes(StyleCheckTest):
    def test_limit_is_the_last_size_that_passes(self):
        self.write("policy/a.h", "\n" * 250)
        self.write("policy/a.cc", "\n" * 500)
        self.assert_passes("sizes.py")

    def test_larger_files_are_found(self):
        self.write("policy/a.h", "\n" * 251)
        self.write("policy/b.cc", "\n" * 501)
        self.assert_finds("sizes.py", "policy/a.h: 251", "policy/b.cc: 501")


class Words(StyleCheckTest):
    def test_plain_text_passes(self):
        self.write("docs/a.md", "Files go to /workspace; sessions are kept. "
                   "See grpc.health.v1, `#include`, #if 0, network/works.\n")
        self.assert_passes("words.py")

    def test_each_kind_is_found(self):
        for text in ("TO" "DO: later", "FIX" "ME", "see issue" " 12",
                     "as in #" "34", "cd /wor" "k/main", "/hom" "e/anna/x",
                     "https://pypi.or" "g/simple", "http://deb.debian" ".org/",
                     "<<<<<<" "< HEAD"):
            with self.subTest(text=text):
                self.write("docs/a.md", text + "\n")
                self.assert_finds("words.py", "docs/a.md:1:")


class OneDefinition(StyleCheckTest):
    def test_a_type_of_two_headers_is_found(self):
        self.write("client/a.h", "namespace x::y {\nstruct Answer {\n};\n}  // namespace x::y\n"
                   "namespace x {\nclass Other;  // elsewhere\n}  // namespace x\n")
        self.write("client/b.h", "namespace x {\nstruct Answer {\n};\nclass Other {\n};\n}  // namespace x\n")
        self.assert_passes("one_definition.py")
        self.write("server/c.h", "namespace x::y {\nclass Answer final : public Z {\n};\n}  // namespace x::y\n")
        self.assert_finds("one_definition.py", "x::y::Answer is defined in client/a.h and in server/c.h")


class MarkdownLinks(StyleCheckTest):
    def test_links_that_lead_somewhere_pass(self):
        self.write("docs/b.md", "# One heading, here\n")
        self.write("README.md", "[b](docs/b.md#one-heading-here) [self](#top)"
                   " [web](https://example.com/x) `[code](no.md)`\n\n# Top\n")
        self.assert_passes("markdown_links.py")

    def test_dead_links_are_found(self):
        self.write("docs/b.md", "# One\n")
        for link in ("docs/c.md", "docs/b.md#two", "/docs/b.md", "../x.md"):
            with self.subTest(link=link):
                self.write("README.md", f"\n[x]({link})\n")
                self.assert_finds("markdown_links.py", "README.md:2:", link)


class Format(StyleCheckTest):
    def test_formatted_code_passes_and_other_is_found(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("policy/a.cc", "int f() { return 1; }\n")
        self.assert_passes("format.sh")
        self.write("policy/a.cc", "int f(){ return 1 ;}\n")
        self.assert_finds("format.sh", "policy/a.cc:1")


class Shell(StyleCheckTest):
    def test_clean_script_passes_and_other_is_found(self):
        self.write("deploy/a.sh", '#!/bin/bash\necho "$1"\n')
        self.assert_passes("shell.sh")
        self.write("deploy/a.sh", "#!/bin/bash\nrm -r $1/x\n")
        self.assert_finds("shell.sh", "deploy/a.sh", "SC2086")


class Compiled(StyleCheckTest):
    """tidy.py on one planted file."""

    GOOD = ('#include "absl/synchronization/mutex.h"\n'
            "class Counter {\n"
            " public:\n"
            "  int Next() {\n"
            "    absl::MutexLock lock(&mutex_);\n"
            "    return ++count_;\n"
            "  }\n\n"
            " private:\n"
            "  absl::Mutex mutex_;\n"
            "  int count_ ABSL_GUARDED_BY(mutex_) = 0;\n"
            "};\n")
    DANGLING = ("#include <string>\n#include <utility>\n"
                "int Length(std::string text) {\n"
                "  std::string taken = std::move(text);\n"
                "  return static_cast<int>(text.size() + taken.size());\n"
                "}\n")

    def plant(self, name, text):
        """Writes a source and returns its path."""
        self.write("tree/policy/" + name, text)
        return os.path.join(self.top, "tree/policy", name)

    def findings(self, check, text):
        """Runs the check over one file with a compile database of its own."""
        return self.findings_of(check, self.plant("a.cc", text))

    def findings_of(self, check, source):
        tree = os.path.join(self.top, "tree")
        shutil.copytree(HERE, os.path.join(tree, "tests/style"),
                        dirs_exist_ok=True)
        shutil.copy(os.path.join(HERE, "../../.clang-tidy"), tree)
        self.write("tree/build/compile_commands.json", f"""[{{
            "directory": "{tree}/build", "file": "{source}",
            "output": "a.o",
            "command": "ccache /usr/bin/c++ -std=c++20 -o a.o -c {source}"
        }}]""")
        return subprocess.run(
            [sys.executable, os.path.join(tree, "tests/style", check),
             os.path.join(tree, "build")],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False, env={
                **os.environ, "SANDGLASS_CACHE": self.top,
                "PATH": f"{self.top}/bin:{os.environ['PATH']}"})

    def test_use_after_move_is_found(self):
        good = self.findings("tidy.py", self.GOOD)
        self.assertEqual(good.returncode, 0, good.stdout)
        bad = self.findings("tidy.py", self.DANGLING)
        self.assertEqual(bad.returncode, 1, bad.stdout)
        self.assertIn("bugprone-use-after-move", bad.stdout)

    def test_each_source_of_an_object_is_checked(self):
        first = self.plant("first.cc", self.GOOD)
        second = self.plant("second.cc", self.DANGLING)
        both = os.path.join(self.top, "tree/build/Unity/both.cc")
        self.write("tree/build/Unity/both.cc",
                   f'#include "{first}"\n#include "{second}"\n')
        # Only what was built is remembered. The fake of ninja knows one object
        # that was made of both.
        self.write("bin/ninja", "#!/bin/sh\nprintf '%s\\n' "
                   "'a.o: #deps 2, deps mtime 1 (VALID)' "
                   f"'    {first}' '    {second}'\n")
        os.chmod(os.path.join(self.top, "bin/ninja"), 0o755)
        for _ in range(2):
            done = self.findings_of("tidy.py", both)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("policy/second.cc:", done.stdout)


if __name__ == "__main__":
    # A test that is ended takes its tree with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main(argv=[sys.argv[0]])
