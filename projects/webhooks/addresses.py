"""Check webhook URLs: they must use TLS and a public IP address, and the connection uses the checked address."""

import asyncio
import socket
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from memorybank.exceptions import InvalidInput

#: Prefixes of IPv6 addresses that contain an IPv4 address: translation (NAT64), tunnels (6to4, Teredo).
TRANSLATED = [ip_network(prefix) for prefix in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]
MAX_URL_CHARACTERS = 500


class Forbidden(Exception):
    """The URL is invalid, or an IP address of its host is not public."""


@dataclass(frozen=True, slots=True)
class Place:
    """A webhook's URL with the IP address to connect to: a second look-up of the name could give another one.

    ``host`` is the name for TLS, ``header`` the value of the header ``Host``.
    """

    url: str
    host: str
    header: str


def require_valid(url: str) -> SplitResult:
    """Validate a webhook's URL and return its parts; raise :class:`InvalidInput`. Does not look up the host name."""
    try:
        parts = urlsplit(url)
        _port = parts.port
    except ValueError:
        raise InvalidInput("url: this is no address.") from None
    schemes = ("https", "http") if settings.WEBHOOK_PRIVATE_ADDRESSES else ("https",)
    if parts.scheme not in schemes or not parts.hostname or len(url) > MAX_URL_CHARACTERS or not url.isprintable():
        raise InvalidInput(f"url: an {schemes[0]} address of at most {MAX_URL_CHARACTERS} characters.")
    if parts.username is not None or parts.password is not None or parts.fragment or " " in url:
        raise InvalidInput("url: without user name, password and fragment.")
    try:
        literal = ip_address(parts.hostname)
    except ValueError:
        return parts
    if not is_allowed(str(literal)):
        raise InvalidInput("url: the address is not public.")
    return parts


def is_allowed(address: str) -> bool:
    """Whether a webhook may use an IP address: a public one, or any if ``WEBHOOK_PRIVATE_ADDRESSES`` is on."""
    if settings.WEBHOOK_PRIVATE_ADDRESSES:
        return True
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return (
        ip.is_global and not ip.is_multicast and not any(ip in net for net in TRANSLATED if net.version == ip.version)
    )


async def find(url: str) -> Place:
    """Look up a URL's host. Raises :class:`Forbidden` unless all its IP addresses are allowed, or ``OSError``."""
    try:
        parts = require_valid(url)
    except InvalidInput as error:
        raise Forbidden(str(error)) from None
    assert parts.hostname is not None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    if not addresses or not all(map(is_allowed, addresses)):
        raise Forbidden("the address is not public")
    numeric = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    at_ip = parts._replace(netloc=f"{numeric}:{port}").geturl()
    return Place(at_ip, parts.hostname, parts.netloc)
