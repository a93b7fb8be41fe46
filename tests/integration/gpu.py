# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the GPU side share: processes on the simulated CUDA (tests/sim), recordings of them, and the
comparison of a recording with what the driver was asked for."""
import re
import socket

from lib import *

SIM = ROOT / "build" / "sim"
RELEASE = "13.0"
# What sim-train calls of that which gpu/cupti/api_calls.def does not list.
UNLISTED = {"cudaGetLastError", "cudaEventQuery", "cuEventQuery"}
# The same with --gpu-records full only.
OF_EVENTS = {"cudaEventRecord", "cuEventRecord"}
DIRECTIONS = {"HtoD": "host_to_device", "DtoH": "device_to_host", "DtoD": "device_to_device",
	      "HtoH": "host_to_host", "PtoP": "peer_to_peer"}
SYNCS = {"event": "event", "wait_event": "stream_wait_event", "stream": "stream", "context": "context"}


def need_sim():
	if not (SIM / "sim-train").exists():
		raise Skip("no build/sim (make sim says why)")


def cupti(release=RELEASE):
	need_sim()
	return next((SIM / f"cupti-{release}").glob("libcupti.so.*"))


class Train:
	"""A running sim-train. Its control socket is below `folder`."""

	def __init__(self, process, folder):
		self.process = process
		self.folder = pathlib.Path(folder)
		self.socket = None

	@property
	def pid(self):
		"""As the host sees it. It listens on the control socket: what runs it does not."""
		pids = [self.process.pid]
		for pid in pids:
			pids += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
		return pids[-1]

	def ask(self, word):
		if not self.socket:
			self.socket = socket.socket(socket.AF_UNIX)
			self.socket.settimeout(PATIENCE_S)
			wait_for(lambda: not self.socket.connect_ex(str(self.folder / "control")), "sim-train to listen")
			self.lines = self.socket.makefile("r")
		self.socket.sendall(word.encode() + b"\n")
		line = self.lines.readline()
		if not line:
			raise Harm(f"sim-train gave no answer to {word}")
		answer = json.loads(line)
		# The agent's own thread calls it once a second: gpu/cupti/cupti_canary.h.
		answer.get("api", {}).get("driver", {}).pop("cuDriverGetVersion", None)
		return answer

	def pause(self):
		check_equal(self.ask("pause"), {"paused": True, "drained": True}, "answer to pause")

	def launched(self):
		"""Kernels since the mark, or its begin."""
		return sum(kernel["count"] for kernel in self.ask("truth")["kernels"].values())

	def work(self, seconds=0, kernels=200):
		"""Goes on for a time, and until it has launched so many more, as it does in some ten steps."""
		before = self.launched()
		time.sleep(seconds)
		wait_for(lambda: self.launched() >= before + kernels, f"sim-train to launch {kernels} kernels")

	def finish(self):
		"""It ends as by itself; its exit status is 0 unless a call of CUDA failed."""
		if self.socket:
			self.socket.close()
		self.process.send_signal(signal.SIGTERM)
		check_equal(self.process.wait(PATIENCE_S), 0, "exit status of sim-train")


def write_knobs(folder, knobs):
	path = pathlib.Path(folder) / "knobs"
	path.with_suffix(".new").write_text("".join(f"{name}={value}\n" for name, value in knobs.items()))
	path.with_suffix(".new").rename(path)


@contextlib.contextmanager
def training(*arguments, prefix=(), program=None, knobs={}, **options):
	"""A sim-train with its knobs; `prefix`: a command that runs it; `program`: another one with the same control."""
	need_sim()
	with tempfile.TemporaryDirectory(prefix="gpuprobe-sim-") as folder:
		write_knobs(folder, knobs)
		command = [*prefix, *(program or [SIM / "sim-train"]), "--control", f"{folder}/control", *arguments]
		with open(f"{folder}/output", "w+") as output, \
		     running(command, stdout=output, stderr=output, env={**os.environ, "SIM_KNOBS": f"{folder}/knobs"},
			     **options) as process:
			train = Train(process, folder)

			def listens():
				check(process.poll() is None, f"sim-train ended: {open(output.name).read()}")
				return (pathlib.Path(folder) / "control").exists()
			wait_for(listens, "sim-train to listen")
			wait_for(lambda: "--paused" in arguments or train.ask("truth")["outermost_calls"] > 30, "sim-train to begin")
			yield train


def with_nvml(train):
	"""The environment in which gpuprobe finds the simulated NVML, with the knobs of this sim-train."""
	return {**os.environ, "LD_LIBRARY_PATH": str(SIM), "SIM_KNOBS": f"{train.folder}/knobs"}


def recording_gpu(pid, *arguments, release=RELEASE, outputs=("ndjson",), **options):
	"""release: of the CUPTI that gpuprobe supplies; None: it is not told of any."""
	named = ["--cupti", cupti(release)] if release else []
	return recording("-p", pid, *named, *arguments, outputs=outputs, **options)


def check_left(said):
	"""Nothing of gpuprobe's runs or is open in the target any more; all figures are there where its own threads have changed meanwhile."""
	check("gpuprobe has left" in said or "ours left: 0 threads, 0 descriptors" in said, said)


def check_defects(records, release):
	"""What this version is known to do wrong is in the ledger (userspace/cuda/cupti_defects.def), once."""
	version = tuple(map(int, release.split(".")))
	known = {"names of kernels": version < (13, 4), "CPU time": version < (13, 4), "launches of graphs": version < (13, 1)}
	places = {loss["place"]: loss["count"] for loss in events_of(records, "loss") if loss["reason"] == "cupti_defect"}
	check_equal({place.split(":")[0]: count for place, count in places.items()}, {what: 1 for what, is_known in known.items() if is_known},
		    f"known defects of CUPTI {release}")


def record_exactly(train, seconds=0.5, release=RELEASE, arguments=()):
	"""What the driver was asked for in the window, and what was recorded: (truth, records, stderr of gpuprobe)."""
	train.pause()
	before = train.ask("truth")
	with recording_gpu(train.pid, *arguments, release=release) as record:
		train.ask("mark")
		train.ask("resume")
		train.work(seconds)
		train.pause()
		truth = train.ask("truth")
		# A call of CUDA, so that the agent need not wait for one.
		train.ask("resume")
		record.stop()
		check_equal(record.exit_status, 0, f"exit status of gpuprobe: {record.stderr}")
		truth["memory_before"] = before["device_memory"]
		return truth, record.events(), record.stderr


# ---- the comparison -----------------------------------------------------------------------------------------

def within(records, truth):
	"""Without what came after the truth was asked for: sim-train went on for the agent's sake."""
	return [record for record in records if record["kind"] in FACTS or record.get("ts", 0) <= truth["until_ns"]]


FACTS = ("task", "module", "attribute", "clock", "window", "loss", "device", "stream", "context")


def counted(records, kind, key):
	return dict(collections.Counter(record[key] for record in events_of(records, kind)))


def summed(records, kind, key):
	"""key -> (count, bytes)"""
	sums = {}
	for record in events_of(records, kind):
		count, size = sums.get(record[key], (0, 0))
		sums[record[key]] = (count + 1, size + record["bytes"])
	return sums


def api_name(name):
	"""As the headers have it: CUPTI adds the version in which a runtime function was new."""
	return re.sub(r"_v\d{4,5}$", "", name)


def check_lengths(records, truth):
	"""Of kernels, by name. Where CUPTI has another clock, it brings the device's times to that by a line of its own."""
	times = collections.Counter()
	for record in events_of(records, "kernel"):
		times[record["name"]] += record["dur"]
	expected = {name: kernel["device_ns"] for name, kernel in truth["kernels"].items()}
	if not losses(records).get("clock_fitted"):
		check_equal(dict(times), expected, "times of kernels")
	for name, taken_ns in times.items():
		check(abs(taken_ns - expected[name]) <= expected[name] / 1000 + 1000, f"times of {name}: {taken_ns}, {expected[name]}")


def check_counts(records, truth, full=False):
	kernels = {name: kernel["count"] for name, kernel in truth["kernels"].items()}
	check(kernels, "sim-train launched nothing")
	check_equal(counted(records, "kernel", "name"), kernels, "kernels")
	in_graphs = {name: kernel["in_graphs"] for name, kernel in truth["kernels"].items() if kernel["in_graphs"]}
	nodes = [record for record in events_of(records, "kernel") if "graph_node" in record]
	check_equal(counted(nodes, "kernel", "name"), in_graphs, "kernels of graphs")
	check_lengths(records, truth)
	check_equal(summed(records, "copy", "direction"),
		    {DIRECTIONS[name]: (copy["count"], copy["bytes"]) for name, copy in truth["copies"].items()}, "copies")
	sets = events_of(records, "set")
	check_equal({"count": len(sets), "bytes": sum(record["bytes"] for record in sets)}, truth["sets"], "sets")
	check_equal(counted(records, "sync", "type"),
		    {SYNCS[name]: count for name, count in truth["syncs"].items()}, "synchronizations")
	check_equal(len(events_of(records, "gpu_event")), truth["event_records"] if full else 0, "events recorded")
	streams = collections.Counter()
	numbers = {record["id"]: record["number"] for record in events_of(records, "stream")}
	for record in records:
		if record["kind"] in ("kernel", "copy", "set"):
			streams[str(numbers[record["stream"]])] += 1
	check_equal(dict(streams), truth["streams"], "work by stream")


def check_api(records, truth, full=False):
	unlisted = UNLISTED if full else UNLISTED | OF_EVENTS
	for domain in ("runtime", "driver"):
		calls = collections.Counter(api_name(record["name"]) for record in events_of(records, "api")
					    if record["domain"] == domain)
		expected = {name: count for name, count in truth["api"][domain].items() if name not in unlisted}
		check_equal(dict(calls), expected, f"calls of the {domain} API")
	failed = [record for record in events_of(records, "api") if record["result"] not in (0, 600)]
	check_equal(failed[:3], [], "calls that failed")
	launches = [record for record in events_of(records, "api") if record["name"].startswith("cuGraphLaunch")]
	check_equal(len(launches), truth["graph_launches"], "launches of graphs")


def check_memory(records, truth):
	for operation, key in (("allocate", "allocations"), ("release", "releases")):
		of_it = [record for record in events_of(records, "gpu_memory") if record["operation"] == operation]
		check_equal(summed(of_it, "gpu_memory", "memory"),
			    {kind: (entry["count"], entry["bytes"]) for kind, entry in truth[key].items()}, key)
	devices = {record["id"]: record["number"] for record in events_of(records, "device")}
	for number, memory in truth["device_memory"].items():
		live = truth["memory_before"][number]["live_bytes"]
		peak = live
		for record in sorted(events_of(records, "gpu_memory"), key=lambda record: record["ts"]):
			if str(devices[record["device"]]) != number or record["memory"] != "device":
				continue
			live += record["bytes"] if record["operation"] == "allocate" else -record["bytes"]
			peak = max(peak, live)
		check_equal(live, memory["live_bytes"], f"bytes in use on device {number}")
		check(peak <= memory["peak_bytes"], f"peak of device {number}: {peak} > {memory['peak_bytes']}")
		if memory["peak_bytes"] > truth["memory_before"][number]["peak_bytes"]:
			check_equal(peak, memory["peak_bytes"], f"peak of device {number}")


def launches(records):
	"""(source, correlation) -> the calls of the API that carry it, the outer one first."""
	calls = collections.defaultdict(list)
	for record in events_of(records, "api"):
		calls[record["source"], record["correlation"]].append(record)
	for same_id in calls.values():
		same_id.sort(key=lambda call: (call["ts"], -call["dur"], call["domain"] != "runtime"))
	return calls


def check_causes(records, truth, pid, streams_a_thread):
	"""Every piece of work has its call, made by the thread whose stream it is, begun before the work."""
	calls = launches(records)
	for outer, *inner in calls.values():
		check(not inner or outer["domain"] == "runtime", lambda: f"driver calls share a correlation id: {outer} {inner}")
		for call in inner:
			check(call["domain"] == "driver" and call["tid"] == outer["tid"] and
			      call["ts"] + call["dur"] <= outer["ts"] + outer["dur"], lambda: f"{call} is not inside {outer}")
	comms = {record["tid"]: record["comm"] for record in events_of(records, "task") if "tid" in record}
	threads_of = collections.defaultdict(set)
	for record in records:
		if record["kind"] not in ("kernel", "copy", "set"):
			continue
		check((record["source"], record["correlation"]) in calls, lambda: f"no call launched {record}")
		call = calls[record["source"], record["correlation"]][0]
		check_equal((call["pid"], record["pid"]), (pid, pid), "processes of a call and its work")
		check(record["ts"] >= call["ts"], lambda: f"{record} begins before {call}")
		check(re.match({"kernel": "cu(da)?(Launch|GraphLaunch)", "copy": "cu(da)?Memcpy", "set": "cu(da)?(Memset|GraphL)"}
			       [record["kind"]], call["name"]), lambda: f"{record} by {call}")
		check_equal("Graph" in call["name"], "graph_node" in record, lambda: f"graph of {record} by {call}")
		threads_of[record["source"], record["stream"]].add(call["tid"])
	for stream, tids in threads_of.items():
		check_equal(len(tids), 1, f"threads that use stream {stream}")
		check(pathlib.Path(f"/proc/{pid}/task/{min(tids)}").exists(), f"no thread {tids} uses stream {stream}")
		if streams_a_thread == 3:  # of sim-train
			check(comms.get(*tids, "").startswith("train-"), f"thread of stream {stream}: {tids} in {comms}")
	check_equal(len(set().union(*threads_of.values())) * streams_a_thread, len(threads_of), "streams")


def row(record):
	"""What one thing at a time happens on. Branches of a graph run beside each other on one stream."""
	if record["kind"] == "api":
		return ("thread", record["tid"], record["domain"])
	return ("stream", record["source"], record["stream"], record.get("graph_node"))


def check_times(records, truth):
	"""Inside the window, and one after the other on each stream and thread."""
	window = [record for record in events_of(records, "window") if "dur" in record][-1]
	# Where CUPTI brings the device's times to its own clock, it rounds them.
	rounding_ns = 1000 if losses(records).get("clock_fitted") else 0
	ends = {}
	timed = [record for record in records if record["kind"] in ("kernel", "copy", "set", "api", "sync")]
	for record in sorted(timed, key=lambda record: record["ts"]):
		end = record["ts"] + record["dur"]
		check(window["ts"] <= record["ts"] and end <= window["ts"] + window["dur"],
		      lambda: f"outside the window {window}: {record}")
		check(truth["since_ns"] <= record["ts"], lambda: f"before the truth began at {truth['since_ns']}: {record}")
		if record["kind"] == "sync":
			continue
		check(ends.get(row(record), 0) <= record["ts"] + rounding_ns, lambda: f"overlaps what ended at {ends.get(row(record))}: {record}")
		ends[row(record)] = end


def check_truth(records, truth, pid, full=False, streams_a_thread=3):
	check_equal(truth["overflowed"], 0, "truth overflowed")
	losses_seen = {reason: count for reason, count in losses(records).items() if reason not in ("outside_window", "clock_fitted")}
	check_equal(losses_seen, {}, "ledger")
	records = within(records, truth)
	check_counts(records, truth, full)
	check_api(records, truth, full)
	check_memory(records, truth)
	check_causes(records, truth, pid, streams_a_thread)
	check_times(records, truth)


# ---- what is in a process ------------------------------------------------------------------------------------

def wait_for_names(pid):
	"""A thread has the name of its process until it has given itself one."""
	def names():
		found = []
		for tid in os.listdir(f"/proc/{pid}/task"):
			with contextlib.suppress(FileNotFoundError, ProcessLookupError):
				found.append(pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip())
		return found
	own = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
	wait_for(lambda: names().count(own) <= 1, f"the threads of {pid} to have names of their own")


def footprint(pid, every_thread=False):
	"""What it has, and what of that is an agent's but the page that may stay: it says so in its name."""
	wait_for_names(pid)
	maps = [line.split(maxsplit=5)[5].strip() for line in open(f"/proc/{pid}/maps") if len(line.split()) > 5]
	fds = []
	for name in os.listdir(f"/proc/{pid}/fd"):
		with contextlib.suppress(FileNotFoundError):
			fds.append(os.readlink(f"/proc/{pid}/fd/{name}"))
	threads = []
	for tid in os.listdir(f"/proc/{pid}/task"):
		with contextlib.suppress(FileNotFoundError, ProcessLookupError):
			threads.append(pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip())
	# CUPTI's own thread stays where CUPTI has to.
	threads = [name for name in threads if every_thread or name != "cupti-worker"]
	own = [name for name in maps + fds if name.startswith("/memfd:gpuprobe-") and "resident" not in name]
	return {"threads": sorted(threads), "fds": sorted(fds),
		"own": own + [name for name in threads if name.startswith("gpuprobe")],
		"resident": sum("gpuprobe-resident" in name for name in maps)}


def settled(pid, before, what):
	"""Nothing of an agent is left but at most its one page twice (code and data), threads and descriptors are as before."""
	try:
		wait_for(lambda: not footprint(pid)["own"] and footprint(pid)["threads"] == before["threads"] and
			 footprint(pid)["fds"] == before["fds"], what)
	except Failure as failure:
		raise Failure(f"{failure}: before {before}, now {footprint(pid)}") from failure
	check(footprint(pid)["resident"] <= 2, f"{what}: pages stay more than once: {footprint(pid)}")
