#!/usr/bin/python3
"""Do programs behave in the zygote as with bare Python?

usage: compare.py [--fork-only] [PROGRAM...]

Runs each program of python/ (NAME.py with NAME.stdin, or NAME/main.py) once as
`python3 main.py` and once by zygote.py, each in the same directory made anew,
and compares stdout, stderr and how the process ended. No jail is needed: the
native half is played by stand_in.c or, with --fork-only and where there is no
compiler, by fork_one.py itself. Then programs whose first line is

    # needs: clean stack

are skipped, because they look at the frames beneath their own.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FORK_ONE = HERE / "fork_one.py"
PYTHON = "/usr/bin/python3"
ENV = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LANG": "C.UTF-8",
}
PROGRAM_ENV = ENV | {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "OMP_NUM_THREADS": "1",
}
MODULES = """
re json math random heapq bisect typing dataclasses datetime decimal fractions
statistics string textwrap traceback csv threading queue
""".split()



def build_stand_in(directory):
    compiler = shutil.which("cc")
    if not compiler or not os.path.exists("/usr/include/python3.11/Python.h"):
        return ""
    library = f"{directory}/stand_in.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-I/usr/include/python3.11",
         "-o", library, str(HERE / "stand_in.c")],
        check=True,
    )  # fmt: skip
    return library


def stage(program, place):
    shutil.rmtree(place, ignore_errors=True)
    if program.is_dir():
        shutil.copytree(program, place)
    else:
        place.mkdir()
        shutil.copy(program, place / "main.py")


def neutral(output):
    """Without addresses, which differ from run to run."""
    output = re.sub(rb"\b0x[0-9a-f]{6,}\b", b"0xADDRESS", output)
    return re.sub(rb"started \d{6,}", b"started THREAD", output)


def run(program, place, command, env):
    stage(program, place)
    stdin = program.with_suffix(".stdin")
    result = subprocess.run(
        command,
        cwd=place,
        env=env,
        input=stdin.read_bytes() if stdin.exists() else b"",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    return neutral(result.stdout), neutral(result.stderr), result.returncode


def differences(program, place, library):
    bare = run(program, place, [PYTHON, "main.py", "an argument"], PROGRAM_ENV)
    entries = "\n".join("=".join(entry) for entry in PROGRAM_ENV.items())
    command = [PYTHON, FORK_ONE, library, " ".join(MODULES), entries]
    warm = run(program, place, [*command, "main.py", "an argument"], ENV)
    for what, a, b in zip(("stdout", "stderr", "status"), bare, warm):
        if a != b:
            yield f"{what}:\n    bare {a!r}\n    warm {b!r}"


def main(arguments):
    fork_only = "--fork-only" in arguments
    chosen = [a for a in arguments if not a.startswith("--")]
    programs = sorted((HERE / "python").iterdir())
    programs = [p for p in programs if p.suffix == ".py" or p.is_dir()]
    if chosen:
        programs = [p for p in programs if p.stem in chosen]
    failed, skipped = [], []
    with tempfile.TemporaryDirectory() as directory:
        library = "" if fork_only else build_stand_in(directory)
        place = pathlib.Path(directory, "workspace")
        for program in programs:
            main_file = program / "main.py" if program.is_dir() else program
            needs = main_file.read_bytes().startswith(b"# needs: clean stack\n")
            if needs and not library:
                skipped.append(program.stem)
                continue
            found = list(differences(program, place, library))
            if found:
                failed.append(program.stem)
                print(f"DIFFERENT {program.stem}", *found, sep="\n  ", flush=True)
    print(
        f"{len(programs)} programs: {len(failed)} differ, {len(skipped)} skipped"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
