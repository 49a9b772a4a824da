"""The commands that this package adds to ``lancespace``; lancespace-cli loads them when they are called."""
