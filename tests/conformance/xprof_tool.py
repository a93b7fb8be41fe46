# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one tool of the real XProf over files, in a child: an abort or a hang of the converter is seen as what it is."""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile

TIMEOUT_S = 120
# Lines of its log that mean nothing: what XProf says of files of XLA's own, too.
HARMLESS = re.compile(r"No (Unified)?ProfileProcessor registered|No CoreDetails found|TfOpRoofLineCostEstimator|No HLO proto|"
                      r"unsupported GPU|Unknown GPU|before absl::InitializeLog")
SEVERE = re.compile(r"^[EF]\d{4} .*?\] (.*)")


# They show one program of XLA at a time, of files that XProf makes when it is asked for the list of tools.
OF_PROGRAMS = {"graph_viewer", "memory_viewer"}


def convert(tool, options, output, paths):
    from xprof.convert import raw_to_tool_data
    if tool in OF_PROGRAMS:
        raw_to_tool_data.xspace_to_tool_names(paths)
    data, _ = raw_to_tool_data.xspace_to_tool_data(paths, tool, {**options, "use_saved_result": False})
    if data is None:
        raise ValueError(f"{tool} has no answer")
    output.write_bytes(data if isinstance(data, bytes) else str(data).encode())


def in_child(function, arguments, log):
    """The wait status of a child that does it, and what it wrote to stderr."""
    # Loaded once, by the parent: it starts no threads before it converts.
    from xprof.convert import raw_to_tool_data  # noqa: F401
    child = os.fork()
    if child == 0:
        status = 1
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(TIMEOUT_S)
            function(*arguments)
            status = 0
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return status, pathlib.Path(log).read_text(errors="replace")


def why_it_ended(status, lines, severe):
    last = (severe or lines or [""])[-1][:300]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"no answer within {TIMEOUT_S} s" if number == signal.SIGALRM else f"killed by {signal.Signals(number).name}: {last}"
    return f"ended with {os.waitstatus_to_exitcode(status)}: {last}"


def run(tool, options, paths):
    """(what it shows, complaints)"""
    with tempfile.TemporaryDirectory() as folder:
        # It writes files of its own beside the input.
        inputs = []
        for path in paths:
            inputs.append(os.path.join(folder, path.parent.name, path.name))
            os.makedirs(os.path.dirname(inputs[-1]), exist_ok=True)
            os.symlink(path.absolute(), inputs[-1])
        output = pathlib.Path(folder, "output")
        status, log = in_child(convert, (tool, options, output, inputs), os.path.join(folder, "log"))
        lines = log.strip().splitlines()
        severe = [match[1] for match in map(SEVERE.match, lines) if match and not HARMLESS.search(match[1])]
        if status:
            return None, [why_it_ended(status, lines, severe)]
        # Scopes of operations are nested as deeply as their paths.
        sys.setrecursionlimit(100000)
        try:
            answer = output.read_bytes()
            return answer.decode() if tool == "graph_viewer" else json.loads(answer), [f"its log: {line[:300]}" for line in severe]
        except ValueError as error:
            return None, [f"its answer is no JSON: {error}"]
