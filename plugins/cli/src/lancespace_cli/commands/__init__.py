"""The commands of this package: a module for each group of them."""
