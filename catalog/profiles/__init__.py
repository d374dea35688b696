"""Latency profiles of variants: measured, fitted, read and kept, and what cores they call for."""
