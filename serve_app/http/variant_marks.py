"""What answers and the status say of variants: whether they run a model, and where their accuracy comes from."""

import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

from catalog.evaluation.interval import wilson
from catalog.evaluation.measured import UNKNOWN_ORIGIN, AccuracyOrigin
from deployments.router.router import Router
from dispatch.commands import Answer
from serve_app.http.endpoint_info import EndpointInfo

Z_LABELS = 4.0
"""Standard errors beyond which labels contradict an accuracy: one looks again and again, so that 2 would not do."""


def emulated_variants(router: Router, *endpoints: EndpointInfo) -> frozenset[str]:
    """Names of emulated variants: those that ``endpoints`` began with, and by the controller's word those of today."""
    if router.routing is not None:
        return router.routing.emulated
    return frozenset().union(*(endpoint.emulated for endpoint in endpoints))


def _any_in(variant: str, emulated: Set[str], stages: Iterable[str]) -> bool:
    """Whether one of ``emulated`` is among the variants of an answer, which may have any character in their names.

    Those that voted together are joined by ``+``; those of a pipeline, which has ``stages``, are as well, as
    ``stage:variant``, several of one stage by commas.
    """
    first = "|".join(re.escape(stage) for stage in stages)
    before, behind = (rf"((^|\+)({first}):|,)", r"([+,]|$)") if first else (r"(^|\+)", r"(\+|$)")
    return any(re.search(before + re.escape(name) + behind, variant) for name in emulated)


def mark_status(status: Mapping[str, Any], emulated: Set[str]) -> dict[str, Any]:
    """An answer of ``GET /accord/status`` that says of variants and workers what of them is emulated."""
    endpoints = {
        name: endpoint
        | {
            "variants": {
                variant: entry | {"emulated": _any_in(variant, emulated, endpoint.get("stages", ()))}
                for variant, entry in endpoint["variants"].items()
            }
        }
        for name, endpoint in status["endpoints"].items()
    }
    workers = {
        name: worker | {"emulated": [variant for variant in worker["loaded"] if variant in emulated]}
        for name, worker in status["workers"].items()
    }
    return {**status, "endpoints": endpoints, "workers": workers}


def accuracy_origin(router: Router, variant: str) -> AccuracyOrigin:
    """Of what a variant, or several together, answered, by the controller's word."""
    return UNKNOWN_ORIGIN if router.routing is None else router.routing.origins.get(variant, UNKNOWN_ORIGIN)


def answer_marks(router: Router, endpoint: EndpointInfo, answer: Answer) -> dict[str, Any]:
    """What an answer says of who gave it: where its accuracy comes from, and whether no model ran."""
    marks: dict[str, Any] = {"accuracy_source": accuracy_origin(router, answer.variant).source}
    emulated = emulated_variants(router, endpoint)
    if emulated and not emulated.isdisjoint(answer.variants):
        marks["emulated"] = True
    return marks


def mark_origins(status: Mapping[str, Any], router: Router) -> dict[str, Any]:
    """An answer of ``GET /accord/status`` that says of variants where their accuracy comes from, and of labels where
    they contradict it."""
    return {**status, "endpoints": {name: _marked(each, router) for name, each in status["endpoints"].items()}}


def _marked(endpoint: Mapping[str, Any], router: Router) -> dict[str, Any]:
    variants = {v: each | accuracy_origin(router, v).to_record() for v, each in endpoint["variants"].items()}
    truth = endpoint.get("ground_truth")
    if truth is None:
        return {**endpoint, "variants": variants}
    members = truth["members"]
    alerts = [alert for v, each in variants.items() if v in members and (alert := _contradicted(v, each, members[v]))]
    return {**endpoint, "variants": variants, "ground_truth": {**truth, "alerts": alerts}}


def _contradicted(name: str, variant: Mapping[str, Any], told: Mapping[str, int]) -> str:
    """Labels that are too seldom the variant's answers to be chance, in words; empty where they are not."""
    expected, measured = variant.get("expected_accuracy"), variant["measured"]
    if measured is not None and measured["metric"] != "accuracy":  # labels tell of right classes alone
        return ""
    least = expected if measured is None else measured["low"]
    if least is None or wilson(told["right"], told["labelled"], Z_LABELS)[1] >= least:
        return ""
    return (
        f"labels say that variant {name} is right in {told['right']} of {told['labelled']} rows; "
        f"{100 * least:.0f}% were to be expected at least"
    )
