"""A spread ensemble on a live cluster, one of whose members dies."""
