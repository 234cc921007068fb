"""The pages of the documentation, and their code blocks."""
import dataclasses
import pathlib
import re
from typing import Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENING = re.compile(r'^```([\w+-]*)(?: title="([^"]*)")?$')
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")


@dataclasses.dataclass
class Block:
    page: str  # relative to the source tree
    line: int  # of its first line of code
    language: str
    title: Optional[str]  # the file to write it to; "Output": what the block before prints
    code: str
    not_run: Optional[str]  # the reason
    generated: bool  # by a program, from what that program accepts


def pages():
    """README.md, docs/**/*.md and the service's page."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples/service/README.md"]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """The fenced blocks of a page. Its indented blocks are errors: they have no language."""
    found, block, reason, generated, previous = [], None, None, False, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is not None:
            if line == "```":
                found.append(block)
                block = None
            else:
                block.code += line + "\n"
            continue
        if opening := OPENING.match(line):
            block = Block(name_of(page), number + 1, opening[1], opening[2], "", reason, generated)
        elif line.startswith("```"):
            raise ValueError(f"{name_of(page)}:{number}: a fence is ```LANGUAGE or ```LANGUAGE title=\"FILE\"")
        elif line.startswith("    ") and not previous:
            raise ValueError(f"{name_of(page)}:{number}: an indented block: use a fence with a language")
        if line:
            reason = marker[1] if (marker := NOT_RUN.match(line)) else None
        if line.startswith("<!-- generated"):
            generated = True
        elif line == "<!-- end -->":
            generated = False
        previous = line
    if block is not None:
        raise ValueError(f"{name_of(page)}:{block.line - 1}: the fence has no end")
    return found
