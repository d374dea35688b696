"""``descriptors.py MODULE``: number and type of every field of a module's messages, as JSON."""

import importlib
import json
import sys
from typing import Any


def fields(message: Any, into: dict[str, Any]) -> None:
    for field in message.fields:
        into[field.full_name] = [field.number, field.type]
    for nested in message.nested_types:
        fields(nested, into)


found: dict[str, Any] = {}
module = importlib.import_module(sys.argv[1])
files = [module.DESCRIPTOR, *module.DESCRIPTOR.dependencies]
for file in files:
    for message in file.message_types_by_name.values():
        fields(message, found)
sys.stdout.write(json.dumps(found) + "\n")
