"""Live accuracy of an endpoint's variants, for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from dispatch.shadow.agreement import Agreement
from dispatch.shadow.endpoint_shadow import EndpointShadow

LEAST_TO_BLAME = 2
"""Where so many variants, and all that were compared, have fallen, the reference may be the one at fault."""


def shadow_status(shadow: EndpointShadow | None) -> dict[str, Any] | None:
    """What comparisons with the reference say, in JSON values; None where nothing is compared."""
    if shadow is None:
        return None
    reference = None if shadow.reference is None else shadow.reference.variant
    known = {variant: each for (variant, of), each in shadow.agreements.items() if of == reference}
    variants = {variant: _record(each) for variant, each in known.items()}
    return {
        "share": shadow.rules.share,
        "reference": reference,
        "drawn": shadow.drawn,
        "compared": shadow.compared,
        "dropped": shadow.dropped,
        "variants": variants,
        "alerts": alerts(reference, variants),
    }


def alerts(reference: str | None, variants: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong, in words; ``variants`` are records as the status has them."""
    fallen = {name: each for name, each in variants.items() if each["drifted"]}
    if len(fallen) >= LEAST_TO_BLAME and len(fallen) == len(variants):
        return [f"all variants that were compared disagree with {reference}: it, or the data, is not what was measured"]
    return [_alert(name, each, str(reference)) for name, each in fallen.items()]


def _alert(name: str, record: Mapping[str, Any], reference: str) -> str:
    return (
        f"variant {name} agrees with {reference} on {100 * record['agreement']:.0f}% of the latest {record['seen']} "
        f"rows, where {100 * record['least_agreement']:.0f}% were to be expected at least: its accuracy is about "
        f"{100 * record['accuracy']:.0f}% now, not {100 * record['expected_accuracy']:.0f}%"
    )


def _record(agreement: Agreement) -> dict[str, Any]:
    live = agreement.live()
    baseline = agreement.baseline
    return {
        "accuracy": live.accuracy,
        "low": live.low,
        "high": live.high,
        "expected_accuracy": baseline.accuracy,
        "agreement": agreement.agreed / agreement.seen if agreement.seen else None,
        "least_agreement": baseline.floor,
        "seen": agreement.seen,
        "compared": agreement.compared,
        "drifted": agreement.drifted,
        "found_after": agreement.found_after,
    }


def together_shadow(every: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Several routers' records of one endpoint: counts are summed, an estimate is that of the router with the most
    comparisons, and a variant has drifted where any router says so."""
    known = [each for each in every if each is not None]
    if not known:
        return None
    variants: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(name for each in known for name in each["variants"]):
        own = [each["variants"][name] for each in known if name in each["variants"]]
        best = max(own, key=lambda each: (each["drifted"], each["seen"]))
        variants[name] = {**best, "compared": sum(each["compared"] for each in own)}
    first = max(known, key=lambda each: int(each["compared"]))
    return {
        **first,
        **{key: sum(each[key] for each in known) for key in ("drawn", "compared", "dropped")},
        "variants": variants,
        "alerts": alerts(first["reference"], variants),
    }
