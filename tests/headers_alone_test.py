"""Compiles each header of some folders by itself: a build without unity, as users make it, includes them in any order.

usage: headers_alone_test.py COMPILER INCLUDES FOLDER...    INCLUDES: include folders, separated by commas
"""
from __future__ import annotations

import concurrent.futures
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parent.parent


def errors_of(compiler: str, includes: list[str], header: pathlib.Path) -> str:
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{SOURCE}"]
    command += [f"-isystem{folder}" for folder in includes]
    result = subprocess.run([*command, "-x", "c++", "-"], input=f'#include "{header}"\n', text=True, capture_output=True)
    return result.stderr if result.returncode != 0 else ""


def main() -> int:
    compiler, includes, *folders = sys.argv[1:]
    headers = sorted(header for folder in folders for header in (SOURCE / folder).rglob("*.h"))
    assert headers, folders
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda header: errors_of(compiler, includes.split(","), header), headers))
    for header, errors in zip(headers, found, strict=True):
        if errors:
            print(f"{header.relative_to(SOURCE)} does not compile alone:\n{errors}")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
