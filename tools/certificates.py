"""Certificate chains of servers in the kernel lane: `python tools/certificates.py FOLDER` writes new ones (PEM).

For each kind of key, a leaf with the key that `quiclab/lane/adapters` has for it, below one or two intermediates, and
the root that clients trust. The extensions are those that certificates of public authorities have (CA/Browser Forum,
Baseline Requirements, section 7.1.2), with two signed certificate timestamps (RFC 6962 section 3.3), whose signatures
are zeros: nothing in a run checks them.
The same keys do not give the same bytes: signatures of ECDSA are random, and those of the authorities are new keys.
"""

from __future__ import annotations

import argparse
import datetime
import struct
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from quiclab.lane.adapter import BUILT_IN, CERTIFICATE_NAME

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

#: The clock of a guest may begin in 1970 (`quiclab.lane.kernel.virtual`).
START = datetime.datetime(1970, 1, 1)
END = datetime.datetime(2126, 1, 1)
#: Certificates that servers send, leaf included.
LENGTHS = (2, 3)
DOMAIN_VALIDATED = ObjectIdentifier("2.23.140.1.2.1")
TIMESTAMPS = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
#: Version, log, time, no extensions, SHA-256 with ECDSA, a signature of this length.
LOG_BYTES, SIGNATURE_BYTES = 32, 71
SHA256_ECDSA = 0x0403


def new_key(kind: str) -> Key:
    """Return a key for an authority of leaves with this kind of key."""
    return ec.generate_private_key(ec.SECP384R1()) if kind == "p-256" else rsa.generate_private_key(65537, 4096)


def timestamps() -> bytes:
    """Return two signed certificate timestamps of logs and signatures that are zeros, as an OCTET STRING (DER)."""
    signed = struct.pack(">HH", SHA256_ECDSA, SIGNATURE_BYTES) + bytes(SIGNATURE_BYTES)
    one = bytes(1 + LOG_BYTES + 8 + 2) + signed
    entries = 2 * (struct.pack(">H", len(one)) + one)
    listed = struct.pack(">H", len(entries)) + entries
    return b"\x04\x81" + bytes([len(listed)]) + listed


def name(common: str) -> x509.Name:
    """Return the name of an authority or a server."""
    country = x509.NameAttribute(NameOID.COUNTRY_NAME, "US")
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "quiclab")
    return x509.Name([country, organisation, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def signed(subject: str, key: Key, issuer: str, issuer_key: Key, depth: int | None) -> x509.Certificate:
    """Return a certificate; `depth` is the number of authorities that may follow, None for a server."""
    usage = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    authority = depth is not None
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(START)
        .not_valid_after(END)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=depth), critical=True)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=authority, crl_sign=authority, **usage), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if subject != issuer:
        at = "http://authority.quiclab.test"
        access = x509.AccessDescription(
            AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier(f"{at}/{issuer}.der")
        )
        revoked = x509.DistributionPoint([x509.UniformResourceIdentifier(f"{at}/{issuer}.crl")], None, None, None)
        policy = x509.PolicyInformation(DOMAIN_VALIDATED, None)
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH]
        for extension in (
            x509.AuthorityInformationAccess([access]),
            x509.CRLDistributionPoints([revoked]),
            x509.CertificatePolicies([policy]),
            x509.ExtendedKeyUsage(purposes),
        ):
            builder = builder.add_extension(extension, critical=False)
    if not authority:
        names = x509.SubjectAlternativeName([x509.DNSName(CERTIFICATE_NAME)])
        builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.UnrecognizedExtension(TIMESTAMPS, timestamps()), critical=False)
    return builder.sign(
        issuer_key, hashes.SHA384() if isinstance(issuer_key, ec.EllipticCurvePrivateKey) else hashes.SHA256()
    )


def write(kind: str, folder: Path) -> None:
    """Write the chains of a kind of key and their root."""
    leaf_key = serialization.load_pem_private_key((BUILT_IN / f"key-{kind}.pem").read_bytes(), None)
    if not isinstance(leaf_key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise TypeError(f"key-{kind}.pem: expected a key of ECDSA or RSA")
    root, root_key = f"Root {kind}", new_key(kind)

    def pem(certificate: x509.Certificate) -> bytes:
        return certificate.public_bytes(serialization.Encoding.PEM)

    (folder / f"authority-{kind}.pem").write_bytes(pem(signed(root, root_key, root, root_key, max(LENGTHS) - 1)))
    for length in LENGTHS:
        issuer, issuer_key = root, root_key
        chain: list[x509.Certificate] = []
        for depth in reversed(range(length - 1)):
            subject, key = f"Intermediate {length}.{depth} {kind}", new_key(kind)
            chain.insert(0, signed(subject, key, issuer, issuer_key, depth))
            issuer, issuer_key = subject, key
        chain.insert(0, signed(CERTIFICATE_NAME, leaf_key, issuer, issuer_key, None))
        (folder / f"certificate-{kind}-chain-{length}.pem").write_bytes(b"".join(map(pem, chain)))


def main() -> None:
    """Write the chains of all kinds of keys that public authorities sign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for kind in ("p-256", "rsa-2048"):
        write(kind, folder)


if __name__ == "__main__":
    main()
