"""placeholder"""
import pytest
pytest.register_assert_rewrite("lancespace.testing.client", "lancespace.testing.groups")
