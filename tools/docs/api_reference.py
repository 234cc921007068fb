"""The API reference as Markdown, from comments and docstrings of the sources: api_reference.py c|cpp|python|rust|go."""
import ast
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
C_HEADERS = ("api/include/tailor/version.h", "api/include/tailor/runtime.h", "api/include/tailor/compiler.h",
             "api/include/tailor/ops.h", "bindings/onnx/include/tailor/onnx.h", "bindings/onednn/tailor/onednn.h")
CPP_HEADERS = ("result", "span", "tensor", "runtime_object", "executable", "session", "custom_operator", "dim", "value_base",
               "value", "graph")
PYTHON_PARTS = ("_building.py", "_custom.py", "_device.py", "_ops.py")  # what `tailor` has of its own modules
GO_PACKAGES = (".", "./graph", "./onnx")


def as_text(comment):
    """A comment as Markdown: outside of `code` nothing is markup, apart from lists."""
    parts = comment.split("`")
    if len(parts) % 2 == 0:
        parts = [comment.replace("`", "'")]
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*_\[\]#|])", r"\\\1", parts[i].replace("&", "&amp;").replace("<", "&lt;"))
    lines = re.sub(r"^( *)- ", r"\1- ", "`".join(parts), flags=re.MULTILINE).splitlines()
    # Lines such as "Shapes: ..." and "Errors: ..." begin a line of their own.
    return "\n".join(("\n" if re.match(r"(Shapes|Types|Owner|Threads|Errors|Returns):", line) else "") + line for line in lines)


def entry(name, comment, code, language, level=3):
    return f"{'#' * level} `{name}`\n\n{as_text(comment)}\n\n```{language}\n{code.rstrip()}\n```\n"


def name_of_c(code):
    for pattern in (r"^#define (\w+)", r"\b(tailor_\w+)\(", r"\(\*(tailor_\w+)\)", r"^typedef struct (\w+)", r"(tailor_\w+);"):
        if found := re.search(pattern, code, re.MULTILINE):
            return found[1]
    return ""


def c_header(path):
    text = (ROOT / path).read_text()
    opening = re.match(r"/\*(.*?)\*/\n", text, re.DOTALL)
    yield f"## {path.split('include/')[-1].replace('bindings/onednn/', '')}\n\n{as_text(c_comment(opening[1]))}\n"
    # Blocks are what blank lines separate, at depth 0.
    body = re.sub(r"^#(ifndef|endif|ifdef|else|if|include).*\n|^extern \"C\" \{\n|^\}.*extern.*\n", "", text[opening.end():],
                  flags=re.MULTILINE)
    body = re.sub(r"^static inline .*?^\}\n", "", body, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\n+(?=\S)", body):
        block = block.strip("\n")
        if section := re.fullmatch(r"/\* -+ (.*?) -+ \*/", block):
            yield f"### {section[1]}\n"
            continue
        comment = re.match(r"/\*(.*?)\*/\n", block, re.DOTALL)
        code = block[comment.end():] if comment else block
        name = name_of_c(code)
        if name and not name.endswith("_H_") and "__attribute__" not in code:
            yield entry(name, c_comment(comment[1]) if comment else "", code.replace("TAILOR_API ", ""), "c", 4)


def c_comment(text):
    return textwrap.dedent("\n".join(re.sub(r"^ \* ?|^ \*$", "", line) for line in text.strip("\n").splitlines())).strip()


def c():
    return "\n".join(part for header in C_HEADERS if (ROOT / header).exists() for part in c_header(header))


def commented(lines, mark, is_declaration, name):
    """(indentation, name, comment, declaration) of each declaration that has a comment."""
    comment = []
    for i, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith(mark):
            comment.append(stripped[len(mark):].removeprefix(" "))
            continue
        if comment and is_declaration(stripped):
            declaration = []
            for more in lines[i:]:
                declaration.append(more)
                if more.rstrip().endswith((";", "{", "}")) or len(declaration) > 7:
                    break
            code = textwrap.dedent("\n".join(declaration)).rstrip().removesuffix("{").rstrip()
            yield len(line) - len(line.lstrip()), name(code), "\n".join(comment), code
        if not stripped.startswith("#["):
            comment = []


def public_lines(text):
    """Without private sections, and without what namespaces of details hold."""
    kept, private, detail = [], False, False
    for line in text.splitlines():
        if re.match(r"namespace (internal|detail)", line):
            detail = True
        private = (private and not re.match(r"(};| public:)", line)) or line.startswith(" private:")
        if not private and not detail:
            kept.append(line)
        if detail and re.match(r"}($|  // namespace (internal|detail))", line):
            detail = False
    return kept


def without_body(code):
    """A declaration without the initializers of a constructor and without a body of one line."""
    return re.sub(r"\n? *(: \w+\(.*)?\{ .*\}$|\n? *: \w+\([^\n]*\{\}$", "", code, flags=re.DOTALL)


def cpp_name(code):
    code = re.sub(r"template <.*?>\n|\[\[\w+\]\] |std::function<.*> ", "", code)
    found = re.search(r"\b(?:class|struct|enum class) (\w+)|(\boperator\W+?|~?\w+)\(|(\w+)(?: =.*)?;", code)
    return next((group for group in found.groups() if group), code) if found else code


def begins_cpp(line):
    return re.match(r"[\w\[~]", line) and "namespace" not in line


def cpp():
    parts = []
    for name in CPP_HEADERS:
        path = ROOT / f"api/include/tailor/hpp/{name}.hpp"
        title = f"## tailor/hpp/{name}.hpp\n"
        for indent, declared, comment, code in commented(public_lines(path.read_text()), "//", begins_cpp, cpp_name):
            if indent <= 2:
                parts += [title] if title else []
                title = ""
                parts.append(entry(declared, comment, without_body(code), "cpp", 3 if indent == 0 else 4))
    return "\n".join(parts)


def rust_name(code):
    found = re.search(r"\b(?:fn|struct|enum|trait|type|const|mod) (\w+)", code) or re.search(r"pub (?:use )?([\w:]+)", code)
    return found[1] if found else code


def rust():
    parts = []
    sources = ROOT / "bindings/rust/tailor/src"
    for path in sorted(sources.rglob("*.rs"), key=lambda path: (path.name != "lib.rs", str(path))):
        lines = path.read_text().split("\n#[cfg(test)]")[0].splitlines()
        found = list(commented(lines, "///", lambda line: line.startswith("pub "), rust_name))
        if found:
            parts.append(f"## {path.relative_to(sources).as_posix()}\n")
        for indent, name, comment, code in found:
            comment = re.sub(r"```.*?```|```.*", "", comment, flags=re.DOTALL)
            parts.append(entry(name, comment, code, "rust", 3 if indent == 0 else 4))
    return "\n".join(parts)


def signature(node):
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"def {node.name}({ast.unparse(node.args)}){returns}"
    return text if len(text) < 110 else text.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


def python_entries(node, level, prefix=""):
    for item in node.body:
        name = getattr(item, "name", "")
        if not name or name.startswith("_") and name not in ("__getitem__",):
            continue
        is_documented = isinstance(item, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(item)
        if not is_documented:
            continue
        if isinstance(item, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in item.bases)
            code = f"class {name}({bases})" if bases else f"class {name}"
            yield entry(prefix + name, ast.get_docstring(item), code, "python", level)
            yield from python_entries(item, level + 1, name + ".")
        else:
            decorators = "".join(f"@{ast.unparse(decorator)}\n" for decorator in item.decorator_list)
            awaits = "async " if isinstance(item, ast.AsyncFunctionDef) else ""
            yield entry(prefix + name, ast.get_docstring(item), decorators + awaits + signature(item), "python", level)


def python():
    parts = []
    for path in sorted((ROOT / "bindings/python/tailor").glob("*.py"), key=lambda path: (path.name.startswith("_"), path.name)):
        tree = ast.parse(path.read_text())
        entries = list(python_entries(tree, 3))
        if entries and (not path.name.startswith("_") or path.name in PYTHON_PARTS):
            module = "tailor" if path.name.startswith("_") else f"tailor.{path.stem}"
            parts += [f"## {module}\n", as_text(ast.get_docstring(tree) or "") + "\n", *entries]
    return "\n".join(parts)


def go():
    program = shutil.which("go")
    if program is None:
        return "Go is not installed on the machine that built this site.\n"
    parts = []
    for package in GO_PACKAGES:
        text = subprocess.run([program, "doc", "-all", package], cwd=ROOT / "bindings/go", text=True, capture_output=True,
                              check=True).stdout
        parts.append(f"## {text.split(maxsplit=2)[1]}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


LANGUAGES = {"c": c, "cpp": cpp, "python": python, "rust": rust, "go": go}

if __name__ == "__main__":
    sys.stdout.write(LANGUAGES[sys.argv[1]]())
