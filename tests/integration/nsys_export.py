# SPDX-License-Identifier: GPL-2.0-or-later
"""Databases as nsys 2022 exports them, made by hand: for tests of what reads them, and as seeds of fuzzing."""
import contextlib
import pathlib
import sqlite3
import sys

PID = 4242
VM = 1 << 48
PROCESS = VM | PID << 24
MAIN = PROCESS | PID
WORKER = PROCESS | PID + 1

STRINGS = {1: "main", 2: "a worker of a long name", 10: "void gemm<float>(float const *)", 11: "gemm", 12: "_Z4gemmIfEvPKf", 20: "cudaLaunchKernel_v7000",
	   21: "cudaMemcpyAsync_v3020", 23: "cuStreamSynchronize",
	   30: "poll", 33: "libwork.so", 34: "work_loop", 35: "wait_for_it", 40: "registered"}
# As nsys 2022 makes them: no greenContextId, no graphId, none of what came later.
OLD = {
	"StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
	"EXPORT_META_DATA": "name TEXT NOT NULL, value TEXT",
	"PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
	"ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
	"TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, clockRate INTEGER, smCount INTEGER, memoryBandwidth INTEGER",
	"TARGET_INFO_CUDA_NULL_STREAM": "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
		"processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL",
	"CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
		"correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
	"CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
		"streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "
		"shortName INTEGER NOT NULL, launchType INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, "
		"gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
		"staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL",
	"CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
		"streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, "
		"srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER, migrationCause INTEGER, "
		"virtualAddress INTEGER",
	"NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, "
		"text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER",
	"OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, "
		"returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL",
}
ROWS = {
	"StringIds": list(STRINGS.items()),
	"EXPORT_META_DATA": [("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_SCHEMA_VERSION", "3.0.0")],
	"PROCESSES": [(PROCESS, PID, "./train"), (VM | 1 << 24, 1, "init")],
	"ThreadNames": [(1, 20, MAIN), (2, -2, WORKER)],
	"TARGET_INFO_GPU": [(VM, 0, "NVIDIA A100", 1410000000, 108, 1555000000000)],
	"TARGET_INFO_CUDA_NULL_STREAM": [(7, 0, 1, PID, 0, 1)],
	# Rows of nsys are in no order.
	"CUPTI_ACTIVITY_KIND_RUNTIME": [(3000, 3500, 0, MAIN, 3, 20, 0, None), (1000, 1500, 0, MAIN, 1, 21, 0, None),
					(2000, 2600, 0, WORKER, 2, 20, 719, None)],
	"CUPTI_ACTIVITY_KIND_KERNEL": [(4000, 9000, 0, 1, 7, 3, PROCESS, 10, 11, 1, 128, 256, 2, 1, 64, 4, 1, 1024, 2048),
				       (2500, 3900, 0, 1, 13, 2, PROCESS, 10, 11, 1, 128, 1, 1, 1, 32, 1, 1, 0, 0)],
	"CUPTI_ACTIVITY_KIND_MEMCPY": [(1600, 2400, 0, 1, 7, 1, PROCESS, 4096, 1, 1, 2, None, None, None, None)],
	"NVTX_EVENTS": [(100, None, 75, None, None, None, "mine", MAIN, None, None, 1, None),
			(110, None, 33, None, 3, None, "third", MAIN, None, None, 1, None),
			(900, 9500, 59, None, None, 0xff00ff00, "step", MAIN, None, None, 0, 77),
			(950, 3600, 59, None, 3, None, None, MAIN, None, 40, 1, None),
			(1000, None, 60, 1, None, None, "epoch", MAIN, WORKER, None, 0, None),
			(1500, None, 34, None, None, None, "mark", WORKER, None, None, 0, None)],
	"OSRT_API": [(5000, 6000, 27, MAIN, 30, 1, 0, 0), (50, 50, 31, MAIN, 30, 0, 0, 0)],
}


# What later versions have besides, and what nsys 2022 has on request.
GPU_COLUMNS = "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, " \
	"streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
LATER = {
	"META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
	"ANALYSIS_DETAILS": "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL",
	"TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER",
	"TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
	"TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER",
	"DIAGNOSTIC_EVENT": "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, "
		"text TEXT NOT NULL, globalPid INTEGER",
	"CUPTI_ACTIVITY_KIND_MEMSET": GPU_COLUMNS + "value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
	"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": GPU_COLUMNS + "deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL",
	"CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
		"correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL",
	"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": GPU_COLUMNS + "graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL",
	"CUPTI_ACTIVITY_KIND_OVERHEAD": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
		"correlationId INTEGER, nameId INTEGER, overheadType INTEGER NOT NULL",
	"CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
		"address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
		"memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER",
	"CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, originalFaultPc INTEGER, "
		"CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL, unresolvedFaultPc INTEGER",
	"CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
		"address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL",
	"CUDA_CALLCHAINS": "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER, originalIP INTEGER, "
		"stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth)",
}
LATER_ROWS = {
	"META_DATA_EXPORT": [("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_SCHEMA_VERSION", "3.25.0")],
	"ANALYSIS_DETAILS": [(VM, 20000, 0, 20000)],
	"TARGET_INFO_SESSION_START_TIME": [(1767225600000000000, "2026-01-01T00:00:00", "2026-01-01T00:00:00", None)],
	"TARGET_INFO_SYSTEM_ENV": [(VM, "Local (CLI)", "Hostname", 619, "node7"), (VM, "Local (CLI)", "DeviceEnvironment", 1, "SECRET=1")],
	"TARGET_INFO_CUDA_DEVICE": [(0, 0, PID, None, 108)],
	"DIAGNOSTIC_EVENT": [(0, 1, 3, 1, "Profiling has started.", None), (5000, 1, 1, 2, "CUDA events were dropped.", PROCESS)],
	"CUPTI_ACTIVITY_KIND_RUNTIME": ROWS["CUPTI_ACTIVITY_KIND_RUNTIME"] + [(10000, 11000, 1, MAIN, 4, 23, 0, 5)],
	"CUPTI_ACTIVITY_KIND_MEMCPY": ROWS["CUPTI_ACTIVITY_KIND_MEMCPY"] + [(12000, 13000, 0, 1, 7, None, PROCESS, 65536, 11, 4, 4, None, None, 2, 0x7f0000000000),
									      (13000, 13500, 0, 1, 7, None, PROCESS, 4096, 12, 4, 4, None, None, 2, 0x7f0000000000),
									      (13000, 13500, 0, 1, 7, None, PROCESS, 4096, 13, 4, 4, None, None, 2, 0x7f0000001000)],
	"CUPTI_ACTIVITY_KIND_MEMSET": [(2450, 2480, 0, 1, None, 7, 1, PROCESS, 0, 1024, None, 2)],
	"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [(10100, 10900, 0, 1, None, 0, 4, PROCESS, None, 4, 0)],
	"CUPTI_ACTIVITY_KIND_CUDA_EVENT": [(2490, 0, 1, 7, 2, PROCESS, 3), (None, 0, 1, 7, 2, PROCESS, 4)],
	"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(14000, 15000, 0, 1, None, 7, 4, PROCESS, 1, 2)],
	"CUPTI_ACTIVITY_KIND_OVERHEAD": [(16000, 16500, 103, MAIN, None, None, 3)],
	"CUDA_GPU_MEMORY_USAGE_EVENTS": [(900, PROCESS, 0, 1, 0x7f0000000000, 0, 4096, 2, 0, None, 1, None),
					 (17000, PROCESS, 0, 1, 0x7f0000000000, 0, 4096, 2, 1, None, None, None)],
	"CUDA_UM_CPU_PAGE_FAULT_EVENTS": [(500, PROCESS, 0x7f0000000000, 0x555555554000, 34, 33, None), (600, PROCESS, 0x7f0000001000, None, 34, 33, None)],
	"CUDA_UM_GPU_PAGE_FAULT_EVENTS": [(11900, 12100, PROCESS, 0, 0x7f0000000000, 3, 2)],
	"CUDA_CALLCHAINS": [(5, 35, 33, None, 0x555555554100, 0), (5, 34, 33, None, 0x555555554200, 1)],
}

def make(path, tables=OLD, rows=ROWS, before=(), after=()):
	"""before, after: further statements."""
	path.unlink(missing_ok=True)
	with contextlib.closing(sqlite3.connect(path)) as database:
		for statement in before:
			database.execute(statement)
		for table, columns in tables.items():
			database.execute(f"CREATE TABLE {table} ({columns})")
			for row in rows.get(table, ()):
				database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
		for statement in after:
			database.execute(statement)
		database.commit()
	return path


# nsys_export.py FOLDER: an old one and a later one.
if __name__ == "__main__":
	make(pathlib.Path(sys.argv[1]) / "old.sqlite")
	make(pathlib.Path(sys.argv[1]) / "later.sqlite", {**OLD, **LATER}, {**ROWS, **LATER_ROWS})
