"""Accord's version, from the installed package."""

from importlib.metadata import version

VERSION = version("accord")
