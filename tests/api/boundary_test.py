"""Every exported C function: outside its guarded block its body calls only functions that cannot throw, and it locks the
graph or session that it takes (api/in_use.h).

Usage: boundary_test.py API_FOLDER
"""
import pathlib
import re
import sys
import unittest

API = pathlib.Path(sys.argv.pop(1))

# Their callables, and what else stands in the call, run within a try block, or only copy references and pointers.
GUARDS = ["Guarded", "AtBoundary", "AddToGraph", "BuildOne", "BuildSeveral", "AppendOp", "CombineDims", "GiveText", "WithDims"]

# Calls that throw nothing: noexcept, C, or helpers that forward to the guarded ones. A new one belongs here only after a
# look at its body.
THROW_NOTHING = set("""
    if for while switch return sizeof static_cast const_cast reinterpret_cast constexpr
    CheckHandle CheckPointer IsHandle InvalidParameter TakeOptions WriteInfo ReadTensors ReadBoth TextOf
    CheckLoad CpuInfo IsRuntime MakeStatus ModulesEmitted OutOfMemory OutOfRange ProgramOf ReadCounters ReadProvider
    UsableCpus
    Cancel CheckHeld Free Release RunBound SetTimeout Uncancel TensorInfo ended writer Describe Take borrowed text load store fetch_add fetch_sub
    snprintf strlen memcpy memset free size data empty c_str get outputs stream variant
""".split())


def balanced(text, start):
    """The end of the parenthesis or block that opens at `start`."""
    opening = text[start]
    closing = {"(": ")", "{": "}"}[opening]
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return i + 1
    raise ValueError(f"no end of a {opening}")


def without_text(source):
    source = re.sub(r'"(\\.|[^"\\\n])*"', '""', source)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.S)


def exported_functions(source):
    """(name, body) of each definition of an exported function."""
    for match in re.finditer(r"^(?!static\b)[a-z][\w *]*[ *](tailor_\w+)\(", source, re.M):
        end = balanced(source, match.end() - 1)
        if source[end:].lstrip().startswith("{"):
            start = source.index("{", end)
            yield match.group(1), source[start:balanced(source, start)]


def unguarded_calls(body):
    while (match := re.search(r"\btry \{", body)) is not None:
        end = balanced(body, match.end() - 1)
        if not body[end:].startswith(" catch (...) {"):
            return ["try without catch (...)"]
        body = body[:match.start()] + body[end + len(" catch (...) "):]
    guard = re.compile(r"\b(?:%s)\(" % "|".join(GUARDS))
    while (match := guard.search(body)) is not None:
        body = body[:match.start()] + body[balanced(body, match.end() - 1):]
    calls = re.findall(r"\b([A-Za-z_]\w*)(?:<[^<>()]*>)?\(", body)
    found = [call for call in calls if call not in THROW_NOTHING and not call.startswith("tailor_")]
    return found + re.findall(r"\b(?:new|throw)\b|\bstd::(?:string|vector|map)\b", body)


class BoundaryTest(unittest.TestCase):
    def test_exported_functions_call_nothing_unguarded_that_throws(self):
        functions = 0
        for path in sorted(API.glob("*.cc")):
            for name, body in exported_functions(without_text(path.read_text())):
                functions += 1
                self.assertEqual(unguarded_calls(body), [], f"{path.name}: {name} calls these outside Guarded")
        self.assertGreater(functions, 150)

    def test_calls_that_take_a_graph_or_session_hold_it(self):
        handles = 0
        for path in sorted(API.glob("*.cc")) + sorted(API.glob("*.h")):
            source = without_text(path.read_text())
            for match in re.finditer(r"\bCheckGraph\(\w*, (\w+)\)\);|\bCheckHandle\(.*, (session), .*\n", source):
                if re.search(r"\btailor_session_(un)?cancel\(", source[:match.start()].rsplit("\n\n", 1)[-1]):
                    continue  # meant for other threads than the one that holds the session
                handles += 1
                handle = match.group(1) or match.group(2)
                after = source[match.end():match.end() + 260]
                self.assertRegex(after, r"\b(Writer|Reader)<tailor_(graph|session)> \w+\(\*%s\)" % handle,
                                 f"{path.name}: {source[:match.start()].count(chr(10)) + 1}")
        self.assertGreater(handles, 15)

    def test_what_may_throw_is_seen(self):
        self.assertEqual(unguarded_calls("auto* bad = Guarded([&] { return Plan(); }); info = Count(bad);"), ["Count"])
        self.assertEqual(unguarded_calls("return Guarded([&] { return Run(std::string(name)); });"), [])
        self.assertEqual(unguarded_calls("try { Make(); } catch (...) { return 1; }"), [])
        self.assertEqual(unguarded_calls("try { Make(); } catch (int) { return 1; }"), ["try without catch (...)"])
        self.assertEqual(unguarded_calls("*out = new tailor_graph; return nullptr;"), ["new"])


if __name__ == "__main__":
    unittest.main()
