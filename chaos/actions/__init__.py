"""Actions of Chaos Toolkit: what is done to a service under test, and what undoes it."""
