"""Storage: where tables live, reached through storage plugins chosen by URL scheme."""
