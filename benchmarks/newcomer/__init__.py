"""The way of a newcomer: from nothing to an answer of one's own class, as docs/your-code.md has it."""
