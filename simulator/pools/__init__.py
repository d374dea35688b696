"""Workers that come and go: pools that grow and shrink, machines of a cloud and what they cost."""
