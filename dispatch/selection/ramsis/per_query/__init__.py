"""Our decision process: reward per query, phases known, waiting allowed (docs/ramsis.md)."""
