"""A Lance catalog in a SQLite file, its tables wherever a storage plugin of lancespace can write."""
