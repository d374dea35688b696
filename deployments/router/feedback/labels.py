"""Labels from clients, matched with the answers of this router."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.errors import BadRequest
from deployments.messages.learned import LearnedVotes
from dispatch.commands import Answer
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.ground_truth import Answered, GroundTruth, Told
from dispatch.ensemble.weights import VoteCounts
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointPlan

NO_NAMES: Mapping[str, Mapping[str, str]] = {}

Label = tuple[str, tuple[int, ...]]
"""A request's id, and the class of each of its rows."""


class Labels:
    """Remembers what was answered under which id, and learns from labels how good variants are.

    The weights of ensembles follow at once, those that other routers learned with `learn`. ``ballots`` says how each
    endpoint's answers name classes; endpoints without are those whose answers do not. An ensemble has the members that
    it was built with; elsewhere a variant that begins to answer later, such as a registered one, is counted from its
    first answer on. Other routers, and later services, know members by ``models``, by endpoint and member: names that
    a model trained anew under its old name does not share. Members without keep their own.
    """

    def __init__(
        self,
        endpoints: Mapping[str, EndpointPlan],
        ballots: Mapping[str, Ballots],
        models: Mapping[str, Mapping[str, str]] = NO_NAMES,
    ) -> None:
        self._ballots = dict(ballots)
        self._models = models
        self._flows = {
            name: endpoint.flow for name, endpoint in endpoints.items() if isinstance(endpoint.flow, EnsembleFlow)
        }
        self._built = {name: flow.weights.counts for name, flow in self._flows.items()}
        self._others: dict[str, VoteCounts] = {}
        self._truths: dict[str, GroundTruth] = {}
        for name, own in ballots.items():
            flow = self._flows.get(name)
            offered = [c.variant for each in endpoints[name].candidates.values() for c in each]
            members = tuple(dict.fromkeys(offered)) if flow is None else flow.weights.members
            self._truths[name] = GroundTruth(members, own.classes)

    def remember(self, endpoint: str, request_id: str, answer: Answer, now_s: float) -> None:
        """An answer goes out, this router's or one that it has from another, whose clock may be another machine's.

        Nothing is kept of endpoints that name no classes.
        """
        truth = self._truths.get(endpoint)
        if truth is None:
            return
        try:
            winners = self._ballots[endpoint].read(answer.outputs, answer.query.rows)
        except ValueError:  # a variant that names another class than the task has: no label can be its
            return
        votes = answer.votes or {answer.variant: winners}
        flow = self._flows.get(endpoint)
        if flow is None:
            for member in votes:
                truth.add(member)
        known = {member: said for member, said in votes.items() if member in truth.members}
        constraint = None if flow is None else flow.constraint_met(answer.query)
        truth.remember(request_id, Answered(now_s, winners, known, constraint))

    def check(self, endpoint: str, labels: Sequence[Label]) -> None:
        """Raise `BadRequest` for a label that cannot be."""
        truth = self._truths.get(endpoint)
        if truth is None:
            raise BadRequest(f"answers of endpoint {endpoint!r} name no class, so that labels say nothing of them")
        for request_id, classes in labels:
            try:
                truth.check(request_id, classes)
            except ValueError as error:
                raise BadRequest(f"feedback for id {request_id!r}: {error}") from error

    def tell(self, endpoint: str, labels: Sequence[Label], now_s: float) -> list[Told]:
        """What became of each label; raises `BadRequest` for one that cannot be, and then counts none."""
        self.check(endpoint, labels)
        truth, flow, told = self._truths[endpoint], self._flows.get(endpoint), []
        for request_id, classes in labels:
            result, answered = truth.tell(request_id, classes, now_s)
            told.append(result)
            if answered is not None and flow is not None and answered.constraint is not None:
                for row, label in enumerate(classes):
                    said = {member: own[row] for member, own in answered.votes.items()}
                    flow.chooser.on_truth(answered.constraint, label, answered.winners[row], said)
        if Told.MATCHED in told:
            self._weigh(endpoint)
        return told

    # -- what routers share -----------------------------------------------------------------------------------

    def learned(self) -> dict[str, LearnedVotes]:
        """What labels have said here since the start, of endpoints where they said anything."""
        return {
            name: LearnedVotes.of(self._known_as(name), truth.counts)
            for name, truth in self._truths.items()
            if truth.labelled and name in self._flows
        }

    def learn(self, others: Mapping[str, LearnedVotes]) -> None:
        """What labels said to all other routers."""
        for name, votes in others.items():
            if name in self._flows:
                truth = self._truths[name]
                self._others[name] = votes.counts(self._known_as(name), truth.classes)
                self._weigh(name)

    def _known_as(self, endpoint: str) -> list[str]:
        own = self._models.get(endpoint, {})
        return [own.get(member, member) for member in self._truths[endpoint].members]

    def _weigh(self, endpoint: str) -> None:
        flow = self._flows.get(endpoint)
        if flow is not None:
            counts = self._built[endpoint] + self._truths[endpoint].counts
            others = self._others.get(endpoint)
            flow.weights.put(counts if others is None else counts + others)

    # -- for people -------------------------------------------------------------------------------------------

    def status(self, endpoint: str) -> dict[str, Any] | None:
        """Rows whose truth is known and how many were answered correctly, by member as well; None without classes.

        ``agreement`` of a member with what was answered needs no label: a proxy.
        """
        truth = self._truths.get(endpoint)
        if truth is None:
            return None
        seen, right = truth.counts.seen.sum(axis=0), truth.counts.right.sum(axis=0)
        return {
            "labelled": truth.labelled,
            "right": truth.right,
            "members": {
                member: {
                    "labelled": int(seen[column]),
                    "right": int(right[column]),
                    "answered": truth.agreement[member].rows,
                    "agreed": truth.agreement[member].agreed,
                }
                for column, member in enumerate(truth.members)
            },
        }
