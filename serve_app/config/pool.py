"""``pools`` of the config: identical workers."""

from math import inf
from typing import Any

from pydantic import Field, field_validator, model_validator

from autoscaler.loop.sizing import Bounds
from serve_app.config.strict import Strict

DEVICE = "^(cpu|cuda)(-[a-z0-9][a-z0-9_.-]*)?$"


class PoolConfig(Strict):
    """Identical workers; resources are those that Ray reserves for each."""

    workers: int = Field(default=1, ge=0, description="Serve replicas, to begin with")
    min_workers: int | None = Field(
        default=None, ge=0, description="fewest workers that the planner may choose; 0 lets the pool go"
    )
    max_workers: int | None = Field(default=None, ge=1, description="most workers that the planner may choose")
    price_per_h: float = Field(
        default=0.0, ge=0, description="of one worker, in any currency; the planner takes the cheapest that do"
    )
    memory_bytes: float | None = Field(
        default=None, gt=0, description="what the variants of one worker may take together, in bytes; `null`: no limit"
    )
    batch_bytes: float | None = Field(
        default=None,
        gt=0,
        description="of `memory_bytes`, what is kept for the rows of a batch while they run, in bytes: batches of "
        "variants that say what a row takes (`row_bytes`) have as many rows at most as it holds; `null`: nothing is "
        "kept, and nothing limited",
    )
    start_up_s: float = Field(
        default=10.0,
        ge=0,
        description="how long a worker takes to come, in seconds, for forecasts that look so far ahead; where workers "
        "are seen to take longer, that counts",
    )
    label_selector: dict[str, str] = Field(
        default_factory=dict,
        description="Ray's labels of the nodes that its workers run on (`ray.io/accelerator-type`, "
        "`ray.io/market-type` and so on)",
    )
    preemptible: bool = Field(default=False, description="its workers may be taken away at any time")
    variants: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="names of the variants that its workers may hold, such as one member of an ensemble; `null`: all",
    )
    device: str = Field(
        default="cpu",
        pattern=DEVICE,
        description="`cpu` or `cuda` (needs `num_gpus`), or a type of these, such as `cuda-a100`: workers of different "
        "types have profiles of their own",
    )
    machine: str | None = Field(
        default=None,
        min_length=1,
        description="name of the machine type that its workers stand on, as in measurements of interference; `null`: "
        "what each worker finds, its CPU's model and number of CPUs or its GPU's name",
    )
    threads: int = Field(default=1, ge=1, description="threads that one model run may use")
    num_cpus: float = Field(
        default=1.0, ge=0, description="CPUs that Ray reserves for each worker; shares such as 0.5 are fine"
    )
    num_gpus: float = Field(
        default=0.0, ge=0, description="GPUs that Ray reserves for each worker; shares such as 0.25 are fine"
    )

    runtime_env: dict[str, Any] = Field(
        default_factory=dict,
        description="Ray's `runtime_env` of its workers, for what classes of one's own need beyond Accord's "
        "environment: `pip`, `uv`, `env_vars` and so on ([your-code.md](your-code.md#what-a-class-needs))",
    )

    @property
    def bounds(self) -> Bounds:
        """How many workers there may be; all the same where the config names one number."""
        least = self.workers if self.min_workers is None else self.min_workers
        return Bounds(min(least, self.workers), max(self.workers, self.max_workers or 0))

    @property
    def model_bytes(self) -> float:
        """What the variants of one worker may take together beside the rows of a batch; inf where nothing limits it."""
        return inf if self.memory_bytes is None else self.memory_bytes - (self.batch_bytes or 0.0)

    @property
    def limits_gpu(self) -> bool:
        """Whether what its workers load on GPUs is limited."""
        return self.device.startswith("cuda") and self.memory_bytes is not None

    def may_hold(self, variant: str) -> bool:
        """Whether its workers may hold a variant."""
        return self.variants is None or variant in self.variants

    @field_validator("runtime_env")
    @classmethod
    def _environment(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not value:
            return value
        modules = value.get("py_modules")
        for place in (value.get("working_dir"), *(modules if isinstance(modules, list) else [modules])):
            if isinstance(place, str) and "://" not in place:
                raise ValueError(
                    f"{place!r} is a local path, which Ray takes for whole jobs alone; give a URI of an archive such "
                    "as https://host/code.zip, or put modules beside the catalogue"
                )
        from ray.runtime_env import RuntimeEnv  # takes a second, and few configs need it

        try:
            RuntimeEnv(**value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Ray does not take it: {error}") from error
        return value

    @model_validator(mode="after")
    def _workers_within_bounds(self) -> "PoolConfig":
        if self.min_workers is not None and self.workers < self.min_workers:
            raise ValueError(f"workers is {self.workers}, fewer than min_workers ({self.min_workers}); raise workers")
        if self.max_workers is not None and self.workers > self.max_workers:
            raise ValueError(f"workers is {self.workers}, more than max_workers ({self.max_workers}); lower workers")
        if self.bounds.most == 0:
            raise ValueError("workers is 0 and there is no max_workers, so that the pool never has any; raise one")
        return self

    @model_validator(mode="after")
    def _memory_for_models(self) -> "PoolConfig":
        if self.model_bytes <= 0:
            raise ValueError(
                f"batch_bytes is {self.batch_bytes:.15g} and memory_bytes {self.memory_bytes:.15g}, so that nothing is "
                "left for models; lower batch_bytes"
            )
        return self

    @model_validator(mode="after")
    def _gpu_for_cuda(self) -> "PoolConfig":
        on_gpu = self.device.startswith("cuda")
        if on_gpu and self.num_gpus == 0:
            raise ValueError(
                f"num_gpus is 0 in a pool with device {self.device!r}; give its workers a GPU, or a share such as 0.25"
            )
        if not on_gpu and self.num_gpus > 0:
            raise ValueError(
                f"num_gpus is {self.num_gpus} in a pool with device {self.device!r}; set device: cuda or remove "
                "num_gpus"
            )
        return self
