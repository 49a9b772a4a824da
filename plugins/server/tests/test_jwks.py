"""The keys of bearer tokens: which count, from when, and for how long."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from lance_namespace import ServiceUnavailableError, UnauthenticatedError

from lancespace.authoring import Principal
from lancespace_server import ServerSettings
from lancespace_server.auth import jwks
from lancespace_server.auth.jwks import Jwks
from lancespace_server.auth.tokens import Tokens
from plugins.server.tests.credentials import AUDIENCE, ISSUER, Signer

PUBLIC_ONLY = ("RS256", "RS512", "PS256", "ES256", "ES384")


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(jwks, "time", made)
    return made


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer("first")


def entry_of(signer: Signer, **changes: Any) -> dict[str, Any]:
    """The signer's key as a JWKS has it; None takes a member out."""
    (entry,) = json.loads(signer.jwks())["keys"]
    return {name: value for name, value in {**entry, **changes}.items() if value is not None}


def tokens(tmp_path: Path, *entries: object, algorithms: tuple[str, ...] = PUBLIC_ONLY) -> Tokens:
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": entries}))
    settings = ServerSettings(jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_algorithms=algorithms)
    return Tokens(settings, str(tmp_path / "jwks.json"))


def test_a_new_key_is_looked_for_once_a_minute(tmp_path: Path, clock: Clock):
    source = tmp_path / "jwks.json"
    source.write_text(Signer("old").jwks())
    keys = Jwks(str(source))

    assert keys.find("old") is not None
    source.write_text(Signer("new").jwks())
    assert keys.find("new") is None
    clock.now += 61
    assert keys.find("new") is not None
    assert keys.find("old") is None


def test_a_key_that_was_taken_out_is_forgotten_without_anybody_asking_for_another(tmp_path: Path, clock: Clock):
    source = tmp_path / "jwks.json"
    source.write_text(Signer("old").jwks())
    keys = Jwks(str(source))

    assert keys.find("old") is not None
    source.write_text(Signer("new").jwks())
    assert keys.find("old") is not None
    clock.now += 241
    assert keys.at_hand("old") is None
    assert keys.find("old") is None


def test_the_last_keys_count_for_a_while_if_the_source_fails(tmp_path: Path, clock: Clock):
    source = tmp_path / "jwks.json"
    source.write_text(Signer("old").jwks())
    keys = Jwks(str(source))

    assert keys.find("old") is not None
    source.unlink()
    clock.now += 899
    assert keys.find("old") is not None
    clock.now += 2
    with pytest.raises(ServiceUnavailableError, match="cannot be read"):
        keys.find("old")


def test_a_source_that_failed_is_left_alone_for_a_while(tmp_path: Path, clock: Clock):
    keys = Jwks(str(tmp_path / "jwks.json"))
    with pytest.raises(ServiceUnavailableError, match="cannot be read"):
        keys.find("late")
    (tmp_path / "jwks.json").write_text(Signer("late").jwks())
    with pytest.raises(ServiceUnavailableError, match="cannot be read"):
        keys.find("late")

    clock.now += 6

    assert keys.find("late") is not None
    assert keys.find("nobody") is None


def test_who_has_a_known_key_does_not_wait_for_the_source(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "jwks.json").write_text(Signer("known").jwks())
    keys = Jwks(str(tmp_path / "jwks.json"))
    assert keys.find("known") is not None
    asked, answered = threading.Event(), threading.Event()

    def hang() -> bytes:
        asked.set()
        answered.wait(60)
        raise OSError

    monkeypatch.setattr(keys, "_fetch", hang)
    clock.now += 300

    def ask() -> None:
        with pytest.raises(ServiceUnavailableError):
            keys.find("unknown")

    stranger = threading.Thread(target=ask)
    stranger.start()
    assert asked.wait(60)
    try:
        assert keys.at_hand("known") is not None
        assert keys.find("known") is not None
    finally:
        answered.set()
        stranger.join()


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256"])
def test_a_key_without_an_algorithm_is_for_all_of_its_type_that_are_set(tmp_path: Path, signer: Signer, algorithm: str):
    ours = tokens(tmp_path, entry_of(signer, alg=None))

    assert ours.principal(signer.token(algorithm=algorithm)) == Principal("jwt:alice")
    with pytest.raises(UnauthenticatedError, match=r"not allowed|not accepted"):
        tokens(tmp_path, entry_of(signer, alg=None), algorithms=("ES256", "RS384")).principal(
            signer.token(algorithm=algorithm)
        )


def test_a_key_with_an_algorithm_is_for_that_only(tmp_path: Path, signer: Signer):
    with pytest.raises(UnauthenticatedError, match="not allowed"):
        tokens(tmp_path, entry_of(signer, alg="RS256")).principal(signer.token(algorithm="RS512"))


def test_the_curve_of_a_key_decides_its_algorithm(tmp_path: Path, signer: Signer):
    key = ec.generate_private_key(ec.SECP384R1())
    entry = {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": "first"}
    ours = tokens(tmp_path, entry)

    assert ours.principal(signer.token(algorithm="ES384", key=key)) == Principal("jwt:alice")
    with pytest.raises(UnauthenticatedError):
        ours.principal(signer.token(algorithm="RS256"))


@pytest.mark.parametrize("changes", [{"use": "enc"}, {"key_ops": ["encrypt"], "use": None}])
def test_keys_for_other_purposes_do_not_count(tmp_path: Path, signer: Signer, changes: dict[str, Any]):
    ours = tokens(tmp_path, entry_of(signer, **changes), entry_of(Signer("other")), "no key at all")

    with pytest.raises(UnauthenticatedError, match="a key that this server does not know"):
        ours.principal(signer.token())


def test_a_shared_secret_in_the_set_is_no_key(tmp_path: Path, signer: Signer):
    secret = b"s" * 32
    entry = {"kty": "oct", "kid": "first", "alg": "HS256", "k": "c3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3M"}

    with pytest.raises(ServiceUnavailableError, match="has no public key"):
        tokens(tmp_path, entry).principal(signer.token(algorithm="HS256", key=secret))


def test_a_token_without_a_key_id_is_for_a_set_of_one(tmp_path: Path, signer: Signer):
    claims = jwt.decode(signer.token(), options={"verify_signature": False})
    token = jwt.encode(claims, signer.key, "RS256")

    assert tokens(tmp_path, entry_of(signer)).principal(token) == Principal("jwt:alice")
    with pytest.raises(UnauthenticatedError, match="does not know"):
        tokens(tmp_path, entry_of(signer), entry_of(Signer("other"))).principal(token)


@pytest.mark.parametrize("subject", ["", "  "])
def test_a_token_of_nobody_is_refused(tmp_path: Path, signer: Signer, subject: str):
    with pytest.raises(UnauthenticatedError, match="names nobody"):
        tokens(tmp_path, entry_of(signer)).principal(signer.token(subject))
