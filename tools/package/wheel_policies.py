"""Compares what auditwheel says of wheels with the documentation: wheel_policies.py PAGE WHEEL ...

PAGE has a table of wheels, | `NAME` | `manylinux_2_34`: ... |. Fails if a wheel serves other systems than its row, or its file name, says,
or if a row has no wheel."""
import pathlib
import re
import sys

IN_THE_OTHER_WHEEL = ["libtailor_runtime.so.1"]
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
    from auditwheel.wheel_abi import analyze_wheel_abi  # the rest needs no package
    from auditwheel.wheeltools import get_wheel_architecture, get_wheel_libc
    found = analyze_wheel_abi(get_wheel_libc(wheel.name), get_wheel_architecture(wheel.name), wheel,
                              frozenset(IN_THE_OTHER_WHEEL), disable_isa_ext_check=False, allow_graft=False)
    return found.overall_policy.name


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
