"""Every table operation through the Lance SDK, as mixins for a backend that can say where a table is."""
