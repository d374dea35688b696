"""Accuracy while it runs: a few queries go to the most accurate variant as well, where workers have spare capacity."""
