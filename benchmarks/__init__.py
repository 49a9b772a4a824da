"""Benchmarks: `python -m benchmarks` runs all of them, `python -m benchmarks hooks` one.

A benchmark is a module of this package with a function `run()` that yields results; the first line of its docstring
says what it is about.
"""
