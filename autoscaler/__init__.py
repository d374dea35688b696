"""The control path's core: which variants stand on which workers, and how load is split. Observation in, plan out."""
