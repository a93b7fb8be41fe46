# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile of pprof as lines of text, by the documented numbers of its fields (xplane_wire.py) and not by the tables it was written with."""
import gzip

import xplane_wire


def check_order(messages, what):
    """Ids count up from 1: where one is looked up by its place that is right."""
    for place, message in enumerate(messages, 1):
        if message.id != place:
            raise ValueError(f"{what} {place} has the id {message.id}")


class Profile:
    def __init__(self, path):
        self.top = xplane_wire.read("PprofProfile", gzip.decompress(path.read_bytes()))
        self.strings = self.top.strings
        self.types = [(self.strings[item.type], self.strings[item.unit]) for item in self.top.sample_types]
        if self.strings[0]:
            raise ValueError("the first string is not empty")
        for messages, what in ((self.top.mappings, "mapping"), (self.top.locations, "location"), (self.top.functions, "function")):
            check_order(messages, what)

    def frames(self, place):
        """Innermost first: inlined functions before what they are inlined into."""
        location = self.top.locations[place - 1]
        where = self.strings[self.top.mappings[location.mapping_id - 1].filename].rsplit("/", 1)[-1] if location.mapping_id else ""
        for line in location.lines:
            function = self.top.functions[line.function_id - 1]
            name, file = self.strings[function.name], self.strings[function.filename]
            at = f" {file}:{line.line}" if file else ""
            yield f"{name}{at}{f' ({where})' if where else ''}"

    def labels(self, sample):
        for label in sample.labels:
            yield f"{self.strings[label.key]}={self.strings[label.str] or label.num}"


def profile_lines(path):
    profile = Profile(path)
    top = profile.top
    yield "types " + " ".join(f"{name}/{unit}" for name, unit in profile.types)
    yield f"default {profile.strings[top.default_sample_type]}"
    yield f"time {top.time_nanos} for {top.duration_nanos} ns, a sample each {top.period} ns"
    for comment in top.comments:
        yield f"comment {profile.strings[comment]}"
    for mapping in top.mappings:
        yield (f"mapping {profile.strings[mapping.filename]} {mapping.memory_start:#x}-{mapping.memory_limit:#x} at {mapping.file_offset} "
               f"build id {profile.strings[mapping.build_id] or None}")
    for sample in top.samples:
        if len(sample.values) != len(profile.types):
            raise ValueError(f"{len(sample.values)} values of {len(profile.types)} types")
        yield f"sample {' '.join(map(str, sample.values))} {' '.join(profile.labels(sample))}"
        for place in sample.location_ids:
            for frame in profile.frames(place):
                yield f"    {frame}"
