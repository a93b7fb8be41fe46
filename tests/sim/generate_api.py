#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the exported functions of a simulated library from the parameter structures of the real CUPTI headers.

    generate_api.py driver|runtime INCLUDE SOURCE... --header OUT.h --source OUT.c

Each function packs its arguments into NAME_params, as tools get them, and goes through sim_call(). Those with a
function run_NAME in a SOURCE are carried out; all others return "not supported", so that every name is there.
"""
import argparse
import re
from pathlib import Path

KINDS = {
    "driver": dict(meta="generated_cuda_meta.h", ids="cupti_driver_cbid.h", enum="CUPTI_DRIVER_TRACE_CBID_",
                   declarations="cuda.h", result="CUresult", unsupported="CUDA_ERROR_NOT_SUPPORTED",
                   domain="SIM_DOMAIN_DRIVER"),
    "runtime": dict(meta="generated_cuda_runtime_api_meta.h", ids="cupti_runtime_cbid.h",
                    enum="CUPTI_RUNTIME_TRACE_CBID_", declarations="cuda_runtime_api.h", result="cudaError_t",
                    unsupported="cudaErrorNotSupported", domain="SIM_DOMAIN_RUNTIME"),
}
STRUCT = re.compile(r"typedef struct \w+_params_st \{(.*?)\} (\w+)_params;", re.S)
FIELD = re.compile(r"^(.*?)(\w+)((?:\[\w*\])*)$")
# What the generated text of the real headers cannot say in C.
LEFT_OUT = re.compile(r"cudaCreateChannelDesc|cudaGetError(Name|String)|EGL|Egl|VDPAU|OpenGL|GraphicsGL|D3D|NvSci|^cu(da)?Profiler")


def read_structs(text):
    """Name -> [(type, field, array)], from the text of a generated_..._meta.h."""
    structs = {}
    for body, name in STRUCT.findall(text):
        fields = []
        for line in filter(None, (part.strip() for part in body.split(";"))):
            kind, field, array = FIELD.match(line).groups()
            fields.append((kind.strip(), field, array))
        structs[name] = fields
    return structs


def exported_name(name):
    """cudaMalloc_v3020 is cudaMalloc in the library; the driver's names stand as they are."""
    return re.sub(r"_v\d{4,5}$", "", name) if name.startswith(("cuda", "__cuda")) else name


def select(kind, include):
    """Exported name -> (name in the headers, fields)."""
    facts = KINDS[kind]
    structs = read_structs((include / facts["meta"]).read_text())
    ids = re.findall(facts["enum"] + r"(\w+)\s*=\s*(\d+)", (include / facts["ids"]).read_text())
    declared = (include / facts["declarations"]).read_text()
    chosen = {}
    for name, number in ids:
        short = exported_name(name)
        if LEFT_OUT.search(name):
            continue
        if name not in structs and not re.search(rf"\b{short}\(void\)", declared):
            continue
        # Of cudaGraphInstantiate_v10000 and _v12000 the newer one is what the symbol means.
        chosen[short] = (name, structs.get(name, []))
    return chosen


def run_name(name, runs):
    """The function that carries out name: its own, or that of the same function without a default stream."""
    for candidate in (name, re.sub(r"_pt[ds][sz]$", "", name)):
        if candidate in runs:
            return candidate
    return None


def write_function(out, facts, short, name, fields, run):
    arguments = ", ".join(f"{kind} {field}{array}" for kind, field, array in fields) or "void"
    values = ", ".join(field for _, field, _ in fields)
    per_thread = bool(re.search(r"_pt[ds][sz]$", short))
    launches = bool(re.match(r"_*cu(da)?Launch(Cooperative)?Kernel(_pt[ds]z)?$", short))
    if run:
        cast = f"(const {run[1]}_params *)" if fields else ""
        call = f"run_{run[0]}({cast + 'params' if fields else ''})"
        out.append(f"static int do_{short}(const void *params) {{ (void)params; return {call}; }}")
    # These alone begin with an instruction that a probe has to be single-stepped at, as far as the compiler goes along.
    if short.startswith("cuMemsetD2D"):
        out.append('__attribute__((optimize("omit-frame-pointer")))')
    out.append(f"{facts['result']} {short}({arguments})")
    out.append("{")
    out.append(f"\tstatic const struct sim_site site = {{{facts['domain']}, {facts['enum']}{name}, \"{short}\", "
               f"{str(launches).lower()}, {str(per_thread).lower()}}};")
    if fields:
        out.append(f"\t{name}_params params = {{{values}}};")
    out.append(f"\treturn ({facts['result']})SIM_CALL(&site, {'do_' + short if run else 'NULL'}, "
               f"{'&params' if fields else 'NULL'}, {facts['unsupported']});")
    out.append("}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("include", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--header", type=Path)
    parser.add_argument("--source", type=Path)
    arguments = parser.parse_args()
    facts = KINDS[arguments.kind]
    chosen = select(arguments.kind, arguments.include)
    runs = set(re.findall(rf"^{facts['result']}\s+run_(\w+)\(", "\n".join(
        path.read_text() for path in arguments.sources), re.M))
    unknown = sorted(runs - chosen.keys())
    if unknown:
        raise SystemExit(f"generate_api.py: not in these headers: {' '.join(unknown)}")

    if arguments.header:
        lines = ["/* generated by generate_api.py */"]
        for run in sorted(runs):
            name, fields = chosen[run]
            lines.append(f"{facts['result']} run_{run}({f'const {name}_params *params' if fields else 'void'});")
        arguments.header.write_text("\n".join(lines) + "\n")
    if arguments.source:
        lines = ["/* generated by generate_api.py */", '#include "generated.h"\n']
        for short, (name, fields) in sorted(chosen.items()):
            run = run_name(short, runs)
            write_function(lines, facts, short, name, fields, (run, chosen[run][0]) if run else None)
        lines.append("const struct sim_symbol sim_symbols[] = {")
        lines += [f'\t{{"{short}", (void *){short}}},' for short in sorted(chosen)]
        lines.append("\t{NULL, NULL},\n};")
        arguments.source.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
