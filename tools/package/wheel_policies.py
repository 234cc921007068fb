"""Compares what auditwheel says of wheels with the documentation: wheel_policies.py PAGE WHEEL ...

PAGE has a table of wheels, | `NAME` | `manylinux_2_34`: ... |. Fails if a wheel serves other systems than its row, or its file name, says,
or if a row has no wheel."""
import pathlib
import re
import subprocess
import sys

MACHINE = "_x86_64"


def stated(page):
    """The rows of the table: {("tailor", "manylinux_2_34")}."""
    return set(re.findall(r"^\| `(tailor[a-z-]*)` \| `(\w+linux_\d+_\d+)`", page, re.M))


def names(wheel):
    """The package of a wheel's file name, and its platform tags."""
    name, platforms = re.fullmatch(r"([^-]+)-.*-([^-]+)\.whl", wheel).groups()
    return name.replace("_", "-"), platforms.split(".")


def policy(wheel):
    """The oldest systems that a wheel serves, as auditwheel finds: manylinux_2_34_x86_64."""
    text = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r'following\s+platform\s+tag:\s+"([^"]+)"', text)[1]


def differences(rows, wheels):
    """What is wrong, of {file name: auditwheel's policy}."""
    found = {(names(wheel)[0], tag.removesuffix(MACHINE)) for wheel, tag in wheels.items()}
    wrong = [f"{wheel}: auditwheel says {tag}" for wheel, tag in wheels.items() if tag not in names(wheel)[1]]
    wrong += [f"{name} is {tag}, which is not documented" for name, tag in sorted(found - rows)]
    return wrong + [f"{name} is documented as {tag}, which no wheel is" for name, tag in sorted(rows - found)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    page, *wheels = map(pathlib.Path, sys.argv[1:])
    policies = {wheel.name: policy(wheel) for wheel in wheels}
    wrong = differences(stated(page.read_text()), policies)
    if wrong:
        sys.exit("\n".join([f"{page}:", *wrong]))
    for wheel, tag in policies.items():
        print(f"{wheel}: {tag}, as documented")


if __name__ == "__main__":
    main()
