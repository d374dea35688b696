"""Names of variants in a config, checked against the catalogue and the pools alone."""

import logging
from typing import Any

import pytest

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ConfigError
from serve_app.build.named_variants import check_named_variants, warn_of_variants_nowhere
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig

RUNGS = [{"below_qps": 400, "variant": "digits-ensemble"}, {"variant": "digits-mlp"}]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue("builtin")


def config(selection: dict[str, Any], held: list[str] | None = None, **endpoint: Any) -> AppConfig:
    endpoint = {"task": "digits", "slo_ms": 100, "selection": selection, **endpoint}
    return app_config({"endpoints": {"digits": endpoint}, "pools": {"cpu": {"variants": held}}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            config({"policy": "fixed", "variant": "best"}, variants=["digits-mlp", "digits-cnn-s"]),
            "endpoints.digits.selection.variant: 'best' does not serve this endpoint; choose one of digits-mlp, "
            "digits-cnn-s",
        ),
        (
            config({"policy": "fixed", "variant": "digits-mlp"}, ["digits-cnn-s"]),
            "endpoints.digits.selection.variant: none of its pools may hold digits-mlp; add to pools.NAME.variants",
        ),
        (
            config({"policy": "load_ladder", "ladder": [RUNGS[0], {"variant": "digits-ml"}]}),
            "endpoints.digits.selection.ladder[1].variant: 'digits-ml' does not serve this endpoint (did you mean "
            "'digits-mlp'?); choose one of ",
        ),
        (
            config({"policy": "load_ladder", "ladder": RUNGS}, ["digits-mlp", "digits-cnn-s"]),
            "endpoints.digits.selection.ladder[0].variant: none of its pools may hold digits-ensemble; add to "
            "pools.NAME.variants of one of its pools, or leave out of endpoints.digits.variants",
        ),
        (
            config({"policy": "greedy"}, ["strips-ensemble"]),
            "pools.cpu.variants: 'strips-ensemble' serves no endpoint",
        ),
    ],
)
def test_what_serves_nothing_where_it_is_named_is_refused(catalogue: Catalogue, given: AppConfig, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_named_variants(given, catalogue)
    assert message in str(refused.value)


def test_what_is_named_and_held_passes(catalogue: Catalogue, caplog: pytest.LogCaptureFixture) -> None:
    held = ["digits-mlp", "digits-ensemble"]
    for selection in ({"policy": "load_ladder", "ladder": RUNGS}, {"policy": "fixed", "variant": "digits-mlp"}):
        given = config(selection, held, variants=held)
        check_named_variants(given, catalogue)
        warn_of_variants_nowhere(given, catalogue)
    assert not caplog.records


def test_what_no_pool_may_hold_and_nobody_needs_is_warned_of(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    given = config({"policy": "greedy"}, ["digits-mlp"], variants=["digits-mlp", "digits-cnn-s"])
    check_named_variants(given, catalogue)
    with caplog.at_level(logging.WARNING):
        warn_of_variants_nowhere(given, catalogue)
    assert "endpoints.digits: none of its pools may hold digits-cnn-s, which never answer" in caplog.text
