"""What `python -m tools.generate` writes, one module per file."""
