"""What every process of the tests needs, imported once by the server that forks them; nothing of it starts a thread."""

from __future__ import annotations

import lancespace
from plugins.dir.tests import crashing, processes, support

__all__ = ["crashing", "processes", "support"]

lancespace.connect("dir", {"root": "nowhere"}).close()  # Finds the plugins and imports them, and touches nothing.
