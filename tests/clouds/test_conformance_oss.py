from __future__ import annotations

import pytest

from tests.clouds.conformance import CloudConformance
from tests.emulators.clouds import Cloud


class TestOss(CloudConformance):
    @pytest.fixture
    def cloud(self, oss_cloud: Cloud) -> Cloud:
        return oss_cloud
