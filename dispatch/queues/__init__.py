"""What waits, and for whom."""
