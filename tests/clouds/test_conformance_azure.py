from __future__ import annotations

import pytest

from tests.clouds.conformance import CloudConformance
from tests.emulators.clouds import Cloud


class TestAzure(CloudConformance):
    @pytest.fixture
    def cloud(self, azure_cloud: Cloud) -> Cloud:
        return azure_cloud
