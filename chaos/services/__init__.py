"""The services that experiments are run on: one module for each kind, `started` by name."""
