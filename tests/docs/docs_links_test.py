"""Links and anchors of the Markdown files, and paths that other files name, exist. Needs no package."""
import re
import subprocess
import unittest

import pages

ROOT = pages.ROOT
IMAGE = re.compile(r"!\[[^\]\[]*\]\(([^()\s]*)\)")
LINK = re.compile(r"(?<!!)\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(([^()\s]*)\)")


def without_code(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """Of the headings, as Git hosts make them. Headings that are alike are left out: hosts number them differently."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        found.append(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return {anchor for anchor in found if found.count(anchor) == 1}


class LinksTest(unittest.TestCase):
    def markdown(self):
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True,
                               capture_output=True, check=False).stdout.split()
        if not files:  # a source archive
            files = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.md") if "build" not in path.parts]
        return [ROOT / file for file in files if (ROOT / file).exists()]

    def test_links(self):
        count = 0
        for page in self.markdown():
            for target in LINK.findall(without_code(page.read_text())):
                if re.match(r"\w+:", target):
                    continue
                count += 1
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                    self.assertTrue(file.exists(), "there is no such file")
                    if anchor and file.suffix == ".md":
                        self.assertIn(anchor, anchors(file.read_text()))
        self.assertGreater(count, 200)

    def test_images(self):
        count = 0
        for page in self.markdown():
            for target in IMAGE.findall(without_code(page.read_text())):
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                    self.assertTrue((page.parent / target).exists(), "there is no such file")
        self.assertGreater(count, 2)

    def test_pages_that_sources_name_exist(self):
        named = subprocess.run(["git", "grep", "-noE", r"\bdocs/[a-z0-9_./-]+\.md", "--", ":!CHANGELOG.md", ":!*.md"], cwd=ROOT,
                               text=True, capture_output=True, check=False).stdout.splitlines()
        for line in named:
            place, path = line.rsplit(":", 1)
            with self.subTest(place):
                self.assertTrue((ROOT / path).exists(), f"{path} does not exist")

    def test_every_page_is_in_the_navigation(self):
        navigation = (ROOT / "mkdocs.yml").read_text()
        for page in pages.pages():
            name = page.relative_to(ROOT / "docs").as_posix() if page.is_relative_to(ROOT / "docs") else ""
            if name and not name.startswith("decisions/"):
                with self.subTest(name):
                    self.assertRegex(navigation, rf"(?m)[: ]{re.escape(name)}$")


if __name__ == "__main__":
    unittest.main()
