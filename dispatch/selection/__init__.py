"""Choice of variant and batch for what waits in one worker's queue."""
