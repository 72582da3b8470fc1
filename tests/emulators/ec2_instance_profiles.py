"""Instance profiles for the EC2 emulator: machines are lent a role only by callers who may pass it."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.iam import iam_backends
from moto.iam.access_control import IAMRequest


class PassingRole(IAMRequest):
    """A caller who hands a role to a machine."""

    def __init__(self, **asked: Any) -> None:
        super().__init__(**asked)
        self._action = "iam:PassRole"

    def _raise_access_denied(self) -> None:
        raise EC2ClientError("UnauthorizedOperation", "You are not authorized to perform this operation.")


def require_lendable(response: Any) -> None:
    """Refuse a launch with an instance profile that is not there, or whose role the caller may not pass."""
    named = response._get_param("IamInstanceProfile", {})
    if not named:
        return
    profiles = iam_backends[response.current_account][response.partition].instance_profiles.values()
    lent = next((profile for profile in profiles if named in ({"Name": profile.name}, {"Arn": profile.arn})), None)
    if lent is None:
        [(key, value)] = named.items()
        wrong = f"Value ({value}) for parameter iamInstanceProfile.{key.lower()} is invalid."
        raise EC2ClientError("InvalidParameterValue", f"{wrong} Invalid IAM Instance Profile {key.lower()}")
    for role in lent.roles:
        response._authenticate_and_authorize_action(PassingRole, role.arn)
