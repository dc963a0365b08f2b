#!/usr/bin/python3
"""mutation.py on a tiny room of its own: what it changes, and what it leaves."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest

import mutation

SOURCE = """\
#include "first/room/room.h"
// a < b && !c
bool IsLess(int a, int b) { return a < b; }
int Count(int n) {
  const char* words = "1 < 2";
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += words[i] != 0 ? 1 : 0;
  return sum;
}
"""
TESTS = """\
#include "first/room/room.h"
int main() {
  return IsLess(1, 2) && !IsLess(2, 2) && !IsLess(3, 2) && Count(2) == 2 ? 0 : 1;
}
"""
# Notices nothing but a crash.
WEAK_TESTS = """\
#include "first/room/room.h"
int main() { (void)IsLess(1, 2); }
"""


class MutationTest(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="sandglass-mutation-test-")
        self.addCleanup(shutil.rmtree, self.top)
        self.write("first/room/room.h", "bool IsLess(int, int);\nint Count(int);\n")
        self.write("first/room/room.cc", SOURCE)
        self.write("tests/unit/first/room/room_test.cc", TESTS)
        self.write("none.json", "[]")
        entries = []
        for path, target in (("first/room/room.cc", "first_room"),
                             ("tests/unit/first/room/room_test.cc", "room_test")):
            full = os.path.join(self.top, path)
            entries.append({
                "directory": self.top, "file": full,
                "command": f"/usr/bin/c++ -I{self.top} "
                           f"-o x/CMakeFiles/{target}.dir/a.o -c {full}"})
        self.write("compile_commands.json", json.dumps(entries))
        # The room's own library is not there, so it must not be linked.
        self.write("build.ninja",
                   "build bin/room_test: CXX_EXECUTABLE_LINKER__room_test_X a.o\n"
                   "  LINK_FLAGS = -pthread\n"
                   "  LINK_LIBRARIES = first/libfirst_room.a\n")
        folders = mutation.project.CODE_FOLDERS
        mutation.project.CODE_FOLDERS = ("first", "tests")
        self.addCleanup(setattr, mutation.project, "CODE_FOLDERS", folders)

    def write(self, path, text):
        full = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, *options):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = mutation.main(
                [self.top, "first/room", "--explained",
                 os.path.join(self.top, "none.json"), *options], self.top)
        return code, out.getvalue()

    def test_good_tests_notice_and_the_sources_stay(self):
        code, said = self.run_script("--count", "4", "--bar", "50")
        self.assertEqual(code, 0, said)
        self.assertIn("of 4 changes", said)
        with open(os.path.join(self.top, "first/room/room.cc"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), SOURCE)

    def test_what_nobody_notices_is_told_and_fails(self):
        self.write("tests/unit/first/room/room_test.cc", WEAK_TESTS)
        code, said = self.run_script("--count", "4", "--bar", "50")
        self.assertEqual(code, 1, said)
        self.assertIn("survived: first/room/room.cc:", said)
        self.assertIn("below the bar", said)

    def test_the_same_seed_makes_the_same_changes(self):
        self.write("tests/unit/first/room/room_test.cc", WEAK_TESTS)
        first = self.run_script("--count", "3", "--seed", "5")
        self.assertEqual(first, self.run_script("--count", "3", "--seed", "5"))

    def test_what_is_explained_is_left_out(self):
        changes = mutation.changes_of("first/room/room.cc", SOURCE)
        self.write("none.json", json.dumps([
            {"file": c.path, "old": c.old_line, "new": c.new_line, "why": "test"}
            for c in changes]))
        code, said = self.run_script()
        self.assertEqual(code, 2, said)

    def test_tests_that_fail_as_they_are_tell_nothing(self):
        self.write("tests/unit/first/room/room_test.cc", "int main() { return 1; }")
        code, said = self.run_script()
        self.assertEqual(code, 2, said)
        self.assertIn("fail as they are", said)

    def test_an_unknown_room_is_said(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(mutation.main([self.top, "no/room"], self.top), 2)
        self.assertIn("no/room", said.getvalue())


class ChangesTest(unittest.TestCase):
    def lines(self, text):
        return [c.new_line for c in mutation.changes_of("x.cc", text)]

    def test_comments_texts_and_directives_are_left(self):
        for text in ("// a < b\n", "/* 1 + 2;\n */\n", '"x < 1"\n', "'<'\n",
                     "#if A < 2 && \\\n  B < 3\n", 'R"(a < b)"\n',
                     'R"x( )" < b)x"\n'):
            self.assertEqual(self.lines(text), [], text)

    def test_code_beside_them_is_changed(self):
        self.assertIn('f("a < b") >= c', self.lines('f("a < b") < c\n'))
        self.assertIn("a <= 1'000 // x", self.lines("a < 1'000 // x\n"))

    def test_each_kind_of_change(self):
        for old, new in (("a < b", "a <= b"), ("a == b", "a != b"),
                         ("a && b", "a || b"), ("a + b", "a - b"),
                         ("x(!a)", "x(a)"), ("x(7)", "x(8)"),
                         ("x(true)", "x(false)"), ("++i", "--i"),
                         ("std::min(a, b)", "std::max(a, b)"),
                         ("return a;", "return {};"), ("{ Call(a); }", "{ ; }"),
                         ("{ a.b = c; }", "{ ; }"), ("{ break; }", "{ ; }")):
            self.assertIn(new, self.lines(old + "\n"), old)

    def test_templates_and_pointers_are_no_operators(self):
        for text in ("std::vector<int> a;\n", "T&& a\n", "int* a\n", "a->b\n"):
            self.assertEqual(self.lines(text), [], text)


if __name__ == "__main__":
    unittest.main()
