#!/usr/bin/env python3
"""Writes the declarations of tailor-sys and the versions of the crates from the C headers; with --check, fails if they
differ."""

import re
import sys
from pathlib import Path

CRATE = Path(__file__).resolve().parent
ROOT = CRATE.parents[2]
# Source file, header, and the linked library with the feature that asks for it.
MODULES = [
    ("runtime", "api/include/tailor/runtime.h", "tailor_runtime"),
    ("compiler", "api/include/tailor/compiler.h", "tailor"),
    ("ops", "api/include/tailor/ops.h", "tailor"),
    ("onnx", "bindings/onnx/include/tailor/onnx.h", "tailor_onnx"),
]
SCALARS = {
    "void": "c_void", "char": "c_char", "size_t": "usize", "double": "f64", "float": "f32", "int": "c_int",
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
}
KEYWORDS = {"as", "box", "dyn", "fn", "impl", "in", "loop", "match", "mod", "move", "priv", "pub", "ref", "self",
            "trait", "type", "use", "where", "yield"}
FUNCTION_POINTER = re.compile(r"^(?P<result>.+?)\(\*(?P<name>\w+)\)\((?P<parameters>.*)\)$", re.S)


def declared_name(name):
    return name + "_" if name in KEYWORDS else name


def rust_type(text):
    """A C type without a name, `const char* const*`, in Rust."""
    text = text.replace("struct ", " ").strip()
    pointers = []
    while match := re.match(r"^(.*?)\*\s*(const)?$", text, re.S):
        text = match[1].strip()
        pointers.insert(0, bool(match[2]))  # whether the pointer itself is const
    base = re.sub(r"\bconst\b", "", text).strip()
    out = SCALARS.get(base, base)
    # In Rust a pointer says what its target is, in C the target does.
    for constant in ([base != text] + pointers)[:len(pointers)]:
        out = f"*{'const' if constant else 'mut'} {out}"
    return out


def split_parameters(text):
    """The parameters of a function, of which each may be a function pointer."""
    out, depth, current = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            out.append(current)
            current = ""
        else:
            current += char
    return [part.strip() for part in out + [current] if part.strip() not in ("", "void")]


def function_type(result, parameters):
    types = ", ".join(rust_type_of(p)[1] for p in split_parameters(parameters))
    returned = "" if result.strip() == "void" else f" -> {rust_type(result)}"
    return f"Option<unsafe extern \"C\" fn({types}){returned}>"


def rust_type_of(declaration):
    """(name, type) of a parameter or member; `int64_t x[N]` is an array."""
    declaration = declaration.strip()
    if match := FUNCTION_POINTER.match(declaration):
        return declared_name(match["name"]), function_type(match["result"], match["parameters"])
    match = re.match(r"^(?P<type>.*?)(?P<name>\w+)(\[(?P<count>\w+)\])?$", declaration, re.S)
    kind = rust_type(match["type"])
    if match["count"]:
        kind = f"[{kind}; {match['count']}]"
    return declared_name(match["name"]), kind


def members(body):
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        if FUNCTION_POINTER.match(declaration):
            yield rust_type_of(declaration)
            continue
        first, *others = declaration.split(",")
        kind = re.match(r"^(.*?)\w+(\[\w+\])?$", first.strip(), re.S)[1]
        yield rust_type_of(first)
        for other in others:
            yield rust_type_of(kind + other)


def constant(name, value):
    kind = "usize" if name == "TAILOR_MAX_RANK" else "i32"
    return f"pub const {name}: {kind} = {value};\n"


def defaults(name, body):
    """The `_init` function of a struct as its Default."""
    lines = []
    for field, value in re.findall(r"->(\w+) = ([^;]+);", body):
        value = re.sub(r"sizeof\(\*\w+\)", f"size_of::<{name}>() as u64", value)
        value = re.sub(r"\(uint64_t\)(\d+)", r"\1", value).replace("INT32_MAX", "i32::MAX as i64")
        lines.append(f"        out.{declared_name(field)} = {value};\n")
    return (f"\nimpl Default for {name} {{\n    fn default() -> Self {{\n"
            f"        // SAFETY: all-zero is valid: numbers, null pointers, no functions.\n"
            f"        let mut out: Self = unsafe {{ zeroed() }};\n{''.join(lines)}        out\n    }}\n}}\n")


def opaque(name):
    return (f"\n#[repr(C)]\npub struct {name} {{\n    _private: [u8; 0],\n"
            f"    _marker: PhantomData<(*mut u8, PhantomPinned)>,\n}}\n")


def function(result, name, parameters):
    parameters = [": ".join(rust_type_of(p)) for p in split_parameters(parameters)]
    returned = "" if result.strip() == "void" else f" -> {rust_type(result)}"
    line = f"    pub fn {name}({', '.join(parameters)}){returned};\n"
    if len(line) <= 121:
        return line
    listed = "".join(f"        {p},\n" for p in parameters)
    return f"    pub fn {name}(\n{listed}    ){returned};\n"


def module(header, library):
    path = ROOT / header
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    constants = [constant(*pair) for pair in re.findall(r"^#define (TAILOR_\w+) (\d+)\s*$", text, re.M)]
    structs = {name: body for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S)}
    handles = re.findall(r"typedef struct (\w+) \w+;", text) + re.findall(r"^struct (\w+);", text, re.M)
    inits = {name: body for name, body in
             re.findall(r"static inline void (\w+)_init\([^)]*\) \{(.*?)\n\}", text, re.S)}
    numbers = re.findall(r"typedef (\w+) (\w+);", text)
    pointers = re.findall(r"typedef (\w+) \(\*(\w+)\)\(([^;]*)\);", text, re.S)
    functions = re.findall(r"TAILOR_API ([^;(]*?)(\w+)\(([^;]*)\);", text, re.S)
    names = [name for _, name, _ in functions]
    if repeated := {name for name in names if names.count(name) > 1}:
        sys.exit(f"{header} declares {', '.join(sorted(repeated))} more than once")

    types = [f"pub type {name} = {rust_type(kind)};\n" for kind, name in numbers]
    types += [f"pub type {name} = {function_type(result, parameters)};\n" for result, name, parameters in pointers]
    types += [opaque(name) for name in handles]
    for name, body in structs.items():
        fields = "".join(f"    pub {field}: {kind},\n" for field, kind in members(body))
        types.append(f"\n#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{\n{fields}}}\n")
        if name in inits:
            types.append(defaults(name, inits[name]))
    declared = "".join(function(*parts) for parts in functions)
    linked = f'#[link(name = "{library}")]'
    if library == "tailor_runtime":
        linked = ('#[cfg_attr(not(feature = "static"), link(name = "tailor_runtime"))]\n'
                  '#[cfg_attr(feature = "static", link(name = "tailor_runtime", kind = "static"))]')
    body = "".join(constants) + ("\n" if constants else "") + "".join(types)
    body += f"\n{linked}\nextern \"C\" {{\n{declared}}}\n"
    return head(header, body) + body


def head(header, body):
    lines = [f"//! `{header.split('include/')[1]}`. Generated by generate.py; do not edit.\n\n"]
    if "PhantomPinned" in body:
        lines.append("use std::marker::{PhantomData, PhantomPinned};\n")
    if "zeroed()" in body:
        lines.append("use std::mem::{size_of, zeroed};\n")
    raw = [name for name in ("c_char", "c_int", "c_void") if re.search(rf"\b{name}\b", body)]
    if len(raw) == 1:
        lines.append(f"use std::os::raw::{raw[0]};\n")
    elif raw:
        lines.append(f"use std::os::raw::{{{', '.join(raw)}}};\n")
    if not header.endswith("runtime.h"):
        lines.append("\nuse super::*;\n")
    return "".join(lines) + "\n"


def manifest(path, version):
    """A Cargo.toml with the version of the headers."""
    text = re.sub(r'^version = "[^"]*"', f'version = "{version}"', path.read_text(), count=1, flags=re.M)
    return re.sub(r'version = "=[^"]*"', f'version = "={version}"', text)


def generated():
    """The files, and what belongs into them."""
    header = (ROOT / "api/include/tailor/version.h").read_text()
    defined = dict(re.findall(r"#define TAILOR_VERSION_(\w+) (\d+)", header))
    version = ".".join(defined[part] for part in ("MAJOR", "MINOR", "PATCH"))
    for crate in ("tailor-sys", "tailor"):
        path = CRATE.parent / crate / "Cargo.toml"
        yield path, manifest(path, version)
    for name, header, library in MODULES:
        yield CRATE / "src" / f"{name}.rs", module(header, library)


def main():
    stale = []
    for path, text in generated():
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            stale.append(str(path.relative_to(ROOT)))
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the C headers declare; run ./dev generate")


if __name__ == "__main__":
    main()
