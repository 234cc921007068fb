"""Runs the code blocks of one page in the order of the page, in an empty folder: run_page.py PAGE. Called by docs_code_test.py,
which describes the rules and sets the environment."""
import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import traceback

import pages

GIVEN = pathlib.Path(__file__).parent / "given"
SUFFIX = {"c": ".c", "cpp": ".cc", "rust": ".rs", "go": ".go"}
IN_A_FUNCTION = "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{}\nOk(())\n}}\n"


class Failure(Exception):
    pass


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failure(f"{shlex.join(command)[:300]}\nexit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def run_python(code, block, namespace):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            # Line numbers are those of the page.
            exec(compile("\n" * (block.line - 1) + code, block.page, "exec"), namespace)
    except Exception as error:
        raise Failure(traceback.format_exc()) from error
    return printed.getvalue()


def run_graph_text(code):
    """The text is parsed; what the graph prints is parsed again to the same."""
    import tailor
    text = tailor.Graph.parse(code).text
    if tailor.Graph.parse(text).text != text:
        raise Failure(f"the graph prints another text than it was parsed from:\n{text}")
    return text


def compile_and_run(block, name):
    code = block.code
    if block.language == "rust" and "fn main(" not in code:
        code = IN_A_FUNCTION.format(code)
    source = pathlib.Path(name + SUFFIX[block.language])
    source.write_text(code)
    build = os.environ["TAILOR_DOCS_" + block.language.upper()]
    run("sh", "-ec", build.replace("SOURCE", str(source)).replace("PROGRAM", name))
    return run(f"./{name}")


def is_program(block):
    return re.search(r"^int main\(|^func main\(", block.code, re.MULTILINE) or block.language == "rust"


def run_block(block, name, namespace):
    """What it prints."""
    if block.title:
        path = pathlib.Path(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code)
        return ""
    if block.language == "sh":
        return run("bash", "-ec", block.code)
    if block.language == "python":
        return run_python(block.code, block, namespace)
    if block.language == "tailor":
        return run_graph_text(block.code)
    return compile_and_run(block, name) if block.language in SUFFIX and is_program(block) else ""


def main():
    page = pages.ROOT / sys.argv[1]
    namespace = {"__name__": "__main__"}
    given = GIVEN / (sys.argv[1].replace("/", "_").removesuffix(".md") + ".py")
    if given.exists():
        exec(compile(given.read_text(), str(given), "exec"), namespace)
    printed = ""
    for number, block in enumerate(pages.blocks(page)):
        if block.not_run or block.generated:
            continue
        try:
            if block.title == "Output":
                if printed != block.code:
                    raise Failure(f"the block before prints\n{printed}")
            else:
                printed = run_block(block, f"block{number}", namespace)
        except Failure as failure:
            sys.exit(f"{block.page}:{block.line}: {block.language}: {failure}")


if __name__ == "__main__":
    main()
