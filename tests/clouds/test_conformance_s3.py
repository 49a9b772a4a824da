from __future__ import annotations

import pytest

from tests.clouds.conformance import CloudConformance
from tests.emulators.clouds import Cloud


class TestS3(CloudConformance):
    @pytest.fixture
    def cloud(self, s3_cloud: Cloud) -> Cloud:
        return s3_cloud
