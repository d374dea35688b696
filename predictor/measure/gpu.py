"""What a GPU does, as NVML tells."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean
from threading import Event, Thread
from typing import Any

from catalog.errors import ConfigError
from catalog.extras import TO_INSTALL

_EVERY_S = 0.05
_KIBIBYTE = 1024


class GpuProbe:
    """Metrics of one GPU, for all that runs on it; raises `ConfigError` where NVML or that GPU is not there.

    What that GPU does not tell, as virtual ones often tell no PCIe traffic, is left out.
    """

    def __init__(self, index: int) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise ConfigError(
                f"measuring on GPU {index} needs pynvml, which is not installed; "
                f"run `{TO_INSTALL.format('interference')}`"
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
        self._readings = {name: read for name, read in self._all_readings().items() if self._read(read) is not None}

    @contextmanager
    def watching(self) -> Iterator[dict[str, float]]:
        """Samples until the block is left; the dictionary has the means then.

        ``hw_gpu_utilisation``, 0 to 1, the share of time in which a kernel ran; ``hw_gpu_memory_bytes`` beyond what was
        in use when this probe was made; ``hw_pcie_read_bytes_per_s``, from the host to the GPU, and
        ``hw_pcie_write_bytes_per_s``.
        """
        found: dict[str, float] = {}
        samples: dict[str, list[float]] = defaultdict(list)
        over = Event()

        def sample() -> None:
            while True:
                for name, read in self._readings.items():
                    if (value := self._read(read)) is not None:
                        samples[name].append(value)
                if over.wait(_EVERY_S):
                    return

        thread = Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            over.set()
            thread.join()
        found.update({f"hw_{name}": fmean(values) for name, values in samples.items()})

    def free_bytes(self) -> int:
        """Memory of the GPU that nobody uses."""
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).free)

    def _all_readings(self) -> dict[str, Callable[[], float]]:
        nvml, gpu = self._nvml, self._gpu
        return {
            "gpu_utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100.0,
            "gpu_memory_bytes": lambda: float(max(0, self._used_bytes() - self._idle_bytes)),
            "pcie_read_bytes_per_s": lambda: float(
                nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_RX_BYTES) * _KIBIBYTE
            ),
            "pcie_write_bytes_per_s": lambda: float(
                nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_TX_BYTES) * _KIBIBYTE
            ),
        }

    def _read(self, read: Callable[[], float]) -> float | None:
        """None where NVML does not tell, for good or this once."""
        try:
            return read()
        except self._nvml.NVMLError:
            return None

    def _used_bytes(self) -> int:
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).used)
