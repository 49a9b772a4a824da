"""Scripts for the people who work on lancespace; run them from the root of the repository: `python -m tools.<name>`."""
