"""Hooks of mkdocs (mkdocs.yml). The site has three kinds of pages beside those of docs/:
- <!-- api: LANGUAGE --> of a page becomes the API reference;
- Markdown files outside of docs/ that pages link to, or the navigation names, are pages below source/;
- other files and folders that pages link to are pages that show them."""
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!\w+:|#)([^()\s#]+)(#[^()\s]*)?\)")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".py": "python", ".rs": "rust", ".go": "go", ".sh": "sh"}


def page_of(path):
    """The page of a file of the tree, as a path in the site."""
    if (ROOT / path / "README.md").exists():
        path += "/README.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"source/{path}/folder.md"
    return "source/" + (path if path.endswith(".md") else path + ".md")


def source_of(page):
    """The inverse, for Markdown files."""
    return page.removeprefix("source/") if page.startswith("source/") else "docs/" + page


def links(text, source):
    """The files of the tree that a Markdown text links to."""
    prose = "".join(re.sub(r"`[^`\n]*`", "", part) for part in FENCE.split(text)[::2])
    return {posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) for path, _ in LINK.findall(prose)}


def content_of(path):
    file = ROOT / path
    if path.endswith(".md"):
        return file.read_text()
    if file.is_dir():
        names = sorted(child.name + "/" * child.is_dir() for child in file.iterdir() if not child.name.startswith((".", "__")))
        return f"# {path}\n\n" + "".join(f"- `{name}`\n" for name in names)
    return f"# {path}\n\n````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text().rstrip()}\n````\n"


def on_files(files, config):
    """Adds the pages outside of docs/, and those that they link to."""
    todo = [path for file in files.documentation_pages()
            for path in links((ROOT / "docs" / file.src_uri).read_text(), "docs/" + file.src_uri)]
    todo += [source_of(page) for page in re.findall(r"source/[\w./-]+", (ROOT / "mkdocs.yml").read_text())]
    done = set()
    while todo:
        path = todo.pop()
        if (ROOT / path / "README.md").exists():
            path += "/README.md"
        if path in done or not (ROOT / path).exists() or path.startswith("docs/") and (ROOT / path).is_file():
            continue
        done.add(path)
        text = content_of(path)
        files.append(File.generated(config, page_of(path), content=text))
        # The README and others link to more; files that those link to are enough.
        if path.endswith(".md"):
            todo += links(text, path)
    return files


def relinked(text, page):
    source = source_of(page)

    def link(match):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        return f"]({posixpath.relpath(page_of(path), posixpath.dirname(page) or '.')}{match[2] or ''})"
    parts = FENCE.split(text)
    for i in range(0, len(parts), 2):
        spans = re.split(r"(`[^`\n]*`)", parts[i])
        # A link's text may hold code, hence the link's end may follow it.
        parts[i] = "".join(span if span.startswith("`") else LINK.sub(link, span) for span in spans)
    return "".join(parts)


def with_lists(text):
    """Lists as Python's Markdown wants them: a blank line before, four spaces for each level."""
    parts = FENCE.split(text)
    for i in range(0, len(parts), 2):
        lines, previous = [], ""
        for line in parts[i].split("\n"):
            item = re.match(r"( *)([-*]|\d+\.) ", line)
            if item and previous and not re.match(r" *([-*]|\d+\.) |  ", previous):
                lines.append("")
            indent = len(line) - len(line.lstrip(" "))
            lines.append(" " * indent + line if line.strip() and 0 < indent <= 3 else line)
            previous = line
        parts[i] = "\n".join(lines)
    return "".join(parts)


def on_page_markdown(markdown, page, **_):
    uri = page.file.src_uri
    if uri.startswith("source/") and not uri.endswith("README.md") and not (ROOT / source_of(uri)).exists():
        return markdown
    text = re.sub(r"^<!-- api: (\w+) -->$", lambda match: api_reference.LANGUAGES[match[1]](), markdown, flags=re.MULTILINE)
    return with_lists(relinked(text, uri))
