"""Controls of Chaos Toolkit: what goes around an experiment."""
