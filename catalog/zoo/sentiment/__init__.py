"""The task ``sentiment``: variants of very different cost that tell whether a sentence praises or pans."""
