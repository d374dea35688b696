"""Bytes that move between the CPUs and memory."""

from pathlib import Path

from predictor.measure.program import MeasuredVariant

_RESCTRL = Path("/sys/fs/resctrl/mon_data")


def memory_bytes() -> int | None:
    """Bytes since some instant, of all processes of this machine; None where it does not tell.

    The kernel counts them where the CPU has memory bandwidth monitoring and ``resctrl`` is mounted.
    """
    try:
        return sum(int(file.read_text()) for file in _RESCTRL.glob("mon_L3_*/mbm_total_bytes")) or None
    except (OSError, ValueError):  # "Unavailable" where no counter is free
        return None


def estimated_bytes(variant: MeasuredVariant, rows: int) -> float:
    """Bytes of one batch, if all weights are read once, and all activations are written once and read once.

    Without a graph the size of the artifact stands for the weights, and activations are left out. What caches keep
    from one batch to the next is not taken off.
    """
    known = variant.architecture
    weights = known.get("arch_parameter_bytes", known.get("arch_artifact_bytes", 0.0))
    return weights + 2 * rows * known.get("arch_activation_bytes_per_row", 0.0)
