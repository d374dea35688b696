"""Arrival-aware selection: a worker's queue as a Markov decision process (RAMSIS), solved beforehand into tables."""
