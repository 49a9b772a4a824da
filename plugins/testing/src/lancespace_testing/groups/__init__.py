"""The tests, one group a file."""
