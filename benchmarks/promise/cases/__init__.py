"""Cases of the benchmark: what a policy is put through, and how it is judged."""
