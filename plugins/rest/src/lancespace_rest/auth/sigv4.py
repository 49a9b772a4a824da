"""AWS Signature Version 4, for servers behind API Gateway and the like; credentials come from AWS's own chain."""

from __future__ import annotations

from collections.abc import Mapping

from lance_namespace import UnauthenticatedError, UnsupportedOperationError

from lancespace.authoring import Property, Settings
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import AUTHORIZATION
from lancespace_rest.sessions import HttpSession

_DIGEST = "X-Amz-Content-SHA256"
_UNSIGNED = "UNSIGNED-PAYLOAD"
"""What stands for the digest of a body that is streamed."""


class SigV4Auth(AuthMethod):
    """Signs the method, the URL and the body. botocore finds the credentials and renews them."""

    properties = (
        Property("region", "AWS region of the server", required=True),
        Property("service", "AWS service of the server", default="execute-api"),
    )
    header = AUTHORIZATION

    def __init__(self, settings: Settings, session: HttpSession) -> None:
        super().__init__(settings, session)
        try:
            from botocore.session import get_session  # type: ignore[import-untyped]
        except ModuleNotFoundError as error:
            raise UnsupportedOperationError(
                'rest.auth.type=sigv4 needs botocore: pip install "lancespace-rest[sigv4]"'
            ) from error
        self._aws = get_session()

    def headers(self, call: Call) -> Mapping[str, str]:
        """The signature, and the headers that it covers."""
        from botocore.auth import SigV4Auth as Signer  # type: ignore[import-untyped]
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]

        credentials = self._aws.get_credentials()
        if credentials is None:
            raise UnauthenticatedError(
                "rest.auth.type=sigv4 found no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret."
            )
        covered = {name: value for name, value in call.headers.items() if name.lower() == "host"}
        covered[_DIGEST] = call.body_sha256 or _UNSIGNED
        request = AWSRequest(call.method, call.url, headers=covered)
        signer = Signer(credentials.get_frozen_credentials(), self.settings["service"], self.settings["region"])
        signer.add_auth(request)
        return dict(request.headers.items())
