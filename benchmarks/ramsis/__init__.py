"""Parts of ``benchmarks.ramsis``: what is compared, on which workloads, and what came out."""
