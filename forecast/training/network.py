"""Trains a network with Lightning: in epochs, with a checkpoint after each."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

from forecast.forecaster import Fitting
from forecast.training.sequences import StretchBatches

logger = logging.getLogger(__name__)

EPOCH_BATCHES = 50
LEAST_EPOCHS, MOST_EPOCHS = 8, 80
PASSES = 150
"""Every block of the history is seen about so often, within these bounds; more, and few data are learned by heart."""

RATE = 8e-3
WEIGHT_DECAY = 0.01
CLIP = 1.0
LAST = "last"


class Training(pl.LightningModule):
    """One run over ``epochs`` with a learning rate that rises to `RATE` and falls to nothing (one cycle).

    ``network`` has a ``loss(batch)``.
    """

    def __init__(self, network: torch.nn.Module, batches: StretchBatches, epochs: int, fitting: Fitting):
        super().__init__()
        self.network = network
        self._batches = batches
        self._epochs = epochs
        self._fitting = fitting

    def train_dataloader(self) -> DataLoader[Any]:
        """The batches of this epoch, whether or not those before it were drawn here."""
        self._batches.seed = (self._fitting.seed, self.current_epoch)
        return DataLoader(self._batches, batch_size=None)

    def on_train_batch_start(self, batch: Any, at: int) -> None:
        """Dropout is drawn by the step, so that a training that goes on from a checkpoint draws as one that was whole.

        Checkpoints do not hold the state of torch's generator.
        """
        drawn = np.random.SeedSequence((self._fitting.seed, self.global_step)).generate_state(1)
        torch.manual_seed(int(drawn[0]))

    def training_step(self, batch: Any, at: int) -> torch.Tensor:
        """See Lightning."""
        loss: torch.Tensor = self.network.loss(batch)
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Any, at: int) -> None:
        """Tell who waits."""
        self._fitting.report(self.global_step, self._epochs * EPOCH_BATCHES, float(outputs["loss"]))

    def configure_optimizers(self) -> Any:
        """See Lightning."""
        optimizer = torch.optim.AdamW(self.parameters(), RATE, weight_decay=WEIGHT_DECAY)
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, self._epochs * EPOCH_BATCHES)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}


def train(network: torch.nn.Module, batches: StretchBatches, fitting: Fitting) -> None:
    """Train in place, going on from the last checkpoint in ``fitting.checkpoint`` where there is one."""
    passes = PASSES * batches.history_blocks / batches.batch_blocks
    epochs = min(max(round(passes / EPOCH_BATCHES), LEAST_EPOCHS), MOST_EPOCHS)
    folder = fitting.checkpoint
    keep = [ModelCheckpoint(folder, filename=LAST, enable_version_counter=False)] if folder is not None else []
    with _quiet():
        trainer = pl.Trainer(
            accelerator="cpu",
            max_epochs=epochs,
            gradient_clip_val=CLIP,
            reload_dataloaders_every_n_epochs=1,
            callbacks=keep,
            enable_checkpointing=bool(keep),
            enable_progress_bar=False,
            enable_model_summary=False,
            logger=False,
        )
        last = _last(folder)
        if last is not None:
            fitting.resumed(last.step, epochs * EPOCH_BATCHES)
        training = Training(network, batches, epochs, fitting)
        trainer.fit(training, ckpt_path=None if last is None else last.file, weights_only=True)
    network.eval()


class _Checkpoint(NamedTuple):
    file: Path
    step: int


def _last(folder: Path | None) -> _Checkpoint | None:
    """The checkpoint to go on from; none where it cannot be read, as after a full disk: it is written over."""
    file = folder / f"{LAST}.ckpt" if folder is not None else None
    if file is None or not file.exists():
        return None
    try:
        saved = torch.load(file, weights_only=True)
        if not isinstance(saved, dict) or not {"global_step", "state_dict", "loops"} <= saved.keys():
            raise ValueError("it is none that a training saved")
        return _Checkpoint(file, saved["global_step"])
    except (OSError, EOFError, RuntimeError, UnpicklingError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        logger.warning("The checkpoint %s cannot be read, and the training begins anew: %s", file, reason)
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Lightning greets, and advises on hardware and workers for loading, which do not matter here."""
    greeter = logging.getLogger("lightning.pytorch")
    level = greeter.level
    greeter.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            greeter.setLevel(level)
