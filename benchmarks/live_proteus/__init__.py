"""Accuracy scaling on a live service of emulated workers of three device types, beside the simulator."""
