"""Choice of the worker whose queue a job joins."""
