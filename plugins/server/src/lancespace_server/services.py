"""What the parts of a running server share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace_server.accesslog import AccessLog
from lancespace_server.auth import Authenticator
from lancespace_server.idempotency import Ledger
from lancespace_server.metrics import Metrics
from lancespace_server.pace import Pace
from lancespace_server.pool import Pool
from lancespace_server.readiness import Readiness
from lancespace_server.reports import Reports
from lancespace_server.threads import Threads
from lancespace_server.tracing import Tracing

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_server.settings import ServerSettings

_AUTHENTICATION_THREADS = 4


@dataclass(frozen=True)
class Services:
    """One namespace, and all that is around it."""

    namespace: Namespace
    settings: ServerSettings
    authenticator: Authenticator
    authentication_threads: Threads
    """Apart from those of the pool: whoever is not let in yet must not keep those from working who are."""
    parser: Threads
    """One thread for large JSON bodies: no two of them keep Python's lock from the others at a time."""
    pool: Pool
    pace: Pace
    metrics: Metrics
    reports: Reports
    tracing: Tracing
    readiness: Readiness
    ledger: Ledger

    @classmethod
    def start(cls, namespace: Namespace, settings: ServerSettings) -> Services:
        """Make everything that serving a namespace takes."""
        pool = Pool(settings)
        metrics = Metrics(pool)
        return cls(
            namespace,
            settings,
            Authenticator(settings),
            Threads(_AUTHENTICATION_THREADS),
            Threads(1),
            pool,
            Pace(),
            metrics,
            Reports(metrics, AccessLog(is_on=settings.access_log)),
            Tracing(),
            Readiness(namespace),
            Ledger(settings.idempotency_file),
        )
