"""Certificates of servers in the kernel lane: files, keys and chains."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from quiclab.lane.adapter import CERTIFICATE_NAME, certificate_words, load_adapters
from quiclab.lane.choices import CERTIFICATES, DEFAULT_CERTIFICATE, Certificate
from quiclab.lane.run import Lane

ONE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def openssl(*words: str) -> str:
    program = shutil.which("openssl") or pytest.skip("the program openssl is missing")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def lengths(file: str) -> list[int]:
    """Return the length of each certificate of a file [B]."""
    return [len(ssl.PEM_cert_to_DER_cert(pem)) for pem in ONE.findall(Path(file).read_text(encoding="ascii"))]


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_a_client_that_trusts_the_authority_accepts_what_the_server_sends(certificate: Certificate) -> None:
    words = certificate_words(certificate)
    sent, _, number = certificate.partition("-chain-")
    assert len(lengths(words["certificate"])) == int(number or 1)
    trusted = ("-CAfile", words["authority"], "-untrusted", words["certificate"])
    # one that is signed by itself and no authority is trusted as it is
    partial = () if number else ("-partial_chain",)
    openssl("verify", *trusted, *partial, "-verify_hostname", CERTIFICATE_NAME, words["certificate"])
    # the key of the leaf is the key of the server, with and without a chain
    public = openssl("x509", "-in", words["certificate"], "-noout", "-pubkey")
    assert public == openssl("pkey", "-in", words["key"], "-pubout")
    assert words["key"] == certificate_words(sent)["key"]  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["p-256", "rsa-2048"])
def test_each_intermediate_certificate_makes_the_chain_longer(key: str) -> None:
    alone, two, three = (
        sum(lengths(certificate_words(name)["certificate"]))  # type: ignore[arg-type]
        for name in (key, f"{key}-chain-2", f"{key}-chain-3")
    )
    # an intermediate certificate has at least the signature of its authority
    signature = {"p-256": 96, "rsa-2048": 512}[key]
    assert alone + signature < two
    assert two + signature < three


def test_the_default_is_one_name() -> None:
    assert Lane().certificate == DEFAULT_CERTIFICATE
    assert "--certificate" not in Lane().arguments()
    standard = next(iter(load_adapters().values())).standard({})
    assert {name: standard[name] for name in ("certificate", "key", "authority")} == certificate_words(
        DEFAULT_CERTIFICATE
    )
    chain = Lane(certificate="p-256-chain-2")
    assert chain.arguments()[-2:] == ["--certificate", "p-256-chain-2"]
