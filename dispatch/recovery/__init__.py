"""What becomes of jobs whose worker died, hangs or failed: which are launched again, and which are not."""
