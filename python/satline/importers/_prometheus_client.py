"""Questions to a Prometheus over HTTP.

Who may ask is told by environment variables, so that no secret stands on a command line or in a recording:
SATLINE_PROMETHEUS_TOKEN (bearer), or SATLINE_PROMETHEUS_USER and SATLINE_PROMETHEUS_PASSWORD.
"""

from __future__ import annotations

import base64
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satline.errors import InputError
from satline.outside import parse_json

TIMEOUT_S = 60.0
LARGEST_BYTES = 1 << 30
TOKEN, USER, PASSWORD = (f"SATLINE_PROMETHEUS_{x}" for x in ("TOKEN", "USER", "PASSWORD"))


class TooMuch(InputError):
    """The server will not hold so many samples at once."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the secret to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Client:
    """One server.

    base
        Its URL without secrets and without a trailing slash.
    warnings
        What it warned of, each once.
    """

    base: str
    headers: Mapping[str, str]
    timeout_s: float = TIMEOUT_S
    warnings: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str] = os.environ) -> Client:
        """The server at `url`.

        Raises
        ------
        InputError
            If it is no URL, or holds a password.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise InputError(f"not a URL: {error}", hint="write http://HOST:9090") from error
        if parts.username is not None or parts.password is not None:
            raise InputError(
                "the URL holds a user's name or password, which others on this host could see",
                hint=f"set {USER} and {PASSWORD}, or {TOKEN}, and leave them out of the URL",
            )
        if not parts.hostname:
            raise InputError(f"{url}: names no host", hint="write http://HOST:9090")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        path = parts.path.split("/api/v1")[0].rstrip("/").removesuffix("/graph")
        base = f"{parts.scheme}://{host}" + (f":{port}" if port else "") + path
        headers = {"Accept": "application/json", "User-Agent": "satline"}
        if token := environment.get(TOKEN):
            headers["Authorization"] = f"Bearer {token}"
        elif user := environment.get(USER):
            secret = f"{user}:{environment.get(PASSWORD, '')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        return cls(base, headers)

    def query(self, query: str, time_s: float) -> Mapping[str, Any]:
        """/api/v1/query at an instant."""
        return self._ask("query", {"query": query, "time": f"{time_s:.3f}"})

    def query_range(self, query: str, first_s: float, last_s: float, step_s: float) -> Mapping[str, Any]:
        """/api/v1/query_range."""
        times = {"start": f"{first_s:.3f}", "end": f"{last_s:.3f}", "step": f"{step_s:.3f}"}
        return self._ask("query_range", {"query": query, **times})

    def _ask(self, what: str, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        url = f"{self.base}/api/v1/{what}"
        data = urllib.parse.urlencode(parameters).encode()
        try:
            request = urllib.request.Request(url, data=data, headers=dict(self.headers))
            opener = urllib.request.build_opener(_NoRedirect)
            with opener.open(request, timeout=self.timeout_s) as reply:
                body = reply.read(LARGEST_BYTES + 1)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except TimeoutError as error:
            raise InputError(
                f"{self.base}: no answer within {self.timeout_s:g} s", hint="ask for a shorter time range"
            ) from error
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                reason = f"no answer within {self.timeout_s:g} s"
            raise InputError(
                f"{self.base}: cannot be asked: {reason}", hint="is the address right, and does it run?"
            ) from error
        if len(body) > LARGEST_BYTES:
            raise TooMuch(f"{self.base}: its answer is above 1 GiB", hint="ask for a shorter time range")
        try:
            answer = parse_json(body)
            if not isinstance(answer, dict) or "status" not in answer:
                raise ValueError("no answer of the API")
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{url}: does not answer as Prometheus does: {error}"[:300],
                hint="give the address under which /api/v1/query answers",
            ) from error
        for warning in answer.get("warnings") or ():
            self.warnings[str(warning)[:200]] = None
        return answer

    def _refused(self, error: urllib.error.HTTPError) -> InputError:
        if error.code in (301, 302, 303, 307, 308):
            to = error.headers.get("Location", "another place")
            return InputError(f"{self.base}: sends to {to[:200]}", hint="give the address that it names")
        if error.code in (401, 403):
            return InputError(
                f"{self.base}: does not let us ask ({error.code} {error.reason})",
                hint=f"set {TOKEN}, or {USER} and {PASSWORD}, in the environment",
            )
        try:
            said = str(parse_json(error.read(65536)).get("error", ""))
        except (OSError, ValueError, AttributeError):
            said = ""
        text = f"{self.base}: {error.code} {error.reason}" + (f": {said[:300]}" if said else "")
        if error.code == 413 or "too many samples" in said or "exceeded" in said:
            return TooMuch(text, hint="ask for a shorter time range")
        return InputError(text, hint="is this the address of a Prometheus?" if error.code == 404 else "")
