"""The backend template for lancespace."""
