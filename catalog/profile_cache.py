"""Keeps measured profiles between starts, under a key of everything that they depend on."""

import hashlib
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from catalog.errors import ConfigError
from catalog.profile_csv import ProfiledVariant, read_profiles, write_profiles
from catalog.store import checksum
from catalog.variant import Variant

logger = logging.getLogger(__name__)

_RUNTIMES = ("onnxruntime-gpu", "onnxruntime", "torch", "transformers")
