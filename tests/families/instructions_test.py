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
SIZES = {"chain": 200, "norms": 48, "ceil_pools": 8, "pyramid": 2, "unet": 2, "shuffles": 4, "shifted_windows": 4,
         "relative_positions": 4, "data_branches": 4, "data_rows": 8, "data_reshapes": 64}


def instructions(program, family, n):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--gtest_filter=Families.Lower"]
    result = subprocess.run(command, env={**os.environ, "TAILOR_FAMILY": family, "TAILOR_FAMILY_N": str(n)},
                            capture_output=True, text=True, check=True)
    if family != "none" and f"{family}: " not in result.stdout:
        raise RuntimeError(f"no family {family}")
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def main():
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    start = instructions(sys.argv[1], "none", 0)
    failed = False
    for family, n in SIZES.items():
        before = instructions(sys.argv[1], family, n) - start
        for size in (2 * n, 4 * n):
            after = instructions(sys.argv[1], family, size) - start
            verdict = "ok" if after <= MOST * before else "TOO MANY"
            failed = failed or verdict != "ok"
            print(f"{family} of {size}: {after / 1e6:.0f} million, {after / before:.2f} times those of {size // 2}: "
                  f"{verdict}", flush=True)
            before = after
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
