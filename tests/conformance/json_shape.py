# SPDX-License-Identifier: GPL-2.0-or-later
"""A value against a JSON Schema, as far as those here go: type, properties, required, items, enum."""

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def is_of(value, name):
	return isinstance(value, TYPES[name]) and (name in ("boolean", "null") or not isinstance(value, bool))


def faults(value, schema, where="it"):
	"""What is wrong, a sentence each. Members that the schema doesn't name are wrong, too."""
	names = schema.get("type", list(TYPES))
	names = [names] if isinstance(names, str) else names
	if not any(is_of(value, name) for name in names):
		yield f"{where} is no {' or '.join(names)}: {value!r:.80}"
	elif "enum" in schema and value not in schema["enum"]:
		yield f"{where} is none of {schema['enum']}: {value!r}"
	elif isinstance(value, dict):
		known = schema.get("properties", {})
		yield from (f"{where} has no {name}" for name in schema.get("required", known) if name not in value)
		yield from (f"{where}.{name} is in no schema" for name in value if name not in known)
		for name in known.keys() & value.keys():
			yield from faults(value[name], known[name], f"{where}.{name}")
	elif isinstance(value, list):
		for number, item in enumerate(value):
			yield from faults(item, schema.get("items", {}), f"{where}[{number}]")
