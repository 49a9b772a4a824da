from __future__ import annotations

import pytest

from tests.clouds.conformance import CloudConformance
from tests.emulators.clouds import Cloud


class TestGcs(CloudConformance):
    @pytest.fixture
    def cloud(self, gcs_cloud: Cloud) -> Cloud:
        return gcs_cloud
