"""Live against simulated: accuracy and violations of the quickstart beside the simulator's, and beside the bounds."""
