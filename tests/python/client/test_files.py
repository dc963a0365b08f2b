"""Files of a sandbox, large, many and hostile."""

import io
import os
import pathlib
import tarfile
import threading

import pytest
import sandglass
from sandglass import FileError

TEN_MIB = os.urandom(10 << 20)


@pytest.fixture
def files(client):
    with client.sandbox("bash") as box:
        yield box.files


def test_what_is_written_is_read(files):
    info = files.write("dir/a.txt", "hé")
    assert (info.path, info.size, info.type) == ("/workspace/dir/a.txt", 3, "regular")
    assert files.read("dir/a.txt") == "hé".encode()
    assert files.read_text(pathlib.Path("/workspace/dir/a.txt")) == "hé"
    assert files.read("dir/a.txt", offset=1, limit=1) == b"\xc3"
    assert files.read("dir/a.txt", limit=0) == b""
    files.write("dir/a.txt", b"\0\xff", how="append", mode=0o600)
    assert files.read("dir/a.txt") == "hé".encode() + b"\0\xff"
    assert files.stat("dir/a.txt").mode == 0o600
    with pytest.raises(UnicodeDecodeError):
        files.read_text("dir/a.txt")
    with pytest.raises(FileError) as there:
        files.write("dir/a.txt", "", how="create")
    assert there.value.file_code == "exists"
    with pytest.raises(ValueError, match="how must be"):
        files.write("b", "", how="w")


def test_ten_mebibytes_both_ways(files):
    files.write("large", TEN_MIB)
    assert files.read("large") == TEN_MIB
    files.write("file", io.BytesIO(TEN_MIB))
    files.write(
        "pieces", (TEN_MIB[i : i + 999_999] for i in range(0, 10 << 20, 999_999))
    )
    assert files.read("file") == files.read("pieces") == TEN_MIB
    (up,) = files.upload({"again": TEN_MIB})
    assert up.error is None
    downs = files.download(["again", "large", "file"])  # more than one answer takes
    assert [down.content == TEN_MIB for down in downs] == [True] * 3


def test_a_thousand_small_files(files):
    wanted = {f"many/{i // 100}/{i}": f"file {i}".encode() for i in range(1001)}
    assert [up.error for up in files.upload(wanted)] == [None] * 1001
    downs = files.download([*wanted, "many/none"])
    assert [down.content for down in downs[:-1]] == list(wanted.values())
    assert (downs[-1].content, downs[-1].error) == (None, "file_not_found")
    assert len(files.list("many")) == 11
    assert files.remove("many", recursive=True) == 1001 + 12


def test_each_file_has_an_error_of_its_own(files):
    files.make_dir("dir")
    ups = files.upload([("a", "1"), ("dir", "2"), ("b", b"3"), ("", "4")])
    assert [up.error for up in ups] == [None, "is_directory", None, "invalid_path"]
    assert all(up.message for up in ups if up.error)
    downs = files.download(["a", "dir", "b", "/proc/self/mem"])
    assert [down.content for down in downs] == [b"1", None, b"3", None]
    assert [down.error for down in downs][1] == "is_directory"
    assert files.upload({}) == [] and files.download([]) == []


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda f: f.read("none"), "file_not_found"),
        (lambda f: f.read("/"), "is_directory"),
        (lambda f: f.read("a\0b"), "invalid_path"),
        (lambda f: f.read("x" * 5000), "invalid_path"),
        (lambda f: f.write("/etc/passwd", "x"), "permission_denied"),
        (lambda f: f.write("/proc/self/mem", "x"), None),
        (lambda f: f.list("none"), "file_not_found"),
        (lambda f: f.stat("none"), "file_not_found"),
        (lambda f: f.remove("none"), "file_not_found"),
        (lambda f: f.move("none", "a"), "file_not_found"),
        (lambda f: f.edit("none", "a", "b"), "file_not_found"),
    ],
)
def test_what_fails_says_why(files, use, code):
    with pytest.raises(FileError) as failed:
        use(files)
    if code:
        assert failed.value.file_code == code
    assert failed.value.message


def test_a_full_disk(client):
    with client.sandbox("bash", limits={"workspace_bytes": 1 << 20}) as box:
        with pytest.raises(FileError) as full:
            box.files.write("a", TEN_MIB)
        assert full.value.file_code == "no_space"
        assert box.files.list() == []


def test_names(files):
    names = ["plain", "with space", "é", "😀", "-rf", "$(x)", "a\nb", "%s"]
    files.upload({name: name for name in names})
    assert sorted(info.path for info in files.list()) == sorted(names)
    assert [files.read_text(name) for name in names] == names


def test_edit_move_remove(files):
    files.write("a", "one two two")
    assert files.edit("a", "one", "1") == 1
    with pytest.raises(FileError) as many:
        files.edit("a", "two", "2")
    assert many.value.file_code == "multiple"
    assert files.edit("a", b"two", b"2", replace_all=True) == 2
    with pytest.raises(FileError) as none:
        files.edit("a", "three", "3")
    assert none.value.file_code == "no_match"
    files.move("a", "dir/b")
    assert not files.exists("a") and files.exists("dir/b")
    assert not files.exists("dir/b/c")
    files.write("c", "")
    with pytest.raises(FileError):
        files.move("c", "dir/b")
    files.move("c", "dir/b", overwrite=True)
    assert files.remove("dir", recursive=True) == 2


def test_glob_and_grep(files):
    files.upload({"src/a.py": "import os\nprint(1)\n", "src/.b.py": "", "c.txt": "os"})
    assert [i.path for i in files.glob("*.py")] == ["/workspace/src/a.py"]
    assert len(files.glob("**/*.py", hidden=True)) == 2
    (match,) = files.grep("import os", include=["*.py"])
    assert match == ("/workspace/src/a.py", 1, "import os", 1)
    assert files.grep("PRINT", ignore_case=True)[0].line == 2
    assert files.grep(r"pri\w+\(", regex=True)[0].line == 2
    assert len(files.grep("os", context=(0, 1))) == 3
    with pytest.raises(FileError) as wrong:
        files.grep("(", regex=True)
    assert wrong.value.file_code == "invalid_pattern"


def test_watch_tells_of_changes(files):
    changes = files.watch(interval=0.1)
    assert next(changes) == []
    timer = threading.Timer(0.2, lambda: files.write("new", "1"))
    timer.start()
    # A look may come upon the unnamed file that becomes it.
    seen = {change.info.path: change.kind for change in next(changes)}
    while "new" not in seen:
        seen |= {change.info.path: change.kind for change in next(changes)}
    assert seen["new"] in ("created", "renamed")
    changes.close()
    timer.join()


def test_archives_there_and_back(files, client):
    files.upload({"a": "1", "dir/b": "2"})
    archive = b"".join(files.snapshot())
    names = tarfile.open(fileobj=io.BytesIO(archive)).getnames()
    assert {"a", "dir/b"} <= {name.removeprefix("./") for name in names}
    with client.sandbox("bash") as other:
        assert other.files.restore(archive, "copy") == 3
        assert other.files.read("copy/dir/b") == b"2"
        with pytest.raises(FileError) as bad:
            other.files.restore(b"no archive" * 100)
        assert bad.value.file_code == "bad_archive"


def test_wrong_types(files):
    for use, words in [
        (lambda: files.write("a", 1), "content must be bytes, a str or a binary file"),
        (lambda: files.write("a", None), "content must be"),
        (lambda: files.read(1), "path must be a str, not int"),
        (lambda: files.read(b"a"), "path must be a str, not bytes"),
        (lambda: files.upload("abc"), "files must be a dict"),
        (lambda: files.upload([("a",)]), "must be a pair"),
        (lambda: files.upload({"a": 1}), "bytes or a str, not int"),
        (lambda: files.download("abc"), "paths must be a list of paths"),
        (lambda: files.write("a", io.StringIO("text")), None),
    ]:
        if words is None:
            use()
            assert files.read("a") == b"text"
            continue
        with pytest.raises(TypeError, match=words):
            use()


def test_a_source_that_breaks_leaves_nothing(files):
    def pieces():
        yield b"one"
        raise OSError("my disk")

    with pytest.raises((OSError, sandglass.SandglassError)):
        files.write("broken", pieces())
    assert not files.exists("broken")
