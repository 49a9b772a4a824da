"""What a session for one table may do: the policy with which its role is assumed."""

from __future__ import annotations

import re
from typing import Any

_READ = ("s3:GetObject",)
_WRITE = (*_READ, "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
_ADMIN = (*_WRITE, "s3:DeleteObject")
_ACTIONS = {"read": _READ, "write": _WRITE, "admin": _ADMIN}
_KEYS = {"read": ("kms:Decrypt",), "write": ("kms:Decrypt", "kms:GenerateDataKey")}


def session_policy(bucket: str, prefix: str, permission: str, partition: str = "aws") -> dict[str, Any]:
    """A policy for what is below a prefix; the session can do what both it and the role's own policy allow."""
    name = f"arn:{partition}:s3:::{bucket}"
    below = f"{_literal(prefix)}/*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": list(_ACTIONS[permission]), "Resource": f"{name}/{below}"},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": name,
                "Condition": {"StringLike": {"s3:prefix": below}},
            },
            {"Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": name},
            # S3 asks for the objects' keys in the session's name: what it may not read, it cannot decrypt this way.
            {
                "Effect": "Allow",
                "Action": list(_KEYS.get(permission, _KEYS["write"])),
                "Resource": "*",
                "Condition": {"StringLike": {"kms:ViaService": "s3.*"}},
            },
        ],
    }


def _literal(prefix: str) -> str:
    """A prefix in which nothing is a wildcard or a variable of the policy language."""
    return re.sub(r"[*?]|\$(?={)", lambda special: f"${{{special[0]}}}", prefix)
