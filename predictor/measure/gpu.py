"""What a GPU does, as NVML tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

from catalog.errors import ConfigError

_EVERY_S = 0.05
_KIBIBYTE = 1024


class GpuProbe:
    """Metrics of one GPU, for all that runs on it; raises `ConfigError` where NVML or that GPU is not there."""

    def __init__(self, index: int) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise ConfigError(
                f"measuring on GPU {index} needs pynvml, which is not installed; "
                "run `pip install 'accord[interference]'`"
            ) from error
        self._nvml: Any = pynvml
        try:
            pynvml.nvmlInit()
            self._gpu = pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            raise ConfigError(
                f"GPU {index} cannot be measured: {error}; use --device cpu, or a machine with that GPU and its driver"
            ) from error
        self._idle_bytes = self._used_bytes()

    @contextmanager
    def watching(self) -> Iterator[dict[str, float]]:
        """Samples until the block is left; the dictionary has the means then.

        ``hw_gpu_utilisation``, 0 to 1, the share of time in which a kernel ran; ``hw_gpu_memory_bytes`` beyond what was
        in use when this probe was made; ``hw_pcie_read_bytes_per_s``, from the host to the GPU, and
        ``hw_pcie_write_bytes_per_s``.
        """
        found: dict[str, float] = {}
        samples: list[tuple[float, ...]] = []
        over = Event()

        def sample() -> None:
            while not over.wait(_EVERY_S):
                samples.append(self._sample())

        thread = Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            over.set()
            thread.join()
        means = np.mean(samples or [self._sample()], axis=0).tolist()
        names = ("gpu_utilisation", "gpu_memory_bytes", "pcie_read_bytes_per_s", "pcie_write_bytes_per_s")
        found.update({f"hw_{name}": value for name, value in zip(names, means, strict=True)})

    def free_bytes(self) -> int:
        """Memory of the GPU that nobody uses."""
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).free)

    def _sample(self) -> tuple[float, ...]:
        nvml, gpu = self._nvml, self._gpu
        busy = nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100.0
        used = max(0, self._used_bytes() - self._idle_bytes)
        read = nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_RX_BYTES) * _KIBIBYTE
        written = nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_TX_BYTES) * _KIBIBYTE
        return (busy, float(used), float(read), float(written))

    def _used_bytes(self) -> int:
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).used)
