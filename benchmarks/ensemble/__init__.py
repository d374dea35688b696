"""What ensembles are worth: accuracy, members and latency against the best single variant."""
