"""Live accuracy of variants without labels, one of which is broken."""
