"""From a cluster to IPA's program, and from its answer to the workers that hold variants."""
