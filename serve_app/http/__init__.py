"""The HTTP edge: the inference protocol, and the interface of plan and status."""
