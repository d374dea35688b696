"""RAMSIS and two baselines on a live service of many emulated workers, beside the simulator and what tables promise."""
