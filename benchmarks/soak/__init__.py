"""A long load with faults at random: what grows, what leaks, what gets stuck."""
