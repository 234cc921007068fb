"""Runs tailor-gpu, which tests/gpu/tailor_gpu.cc describes. Needs only Python's standard library."""
import glob
import json
import os
import re
import subprocess
import sys

from .figures import NotMeasured


def search_path(python):
    """The package folders of this Python; empty if it does not exist."""
    if str(python) == sys.executable:
        return sys.path
    try:
        said = subprocess.run([python, "-c", "import json, sys; print(json.dumps(sys.path))"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return json.loads(said)


def library_of_wheels(pattern, folders):
    """A library of one of NVIDIA's wheels, or None."""
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", pattern)))
        if found:
            return found[-1]
    return None


def environment(python):
    """This process's environment, with cuBLASLt and nvJitLink from wheels of either Python where it names none."""
    out, folders = dict(os.environ), [*sys.path, *search_path(python)]
    for variable, pattern in (("TAILOR_CUBLASLT", "libcublasLt.so.*"), ("TAILOR_NVJITLINK", "libnvJitLink.so.*")):
        found = library_of_wheels(pattern, folders)
        if found and variable not in out:
            out[variable] = found
    return out


def read_lines(text):
    """{name: {"figures", "peer"} or {"reason"}} from lines of JSON; other lines are output of libraries."""
    lines = (json.loads(line) for line in text.splitlines() if line.startswith("{"))
    return {line["name"]: line for line in lines if "name" in line}


def ask(command, names, env, seconds=None):
    """A program's answers for these measurements within `seconds`. Missing ones have the reason why it ended."""
    seconds, program = seconds or 300 + 60 * len(names), os.path.basename(str(command[0]))
    try:
        done = subprocess.run([*map(str, command), *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              check=False, timeout=seconds)
        printed = done.stdout
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        ended = f"{program} ended with status {done.returncode}: {last}"
    except subprocess.TimeoutExpired as late:
        printed, ended = late.stdout or b"", f"{program} took longer than {seconds} seconds"
    answers = read_lines(printed.decode(errors="replace"))
    return {name: answers.get(name, {"name": name, "reason": ended}) for name in names}


class GpuProgram:
    def __init__(self, program, torch_python):
        self._program, self.environment = str(program), environment(torch_python)
        self._device = None

    def device(self):
        """The GPU; {"absence": reason} if there is none."""
        if self._device is None:
            done = subprocess.run([self._program, "device"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, env=self.environment, check=False)
            said = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if not said:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise RuntimeError(f"tailor-gpu device ended with status {done.returncode}: {last}")
            self._device = json.loads(said[-1])
        return self._device

    def require_device(self):
        if "absence" in self.device():
            raise NotMeasured(self.device()["absence"])
        return self.device()

    def measure_each(self, names):
        """({name: figures}, where "peer" is a name; {name: reason}). Wrong results raise ValueError."""
        self.require_device()
        answers = ask([self._program, "measure"], names, self.environment)
        for name, answer in answers.items():
            if answer.get("wrong"):
                raise ValueError(f"{name}: {answer['reason']}")
        return ({name: {**answer["figures"], "peer": answer["peer"]} for name, answer in answers.items()
                 if "reason" not in answer},
                {name: answer["reason"] for name, answer in answers.items() if "reason" in answer})

    def measure(self, names):
        """{name: figures}; raises NotMeasured if one could not be measured."""
        measured, missing = self.measure_each(names)
        for name, reason in missing.items():
            raise NotMeasured(f"{name}: {reason}")
        return measured

    def run(self, *arguments, **variables):
        """(status, output) of a suite on the device; errors are part of the output."""
        device = self.require_device()
        named = "emulated" if device["emulated"] else device["target"]
        done = subprocess.run([self._program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, check=False,
                              env={**self.environment, "TAILOR_TEST_DEVICE": named, **variables})
        return done.returncode, done.stdout


def count_tests(output):
    """(passed, failed, skipped) from the summary of GoogleTest."""
    def number(label):
        found = re.findall(rf"^\[  {label} \] (\d+) tests?", output, re.MULTILINE)
        return int(found[-1]) if found else 0
    return number("PASSED "), number("FAILED "), number("SKIPPED")
