"""The real dispatcher in virtual time: what a plan would do under a workload, and the report about it."""
