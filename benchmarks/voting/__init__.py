"""What one vote costs."""
