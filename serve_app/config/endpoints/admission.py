"""``admission`` of an endpoint: what is refused at arrival."""

from pydantic import Field

from dispatch.admission.rules import AdmissionRules
from serve_app.config.strict import Strict


class AdmissionConfig(Strict):
    """Refuse at arrival, with 429, what even the fastest variant cannot answer in time."""

    in_time: float = Field(
        default=0.98,
        gt=0,
        lt=1,
        description="share of the queries let in that is to be answered in time while others are refused; more of it "
        "costs throughput",
    )

    @property
    def rules(self) -> AdmissionRules:
        """As the dispatcher has them."""
        return AdmissionRules(self.in_time)
