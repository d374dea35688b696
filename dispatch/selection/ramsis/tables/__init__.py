"""Solved processes: tables, grids of them over load and latency, and which are worth making."""
