"""From the controller's routing table to what one router's dispatcher serves."""

from collections.abc import Mapping
from dataclasses import replace

from deployments.messages.control import EndpointTerms, RoutingTable
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.table_plan import with_selection


def live_plan(plan: Plan, routing_table: RoutingTable, before: RoutingTable | None) -> Plan:
    """The plan that follows ``plan``, in force under the routing table ``before``.

    What endpoints have learned (their load, where a balancer stands) is kept where its terms are the same. Decision
    tables are made for certain variants and one objective: where these change, the endpoint is served without tables
    until `deployments.router.tables.keeper` has others.
    """
    terms_before: Mapping[str, EndpointTerms] = {} if before is None else before.endpoints
    return Plan(
        plan.version + 1,
        {
            name: _endpoint(endpoint, terms, terms_before.get(name)) if terms is not None else endpoint
            for name, endpoint in plan.endpoints.items()
            for terms in [routing_table.endpoints.get(name)]
        },
    )


def _endpoint(endpoint: EndpointPlan, terms: EndpointTerms, before: EndpointTerms | None) -> EndpointPlan:
    bounded = replace(endpoint, drop_late=terms.drop_late, max_queued_rows=terms.max_queued_rows)
    if isinstance(endpoint.selection, RamsisSelection):
        if endpoint.slo_s == terms.slo_s and (before is None or before.candidates == terms.candidates):
            return replace(bounded, candidates=terms.candidates)
        return replace(with_selection(bounded, RamsisSelection()), slo_s=terms.slo_s, candidates=terms.candidates)
    balancer = endpoint.balancer
    if terms.shares is not None and (before is None or (before.shares, before.kinds) != (terms.shares, terms.kinds)):
        balancer = WeightedShares(terms.shares, terms.kinds)
    return replace(bounded, slo_s=terms.slo_s, candidates=terms.candidates, balancer=balancer)
