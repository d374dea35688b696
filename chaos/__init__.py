"""Chaos Toolkit experiments on a running service: what becomes of queries when parts of it die.

`experiments/` are Chaos Toolkit files; `actions/`, `probes/` and `controls/` the extension that they use; `services/`
what they are run on; `trial/` one run of one experiment; `report/` what is told of it.
"""
