"""What NVML tells: of a GPU where there is one, and of one made up, that does not tell everything."""

import sys
import time
from types import SimpleNamespace

import pytest
import torch

from predictor.measure.gpu import GpuProbe

ALL = {"hw_gpu_utilisation", "hw_gpu_memory_bytes", "hw_pcie_read_bytes_per_s", "hw_pcie_write_bytes_per_s"}


class NVMLError(Exception):
    """As NVML's module has it."""


class VirtualGpu(SimpleNamespace):
    """As much of NVML as the probe uses, of a virtual GPU: no PCIe counters, and utilisation now and then."""

    NVML_PCIE_UTIL_RX_BYTES, NVML_PCIE_UTIL_TX_BYTES = 1, 0
    NVMLError = NVMLError

    def __init__(self) -> None:
        super().__init__(used=1000, asked=0)

    def nvmlInit(self) -> None:
        """Nothing to do."""

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> SimpleNamespace:
        return SimpleNamespace(used=self.used, free=5000 - self.used)

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> SimpleNamespace:
        self.asked += 1
        if self.asked % 2 == 0:
            raise NVMLError("Unknown Error")
        return SimpleNamespace(gpu=40)

    def nvmlDeviceGetPcieThroughput(self, gpu: int, counter: int) -> int:
        raise NVMLError("Not Supported")


def test_what_a_gpu_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = VirtualGpu()
    monkeypatch.setitem(sys.modules, "pynvml", gpu)
    probe = GpuProbe(0)
    gpu.used = 3000
    with probe.watching() as found:
        while gpu.asked < 6:
            time.sleep(0.01)
    assert found == {"hw_gpu_utilisation": pytest.approx(0.4), "hw_gpu_memory_bytes": 2000.0}
    assert probe.free_bytes() == 2000


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA, and PyTorch built for it")
def test_a_gpu_at_work_is_seen_at_work() -> None:
    probe = GpuProbe(0)
    x = torch.randn(4096, 4096, device="cuda")
    with probe.watching() as found:
        ends_s = time.monotonic() + 2.5
        while time.monotonic() < ends_s:
            x = (x @ x).softmax(1)
            torch.cuda.synchronize()
    assert set(found) <= ALL
    assert found["hw_gpu_utilisation"] > 0.5
    assert found["hw_gpu_memory_bytes"] > x.nbytes
