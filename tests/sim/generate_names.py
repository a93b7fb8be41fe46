#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names by callback id as C, from the real headers: generate_names.py INCLUDE."""
import re
import sys
from pathlib import Path

include = Path(sys.argv[1])
print('#include "names.h"')
for table, header, prefix in (("driver", "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"),
                              ("runtime", "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_")):
    ids = re.findall(prefix + r"(\w+)\s*=\s*(\d+),", (include / header).read_text())
    ids = [(name, number) for name, number in ids if name not in ("SIZE", "INVALID")]
    print(f"const char *const sim_{table}_names[] = {{")
    print("\n".join(f'\t[{number}] = "{name}",' for name, number in ids))
    print(f"}};\nconst size_t sim_{table}_name_count = sizeof(sim_{table}_names) / sizeof(sim_{table}_names[0]);")
