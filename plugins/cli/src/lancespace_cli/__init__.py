"""The ``lancespace`` command."""
