import unittest


class Tests(unittest.TestCase):
    def test_good(self):
        self.assertEqual(1 + 1, 2)

    def test_bad(self):
        self.assertEqual(1 + 1, 3)

    @unittest.skip("not now")
    def test_skipped(self):
        pass


if __name__ == "__main__":
    import io
    import re
    import sys

    out = io.StringIO()
    program = unittest.main(argv=["main.py"], exit=False, testRunner=unittest.TextTestRunner(out))
    print(re.sub(r"in \d+\.\d+s", "in TIME", out.getvalue()))
    sys.exit(not program.result.wasSuccessful())
