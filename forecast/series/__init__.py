"""Histories of load."""
