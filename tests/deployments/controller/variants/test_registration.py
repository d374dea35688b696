"""New variants are measured where they would serve, and refused where they would serve nobody."""

from dataclasses import replace
from pathlib import Path

import pytest
from controller_parts import endpoint, pool, settings
from registration_scene import Scene, new, play

from catalog.errors import ArtifactError, BadRequest, ConfigError, NoWorker
from catalog.variant import Artifact
from deployments.controller.variants.registration import BUDGET_S
from deployments.controller.variants.variant_book import VariantBook
from virtual_time import wall_clock


def test_a_variant_is_measured_on_the_least_busy_worker_of_every_pool_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1", "w2")
        played.pools["gpu"].come("g1")
        played.pools["gpu"].row_s = 0.001
        await played.start()
        begun_s = wall_clock()
        profiles = await played.register(new(tmp_path))
        assert wall_clock() - begun_s == pytest.approx(BUDGET_S, abs=0.1)
        assert played.measured == ["w2", "g1"]
        assert profiles.keys() == {"cpu", "gpu"}
        book = played.known.book
        assert book.profiled_s["cpu", "new"] == pytest.approx((0.0, 0.004, 0.008, 0.012, 0.016))
        assert book.profiled_s["gpu", "new"][4] == pytest.approx(0.004)
        assert book.memory_bytes["new"] == 7

    both = {"digits": endpoint(pools=("cpu", "gpu"))}
    play(monkeypatch, settings(both, {"cpu": pool(), "gpu": pool(1)}), scene)


def test_pools_that_would_not_serve_it_or_have_no_worker_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        played.pools["other"].come("o1")
        await played.start()
        assert (await played.register(new(tmp_path))).keys() == {"cpu"}
        assert played.measured == ["w1"]

    served = {"digits": endpoint(pools=("cpu", "gpu")), "letters": endpoint(task="letters", pools=("other",))}
    play(monkeypatch, settings(served, {"cpu": pool(), "gpu": pool(1), "other": pool(1)}), scene)


def test_batches_are_measured_and_planned_as_far_as_a_pools_memory_takes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        played.pools["gpu"].come("g1")
        await played.start()
        with pytest.raises(ConfigError, match=r"'new' runs 3 rows at most .* clients may send 4 rows at once"):
            await played.register(new(tmp_path, row_bytes=30))
        assert played.measured == []
        await played.register(new(tmp_path, row_bytes=20, max_batch=8))
        measured = played.known.book.profiled_s
        assert (len(measured["cpu", "new"]), len(measured["gpu", "new"])) == (9, 6)

    both = {"digits": endpoint(pools=("cpu", "gpu"))}
    limited = replace(pool(1), batch_bytes=100.0)
    play(monkeypatch, settings(both, {"cpu": pool(1), "gpu": limited}), scene)


@pytest.mark.parametrize(("pools", "more_bytes"), [(("cpu",), 0), (("cpu", "gpu"), 150_000_000)])
def test_what_a_session_takes_of_a_gpu_counts_where_one_may_run_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pools: tuple[str, ...], more_bytes: int
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        await played.register(new(tmp_path, runtime="text"))
        assert played.known.book.memory_bytes["new"] == 7 + more_bytes

    served = {"digits": endpoint(pools=pools), "letters": endpoint(task="letters", pools=("gpu",))}
    gpus = replace(pool(1, memory=1e9), device="cuda")
    play(monkeypatch, settings(served, {"cpu": pool(1, memory=1e9), "gpu": gpus}), scene)


def test_a_pool_that_takes_no_row_of_it_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        played.pools["gpu"].come("g1")
        await played.start()
        with pytest.raises(ConfigError, match=r"'new': one row takes 2000 bytes .* there are \d+ for a batch"):
            await played.register(new(tmp_path, row_bytes=2000))
        assert (await played.register(new(tmp_path, row_bytes=200))).keys() == {"cpu"}
        assert played.measured == ["w1"]
        written = played.known.book.to_record()
        again = VariantBook(played.config)
        again.restore(written)
        assert again.names == played.known.book.names
        for left_bytes, serves in ((150.0, False), (799.0, False), (800.0, True)):  # of four rows that clients may send
            smaller = {name: replace(each, batch_bytes=left_bytes) for name, each in played.config.pools.items()}
            less = VariantBook(replace(played.config, pools=smaller))
            less.restore(written)
            assert ("new" in less.names) == serves

    both = {"digits": endpoint(pools=("cpu", "gpu"))}
    limited = {"cpu": replace(pool(1), batch_bytes=1000.0), "gpu": replace(pool(1), batch_bytes=100.0)}
    play(monkeypatch, settings(both, limited), scene)


def test_rows_that_clients_may_send_are_those_of_each_endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        played.pools["gpu"].come("g1")
        await played.start()
        with pytest.raises(ConfigError, match=r"'new' runs 3 rows at most .* clients may send 4 rows at once"):
            await played.register(new(tmp_path, max_batch=3))  # enough for the other endpoint's one row

    served = {"digits": endpoint(pools=("cpu",)), "single": endpoint(pools=("gpu",))}
    config = settings(served, {"cpu": pool(1), "gpu": pool(1)})
    one_row = {key: runs_s[:2] if key[0] == "gpu" else runs_s for key, runs_s in config.profiled_s.items()}
    play(monkeypatch, replace(config, profiled_s=one_row), scene)


def test_without_a_worker_nothing_is_measured_or_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        await played.start()
        with pytest.raises(NoWorker, match="no worker of pool cpu is there to measure 'new' on"):
            await played.register(new(tmp_path))
        assert "new" not in played.known.book.names

    play(monkeypatch, settings(), scene)


def test_a_worker_that_goes_meanwhile_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        played.pools["cpu"].workers.clear()  # Serve has not noticed yet
        with pytest.raises(NoWorker, match="worker w1 of pool cpu went while it measured 'new'"):
            await played.register(new(tmp_path))
        assert "new" not in played.known.book.names

    play(monkeypatch, settings(), scene)


def test_what_would_be_refused_is_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        for wrong, error, words in (
            (new(tmp_path, "slow"), ConfigError, "repeats slow"),
            (new(tmp_path, task="letters"), BadRequest, "task 'letters'.*tasks are digits"),
            (new(tmp_path, artifact=Artifact(str(tmp_path / "none"))), ArtifactError, "none"),
        ):
            with pytest.raises(error, match=words):
                await played.register(wrong)
        assert played.measured == []

    play(monkeypatch, settings(), scene)


def test_an_endpoint_that_lists_its_variants_takes_no_new_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        with pytest.raises(BadRequest, match="an endpoint whose config lists its variants takes no others"):
            await played.register(new(tmp_path))

    play(monkeypatch, settings({"digits": endpoint(variants=("slow", "fast"))}), scene)


def test_a_pool_that_lists_its_variants_takes_no_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lists = replace(pool(), variants=("slow", "fast"))
    both = endpoint(pools=("cpu", "gpu"))

    async def scene(played: Scene) -> None:
        for name in ("cpu", "gpu"):
            played.pools[name].come(f"{name}1")
        await played.start()
        assert (await played.register(new(tmp_path))).keys() == {"gpu"}

    play(monkeypatch, settings(pools={"cpu": lists, "gpu": pool()}, endpoints={"digits": both}), scene)

    async def nowhere(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        with pytest.raises(BadRequest, match=r"no pool may hold variant 'new': pools.cpu.variants list others"):
            await played.register(new(tmp_path))

    play(monkeypatch, settings(pools={"cpu": lists}), nowhere)
