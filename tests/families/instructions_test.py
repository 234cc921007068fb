"""Instructions of lowering a family of graphs: twice the graph takes 2.5 times the instructions, at most.

    instructions_test.py FAMILIES_TEST

Counted by callgrind, so that no loop goes uncounted that families_test's visits leave out. Exit status 77 where valgrind
is not installed."""
import os
import re
import shutil
import subprocess
import sys

MOST = 2.5


def run(program, family=None, times=1, under=()):
    environment = {**os.environ, "TAILOR_FAMILY_TIMES": str(times)}
    if family is not None:
        environment["TAILOR_FAMILY"] = family
    return subprocess.run([*under, program, "--gtest_filter=Families.Lower"], env=environment, capture_output=True,
                          text=True, check=True)


def instructions(program, family, times=1):
    result = run(program, family, times, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"])
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def main():
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    program = sys.argv[1]
    families = re.findall(r"^(\w+): \d+ nodes", run(program).stdout, re.MULTILINE)
    start = instructions(program, "")  # of the process, without a graph
    failed = not families
    for family in families:
        before = instructions(program, family) - start
        for times in (2, 4):
            after = instructions(program, family, times) - start
            verdict = "ok" if after <= MOST * before else "TOO MANY"
            failed = failed or verdict != "ok"
            print(f"{family}, {times} times n: {after / 1e6:.0f} million, {after / before:.2f} times those before: "
                  f"{verdict}", flush=True)
            before = after
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
