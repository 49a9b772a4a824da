"""What the parts of a running server share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace_server.accesslog import AccessLog
from lancespace_server.auth import Authenticator
from lancespace_server.metrics import Metrics
from lancespace_server.pace import Pace
from lancespace_server.policy import Policy
from lancespace_server.pool import Pool
from lancespace_server.reports import Reports
from lancespace_server.tracing import Tracing

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_server.settings import ServerSettings


@dataclass(frozen=True)
class Services:
    """One namespace, and all that is around it."""

    namespace: Namespace
    settings: ServerSettings
    authenticator: Authenticator
    pool: Pool
    pace: Pace
    metrics: Metrics
    reports: Reports
    tracing: Tracing
    policy: Policy | None
    """Also enforced around the namespace; here, bodies are refused by it before they are read."""

    @classmethod
    def start(cls, namespace: Namespace, settings: ServerSettings) -> Services:
        """Make everything that serving a namespace takes."""
        pool = Pool(settings)
        metrics = Metrics(pool)
        return cls(
            namespace,
            settings,
            Authenticator(settings),
            pool,
            Pace(),
            metrics,
            Reports(metrics, AccessLog(is_on=settings.access_log)),
            Tracing(),
            Policy.load(settings.policy) if settings.policy else None,
        )
