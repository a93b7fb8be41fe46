#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random captures as ndjson, valid and hostile: hostile_capture.py SEED > capture.ndjson

Every kind of the data model's own table (bpf/record.def) with names and numbers that break exporters: names that readers of XPlane
take for theirs, control characters, numbers at the ends of their types; beside them work of GPUs that belongs together (launch and
kernel, steps, allocations). The same seed gives the same capture.
"""
import json
import pathlib
import random
import re
import sys

TABLES = pathlib.Path(__file__).parent / "../../bpf"
NAMES = [
    # What XProf takes for something of XLA's, TensorFlow's or its own.
    "ForOp", "ForeverOp", "ParallelForOp", "WhileOp-EvalCond", "WhileOp-StartBody", "MemoryAllocation", "MemoryDeallocation",
    "TraceContext", "FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process", "EagerKernelExecute", "EagerExecute",
    "Iterator::Batch::TFRecord", "Iterator", "IteratorGetNextOp::DoCompute", "InfeedEnqueue", "HostEventRun", "NumericalVerify",
    "BatchingSessionRun", "ProcessBatch", "ConcatInputTensors", "ThreadpoolListener::Record", "ExecutorDoneCallback",
    "Tensor::Alloc", "KernelLaunch", "KernelExecute", "TfOpRun", "train", "train 7", "test", "train/step", "trainer",
    "group_id", "step_num", "step_name", "tf_op", "hlo_op", "hlo_module", "program_id", "kernel_details", "memcpy_details",
    "correlation_id", "flow", "device_id", "_r", "_a", "_p", "_c", "_pt", "_ct", "_ipl_stage_id", "is_eager", "allocator_name",
    "/device:TPU:0", "/device:GPU:0", "/host:CPU", "/host:metadata", "Task Environment", "_counters_", "counters_x", "Steps",
    "Step spans (overlay)", "step", "step of f", "GPU memory", "Launch Stats", "XLA Modules", "XLA Ops", "Framework Ops",
    "Framework Name Scope", "Source code", "Stream #7(Compute)", "Host Threads/7", "process_name", "thread_name", "process_labels",
    "MemcpyHtoD", "MemcpyH2D", "memcpydtoh:x", "Memset", "nccl", "ncclDevKernel", "half", "fp16", "hmma", "CUPTI overhead",
    # What parses as an operation, or almost.
    "NVTX:foo", "a:b", "a/b:Range", "a/b/:Range", "::", ":", ":x", "x:", "/", "//", "a//b:c", "aten::mm", "jit(f)/x:y[z]", "a/MatMul:MatMul",
    "$file.py:1 f", "name#key=value#", "name#", "#", "$$1", "regs:1 grid:1,1,1", "num_bytes:5\n", "program_id=1",
    # Symbols.
    "operator<", "<lambda>", "(anonymous namespace)::f(int)", "_Z3foov", "_ZN", "_ZN5cublaSILi1EEvPKf", "std::map<int, int>::f()", "main",
    # Numbers, signs, steps.
    "0", "-1", "0x10", "18446744073709551616", "1e400", "nan", "step 1", "step 2", "step -3", "ProfilerStep#7", "epoch=3", "layer_3",
    # Strings that escape.
    " ", ".", "..", "%s%n", "{", "}", "\"", "\\", "\n", "\t", "\r\n", "\x01\x1b[31m", "\x7f", "</script>", "'", "&", "|", ",", ";",
    "\u00e9", "\u65e5\u672c", "\U0001f600", "\u202e", "\u2028", "\ufffd", "\uffff", "x" * 300, "y" * 5000, "a/" * 600, "\u00e9" * 4000,
]
API_NAMES = ["cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaGraphLaunch_v10000", "cudaMemcpyAsync_v3020", "cudaMalloc_v3020"]
BITS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "s32": 32, "s64": 64}
START_NS = 10 ** 12


def expand(table, macro, columns):
    pattern = rf"^{macro}\(" + r"\s*,\s*".join([r"(\w+)"] * columns)
    return re.findall(pattern, (TABLES / table).read_text(), re.MULTILINE)


def expand_model(macro, columns):
    return expand("record_facts.def", macro, columns) + expand("record.def", macro, columns)


class Model:
    """The data model: kinds with their fields."""

    def __init__(self):
        self.shapes = {tag: (shape, row) for _, tag, shape, row in expand_model("KIND", 4)}
        self.enums = {}
        for enum, _, tag in expand("record_enums.def", "ENUM_VALUE", 3):
            self.enums.setdefault(enum, []).append(tag)
        self.fields = {tag: [] for tag in self.shapes}
        for tag, kind, name, unit, reference in expand_model("FIELD", 5):
            self.fields[tag].append((name, kind, 0, unit, reference))
        for tag, kind, name, count, unit, reference in expand_model("ARRAY", 6):
            self.fields[tag].append((name, kind, int(count), unit, reference))
        self.events = [tag for tag, (shape, _) in self.shapes.items() if shape != "FACT"]


def number(value):
    """As the text form has it: what is beyond 2^63 as hex."""
    return value if value < 2 ** 63 else hex(value)


class Capture:
    def __init__(self, model, seed):
        self.model = model
        self.random = random.Random(seed)
        self.lines = []
        self.names = self.random.sample(NAMES, self.random.randint(3, 25))
        # Moments: all inside the window, some outside of it, or anywhere.
        self.times = self.random.choices(("inside", "outside", "anywhere"), (6, 3, 1))[0]
        self.window_ns = self.random.choice((1000, 10 ** 6, 10 ** 9))
        self.pids = self.random.sample((1, 7, 4242, 4243, 99999, 2 ** 31, 2 ** 32 - 1), self.random.choice((1, 1, 1, 2, 3)))
        self.tids = {pid: [pid, *self.random.sample((8, 9, 500, 4250, 2 ** 30, 2 ** 30 + 1, 0xdeadbeef, 2 ** 32 - 1),
                                                    self.random.randint(0, 5))] for pid in self.pids}
        self.gpu_count = 0
        self.streams = {pid: {} for pid in self.pids}  # of each process: stream -> device
        self.correlation = 0

    def add(self, kind, **fields):
        self.lines.append(json.dumps({"kind": kind, **{key: value for key, value in fields.items() if value is not None}}))

    def pick(self, *values):
        return self.random.choice(values)

    def name(self):
        """None: it has none."""
        if self.random.random() < 0.05:
            return None
        return self.pick(*self.names, f"name{self.random.randrange(5)}")

    def label(self):
        return self.name() or "unnamed"

    def moment(self, inside=False):
        if inside or self.times == "inside" or self.random.random() < 0.8:
            return START_NS + self.random.randrange(self.window_ns)
        if self.times == "outside":
            return START_NS + self.random.randrange(-2 * self.window_ns, 3 * self.window_ns)
        return self.pick(0, 1, START_NS - 1, START_NS + 2 ** 53, 2 ** 62, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 2, 2 ** 64 - 1)

    def duration(self, ts):
        """None: it is open."""
        if self.times == "anywhere" and self.random.random() < 0.1:
            return number(self.pick(0, 2 ** 32, 2 ** 53, 2 ** 62, 2 ** 63, 2 ** 64 - 2))
        if self.random.random() < 0.1:
            return self.pick(0, 0, None)
        rest = max(START_NS + self.window_ns - ts, 1) if self.times == "inside" else self.window_ns
        return self.random.randrange(min(rest, self.window_ns // self.pick(1, 10, 100)) + 1)

    def value(self, kind):
        bits = BITS[kind]
        value = self.pick(0, 1, 2, 7, 1000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1, 2 ** 32, 2 ** 53 + 1, 2 ** 63 - 1, 2 ** 63,
                          2 ** 64 - 2, 2 ** 64 - 1, self.random.randrange(2 ** 20)) % 2 ** bits
        return value - 2 ** bits if kind[0] == "s" and value >= 2 ** (bits - 1) else value

    # ---- any field of any kind

    def agent(self, pid):
        """The source of a process's GPU work: each has an agent of its own."""
        return 3 + self.pids.index(pid)

    def field(self, field, pid=None):
        name, kind, count, unit, reference = field
        if unit in ("PAD", "STACK") or self.random.random() < 0.15:
            return None
        if unit == "ENUM":
            return self.pick(*self.model.enums[reference])
        if unit == "TEXT":
            return self.label()
        if unit == "CHARS":
            return self.label().encode()[:count - 1].decode(errors="ignore") or None
        if unit == "HEX":
            return self.random.randbytes(count).hex() if count else hex(self.value(kind))
        if unit == "ADDR":
            return hex(self.value(kind))
        if unit == "ID":
            streams = self.streams.get(pid, {})
            pool = {"device": list(streams.values()), "stream": list(streams)}.get(reference)
            return self.pick(*pool) if pool and self.random.random() < 0.95 else self.label()
        if unit == "TASK":
            return self.pick(*self.pids, 0)
        if unit == "TIME":
            return number(self.moment())
        if count:
            return [number(self.value(kind)) for _ in range(count)]
        return number(self.value(kind)) if kind[0] == "u" else self.value(kind)

    def fields_of(self, kind, pid=None):
        return {field[0]: value for field in self.model.fields[kind] if (value := self.field(field, pid)) is not None}

    def event(self, kind):
        shape, row = self.model.shapes[kind]
        pid = self.pick(*self.pids)
        fields = {key: value for key, value in self.fields_of(kind, pid).items() if key != "args_bytes"}
        ts = self.moment()
        if self.model.fields[kind][-1:] and self.model.fields[kind][-1][0] == "args_bytes":
            fields["args"] = {f"arg{i}": self.pick(self.label(), -5, 7) for i in range(self.random.randint(0, 3))}
        if shape in ("SPAN", "TOTAL"):
            fields["dur"] = self.duration(ts)
        # CUPTI tells of what is over, and how much was copied.
        if row == "STREAM" and shape == "SPAN" and fields["dur"] is None:
            fields["dur"] = 1
        if kind == "copy":
            fields["bytes"] = number(self.pick(0, 1, 4096, 2 ** 32, 2 ** 63))
        # Of work on streams only kernels have names.
        name = self.name() if row != "STREAM" or kind == "kernel" else None
        is_agents = row in ("STREAM", "SYNC", "DEVICE") or kind.startswith("gpu_") or self.random.random() < 0.5
        self.add(kind, source=self.agent(pid) if is_agents else 2, ts=number(ts), pid=pid,
                 tid=self.pick(*self.tids[pid]) if row == "THREAD" else None, name=name, stack=self.pick(None, None, ["0x1130", "0x2240"]), **fields)

    # ---- facts

    def facts(self):
        for pid in self.pids:
            for tid in self.tids[pid]:
                comm = self.label().encode()[:15].decode(errors="ignore")
                if self.random.random() < 0.8:
                    self.add("task", source=2, ts=START_NS, pid=pid, tid=tid, comm=comm or "x")
        self.add("attribute", source=1, name="hostname", group="host", value=self.label())
        if self.random.random() < 0.8:
            self.add("clock", source=1, ts=START_NS, realtime_ns=1700000000000000000, boottime_ns=START_NS + 5)
        if self.random.random() < 0.8:
            self.add("window", source=1, ts=START_NS, dur=self.pick(self.window_ns, self.window_ns, self.window_ns, None))
        for _ in range(self.random.randint(0, 4)):
            self.add("loss", source=2, ts=START_NS, reason=self.pick(*self.model.enums["loss_reason"]), place=self.label(),
                     count=number(self.pick(1, 2 ** 32, 2 ** 64 - 2)))
        for name in self.names[:5]:
            self.add("probe", source=2, **{**self.fields_of("probe"), "name": self.name(), "id": name})
            self.add("usdt", source=2, **{**self.fields_of("usdt"), "name": self.name(), "id": name, "annotation": None})
        for annotation in ("range", "mark", "counter"):
            self.add("usdt", source=2, name=f"gpuprobe:{annotation}", id=f"gpuprobe:{annotation}", provider="gpuprobe",
                     annotation=annotation, role="point")
        for _ in range(self.pick(0, 1, 2, 3)):
            self.gpu()

    def gpu(self):
        pid, index = self.pick(*self.pids), self.gpu_count
        self.gpu_count += 1
        device = f"gpu {index}"
        fields = self.fields_of("device")
        if self.random.random() < 0.9:
            fields["number"] = self.pick(index, index, index, 499, 500, 501, 701, 2 ** 31, 2 ** 32 - 2)
        self.add("device", source=self.agent(pid), ts=START_NS, pid=pid, **{**fields, "name": self.name(), "id": device})
        for number_of_stream in range(self.pick(1, 2, 5, 20)):
            stream = f"stream {index} {number_of_stream}"
            self.streams[pid][stream] = device
            if self.random.random() < 0.9:
                self.add("stream", source=self.agent(pid), ts=START_NS, pid=pid, id=stream, device=device, name=self.name(),
                         number=self.pick(number_of_stream, number_of_stream, 7, 0xdeadbeef, 0x3fffffff, 2 ** 32 - 2))

    # ---- what belongs together

    def launch(self, ts, pid, tid):
        """A call and what it launched."""
        self.correlation = self.pick(*[self.correlation % (2 ** 32 - 1) + 1] * 3, 0, 1, 2 ** 31, 2 ** 32 - 1)
        dur = self.random.randrange(1, 500)
        self.add("api", source=self.agent(pid), ts=ts, dur=dur, pid=pid, tid=tid, name=self.pick(*API_NAMES, self.label()),
                 correlation=self.correlation, callback=211, result=0, domain="runtime")
        if not self.streams[pid]:
            return
        stream, device = self.pick(*self.streams[pid].items())
        for _ in range(self.pick(1, 1, 1, 3)):
            kind = self.pick("kernel", "kernel", "kernel", "copy", "set", "graph_launch")
            ts += self.random.randrange(1000)
            self.add(kind, source=self.agent(pid), ts=ts, pid=pid,
                     **{**self.fields_of(kind, pid), **({"bytes": self.pick(0, 1, 4096)} if kind == "copy" else {}),
                        "name": self.name() if kind == "kernel" else None, "correlation": self.correlation,
                        "device": device, "stream": stream, "context": "context 1",
                        "dur": self.pick(0, 1, self.random.randrange(3000))})

    def steps(self):
        """A thread that does the same again and again."""
        pid = self.pick(*self.pids)
        tid = self.pick(*self.tids[pid])
        length_ns = self.window_ns // 12
        style = self.pick("step %d", "ProfilerStep#%d", self.label(), None)
        for step in range(10):
            ts = START_NS + step * length_ns
            if style:
                self.add("range", source=self.agent(pid), ts=ts, dur=max(1, length_ns - self.pick(0, 1, 5)), pid=pid, tid=tid,
                         name=style % step if "%d" in style else style)
            for _ in range(self.pick(0, 1, 3)):
                self.launch(ts + self.random.randrange(max(1, length_ns)), pid, self.pick(tid, tid, *self.tids[pid]))

    def memory(self):
        for _ in range(self.random.randint(1, 30)):
            pid = self.pick(*self.pids)
            self.add("gpu_memory", source=self.agent(pid), ts=self.moment(True), pid=pid, name=self.name(),
                     **{**self.fields_of("gpu_memory", pid), "address": hex(self.pick(0x1000, 0x2000, 0x3000, 2 ** 63, 2 ** 64 - 1)),
                        "operation": self.pick("allocate", "release"), "bytes": number(self.pick(0, 512, 2 ** 20, 2 ** 40, 2 ** 62, 2 ** 63))})

    def annotations(self):
        for annotation, kind in (("range", "usdt_span"), ("mark", "usdt_point"), ("counter", "usdt_point")):
            ts = self.moment(True)
            pid = self.pick(*self.pids)
            self.add(kind, source=2, ts=ts, dur=self.duration(ts) if kind == "usdt_span" else None, pid=pid,
                     tid=self.pick(*self.tids[pid]), name="gpuprobe", usdt=f"gpuprobe:{annotation}",
                     args={"arg0": self.label(), "arg1": self.pick(self.label(), -7, 0, 2 ** 62)})

    def make(self):
        self.facts()
        for _ in range(self.pick(0, 1, 2)):
            self.steps()
        for _ in range(self.random.randint(0, 40)):
            pid = self.pick(*self.pids)
            self.launch(self.moment(True), pid, self.pick(*self.tids[pid]))
        if self.random.random() < 0.5:
            self.memory()
        for _ in range(self.random.randint(0, 3)):
            self.annotations()
        for _ in range(self.random.randint(0, 150)):
            self.event(self.pick(*self.model.events))
        return "\n".join(self.lines) + "\n"


def make(seed):
    return Capture(Model(), seed).make()


if __name__ == "__main__":
    sys.stdout.write(make(int(sys.argv[1])))
