"""A large language model behind any ``/chat/completions``: which one, by the environment; and one way to ask it.

The connection is the ``openai`` SDK's (extra ``llm``), which is loaded when the first question is put. It retries what
may pass: a busy or broken service, in the time it names, and a connection that fails. An answer is asked for as a
stream, since some models give no other and a long silence is taken for a failure by what lies between; one that comes
whole will do. An answer that cannot be used (empty, refused, cut off, repeating itself) is asked for again here.

Defaults and error shapes are those of the vendors' references and of the SDK 3.57 (November 2026).
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from .errors import FormatError, Unavailable, UsageError
from .jsondata import Record, as_list, as_object, as_text, loads
from .llm_answers import BROKE_OFF, answered, joined, wrong

if TYPE_CHECKING:
    import openai

_OWN = "SESSION_MIGRATOR_LLM"
# Whose key may be used where none of our own is set: the key, a base URL's variable, its default, the model.
_VENDORS = (
    ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "https://api.deepseek.com", "deepseek-flash"),
    ("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1", "gpt-5.4-mini"),
)

_PATIENCE = 300.0  # seconds without a sign of an answer: a local model may take minutes to read a part
# Seconds and bytes that an answer may take: 16,384 tokens, one in a tenth of a second or an event of 2 kB each.
_LONGEST, _MOST_BYTES = 1_800.0, 32_000_000
_RETRIES = 2  # of a request that failed
_ATTEMPTS = 3  # at an answer that can be used
# The headers that others than OpenAI are sent: the SDK adds what it finds in the environment for OpenAI. By the last
# one it tells that the answer is wanted as it is.
_HEADERS = {
    "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
    "x-stainless-raw-response",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is asked: the address before ``/chat/completions`` or ``/embeddings``, the model's id there, the
    key, empty where a local server needs none. Showing it does not show the key."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """The host as it is shown, with the port where one is named, and nothing else of the address."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def is_local(self) -> bool:
        """Whether the address is of this machine or a private network."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(host).is_private
        except ValueError:
            return "." not in host or host.endswith((".localhost", ".local", ".internal"))

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI itself is asked, in whatever region."""
        return (urlsplit(self.base_url).hostname or "").endswith("api.openai.com")

    @property
    def limit(self) -> str:
        """What the limit of an answer is called there: OpenAI's models do not take the name that all others know."""
        host = urlsplit(self.base_url).hostname or ""
        return "max_completion_tokens" if self.is_openai or host.endswith(".openai.azure.com") else "max_tokens"


def configured(variables: Mapping[str, str] | None = None) -> Endpoint:
    """The model that the environment names: ``SESSION_MIGRATOR_LLM_API_KEY`` with ``..._BASE_URL`` and ``..._MODEL``
    (a local address needs no key); else by ``DEEPSEEK_API_KEY``, else by ``OPENAI_API_KEY``, where ``..._MODEL``
    may name another of the vendor's. A key goes to its own vendor alone. Raises UsageError where none is set, or not
    enough."""
    given = os.environ if variables is None else variables
    if found := named_by(_OWN, given):
        return found

    def value(name: str) -> str:
        return given.get(name, "").strip()

    model = value(f"{_OWN}_MODEL")
    for name, base, default, usual in _VENDORS:
        if key := value(name):
            return Endpoint(
                key=_checked(key, name), base_url=_address(value(base) or default, base), model=model or usual
            )
    raise UsageError(
        "no LLM is set up: there is no key in the environment",
        f"set DEEPSEEK_API_KEY or OPENAI_API_KEY, or {_OWN}_BASE_URL and {_OWN}_MODEL for any other (with"
        f" {_OWN}_API_KEY, unless it is local)",
    )


def named_by(prefix: str, variables: Mapping[str, str]) -> Endpoint | None:
    """The service of one's own choice that the variables ``PREFIX_BASE_URL``, ``..._MODEL`` and ``..._API_KEY`` name (a
    local address needs no key); None where neither address nor key is set. Raises UsageError where not enough is."""
    key, address, model = (variables.get(f"{prefix}_{name}", "").strip() for name in ("API_KEY", "BASE_URL", "MODEL"))
    if not key and not address:
        return None
    if not address or not model:
        missing = f"{prefix}_{'MODEL' if address else 'BASE_URL'}"
        raise UsageError(f"{missing} is not set", "set it; the address is such as http://localhost:11434/v1 (Ollama)")
    found = Endpoint(
        base_url=_address(address, f"{prefix}_BASE_URL"), model=model, key=_checked(key, f"{prefix}_API_KEY")
    )
    if not key and not found.is_local:
        raise UsageError(f"no key for {found.host} is set", f"set {prefix}_API_KEY")
    return found


def _address(address: str, variable: str) -> str:
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{variable} holds no address", "set it to one, such as http://localhost:11434/v1")
    return address.rstrip("/").removesuffix("/chat/completions").removesuffix("/embeddings")


def _checked(key: str, variable: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{variable} holds no key: keys have no spaces and nothing but ASCII", "copy the key again")
    return key


def check_installed() -> None:
    """Raises UsageError where the SDK is not installed."""
    if find_spec("openai") is None:
        problem = "the package openai, which asks LLMs, is not installed"
        raise UsageError(problem, 'pip install "session-migrator[llm]"')


class _Endless(BaseException):
    """An answer that takes more than any may. No Exception, since the SDK asks again after each of those."""


class Connection:
    """A way to ask one model, from several threads at once. ``longest``: tokens that an answer may have, its
    reasoning included. ``requests``, ``read`` and ``written`` say how many requests were sent and how many tokens the
    model read and wrote in them, as far as it says so: the ones in vain are counted too."""

    def __init__(self, endpoint: Endpoint, longest: int) -> None:
        """Raises UsageError where the SDK is not installed. Nothing is sent."""
        self.endpoint = endpoint
        self.requests = self.read = self.written = 0
        self._options: dict[str, Any] = {
            endpoint.limit: longest, "stream_options": {"include_usage": True}, "stream": True,
        }  # fmt: skip
        self._counting = threading.Lock()
        self._client = _client(endpoint)

    def close(self) -> None:
        """End it; what is still being asked fails."""
        self._client.close()

    def ask(self, instructions: str, text: str, problem: Callable[[str], str | None], least: int = 0) -> str:
        """What the model answers. ``problem`` says what is wrong with an answer, if anything is; such a one, and one
        that is empty, refused, cut off or repeats itself, is asked for again, three times in all. ``least``: tokens
        that the model must have read, since some servers cut a text in silence.

        Raises Unavailable: no message of it holds the key, the text or anything the service said."""
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        wrong = ""
        for attempt in range(_ATTEMPTS):
            answer, wrong, read = self._answer(messages)
            if not attempt and 0 < read < least:  # what is sent again may be counted less, where a server remembers it
                what = f"read {read:,} tokens of at least {least:,}: the window there is smaller than known"
                raise self._failed(what, "enlarge it (Ollama: OLLAMA_CONTEXT_LENGTH), or " + _REAL_WINDOW)
            wrong = wrong or problem(answer)
            if not wrong:
                return answer
        raise Unavailable(
            f"{self.endpoint.model} at {self.endpoint.host} gave no answer of use: {wrong}",
            f"try once more, or another model ({_OWN}_MODEL)",
        )

    def _answer(self, messages: list[dict[str, str]]) -> tuple[str, str, int]:
        """An answer, what is wrong with it, and the tokens that were read for it, 0 where that is not said."""
        body = self._sent(messages)
        if body is None:
            return "", BROKE_OFF, 0
        choices = as_list(body.get("choices")) or []
        choice = as_object(choices[0]) if choices else None
        message = as_object(choice.get("message")) if choice else None
        if choice is None or message is None:
            raise self._failed("answered with something else than a completion", f"check {_OWN}_BASE_URL")
        usage = as_object(body.get("usage")) or {}
        read = _number(usage.get("prompt_tokens"))
        with self._counting:
            self.read += read
            self.written += _number(usage.get("completion_tokens"))
        text = answered(message.get("content"))
        return text, wrong(text, choice.get("finish_reason"), message.get("refusal")), read

    def _sent(self, messages: list[dict[str, str]]) -> Record | None:
        """The document that a request is answered with; None where the answer broke off."""
        import openai

        with self._counting:
            self.requests += 1
            options = dict(self._options)
        ask: Any = self._client.chat.completions.with_streaming_response.create
        try:
            with ask(model=self.endpoint.model, messages=messages, **options) as response:
                if _is_stream(response.headers):
                    return _assembled(response.parse())
                content = response.read()
        except openai.APIStatusError as error:
            if error.status_code in (400, 422) and (name := _named(_what_it_says(error.body), options)):
                with self._counting:
                    self._options.pop(name, None)
                return self._sent(messages)
            self._refused(error)
        except openai.APITimeoutError:
            failed = self._failed(f"did not answer within {_PATIENCE:g} seconds", "try again later, or a faster model")
        except _Endless as error:
            failed = self._failed(str(error), "try another model, or another server of it")
        except Exception as error:  # noqa: BLE001  (the SDK's own, and whatever an answer makes it trip over)
            why = getattr(error.__cause__, "__class__", type(error)).__name__
            self.requests -= 1
            failed = self._failed(f"cannot be reached ({why})", f"check that it runs, the network, and {_OWN}_BASE_URL")
        else:
            try:
                body = as_object(loads(content))
            except FormatError:
                body = None
            if body is not None:
                return body
            failed = self._failed("did not answer with JSON", f"check {_OWN}_BASE_URL: it often ends in /v1")
        raise failed  # outside of the handler: the SDK's error holds what the service said

    def _refused(self, error: openai.APIStatusError) -> NoReturn:
        """Raise what a status means."""
        status, headers, said = error.status_code, error.response.headers, _what_it_says(error.body)
        code, model = f"answered {status}", self.endpoint.model
        if status in (401, 403):
            failed = self._failed(f"{code}: it does not accept the key", "check the key in the environment")
        elif status in (400, 404, 422) and _UNKNOWN_MODEL.search(said):
            failed = self._failed(f"{code}: it has no model {model!r}", f"name one of its models in {_OWN}_MODEL")
        elif status in (400, 413, 422) and _TOO_LONG.search(said):
            failed = self._failed(f"{code}: the request is too long for {model!r}", _REAL_WINDOW)
        elif status == 404:
            failed = self._failed(f"{code}: it has no /chat/completions there", f"check {_OWN}_BASE_URL")
        elif status == 402 or (status == 429 and "insufficient_quota" in said):
            failed = self._failed(f"{code}: the account has no credit", "top it up, or set another key")
        elif status == 429:
            seconds = _seconds(headers.get("retry-after"))
            wait = f"in {seconds:,} seconds" if seconds else "in a while"
            failed = self._failed(f"{code}: it is asked too often", f"again {wait}; finished parts are kept")
        elif status >= 500:
            failed = self._failed(f"{code}: it is out of order", "again in a while; finished parts are kept")
        elif 300 <= status < 400:
            failed = self._failed(f"{code}, and redirects are not followed", f"check {_OWN}_BASE_URL")
        else:
            failed = self._failed(f"{code}: it does not take the request", f"try another model ({_OWN}_MODEL)")
        raise failed from None

    def _failed(self, what: str, remedy: str) -> Unavailable:
        return Unavailable(f"{self.endpoint.host} {what}", remedy)


_REAL_WINDOW = 'give the window that it really has in ~/.session-migrator/models.json: {"NAME": {"context": 32768}}'
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|model[^.]{0,200}(?:not exist|not found|not a valid model|unknown|not supported)"
    r"|(?:unknown|invalid|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|size|window)|maximum context|too (?:long|large|many tokens)",
    re.IGNORECASE,
)


def _named(said: str, options: Mapping[str, Any]) -> str | None:
    """The option that an error names: not every server knows each of them, or allows an answer that long."""
    return next((name for name in options if re.search(rf"\b{name}\b", said)), None)


def _is_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith("text/event-stream")


def _assembled(chunks: Iterable[object]) -> Record | None:
    """What a stream would have been as a document; None where it broke off. Raises APITimeoutError."""
    import openai

    contents: list[str] = []
    refusal, finish = "", None
    usage: Record = {}
    try:
        for chunk in chunks:
            record: Record = chunk.to_dict(warnings=False) if isinstance(chunk, openai.BaseModel) else {}
            usage = as_object(record.get("usage")) or usage
            for given in as_list(record.get("choices")) or []:
                choice = as_object(given) or {}
                delta = as_object(choice.get("delta")) or {}
                contents.append(joined(delta.get("content")))
                refusal += as_text(delta.get("refusal")) or ""
                finish = as_text(choice.get("finish_reason")) or finish
    except openai.APITimeoutError:
        raise
    except (openai.APIError, ValueError, RecursionError):  # an error in its midst; a piece that is no JSON, or too deep
        return None
    message = {"content": "".join(contents), "refusal": refusal}
    return {"choices": [{"message": message, "finish_reason": finish or "error"}], "usage": usage}


def _client(endpoint: Endpoint) -> openai.OpenAI:
    check_installed()
    import openai

    def cleaned(request: Any) -> None:
        for name in [name for name in request.headers if name.lower() not in _HEADERS]:
            del request.headers[name]
        if endpoint.key:
            request.headers["Authorization"] = f"Bearer {endpoint.key}"

    def read(response: Any) -> None:
        # By these all is read, by the SDK too: as it comes, and unpacked.
        response.iter_raw, response.iter_bytes = _limited(response.iter_raw), _limited(response.iter_bytes)
        if not _is_stream(response.headers):
            response.read()  # here, where the SDK tells a failure as its own

    hooks = {"request": [] if endpoint.is_openai else [cleaned], "response": [read]}
    # A local server is not behind the proxy of the environment; and where a redirect leads, key and text have no
    # business.
    http = openai.DefaultHttpxClient(follow_redirects=False, trust_env=not endpoint.is_local, event_hooks=hooks)
    return openai.OpenAI(
        api_key=endpoint.key or "none", base_url=endpoint.base_url, timeout=_PATIENCE, max_retries=_RETRIES,
        http_client=http,
    )  # fmt: skip


def _limited(pieces: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
    """The same pieces of an answer, as long as they are not too many or too late; then _Endless is raised."""
    until = time.monotonic() + _LONGEST

    def within(*options: Any) -> Iterator[bytes]:
        size = 0
        for piece in pieces(*options):
            size += len(piece)
            if size > _MOST_BYTES:
                raise _Endless(f"answered with more than {_MOST_BYTES:,} bytes")
            if time.monotonic() > until:
                raise _Endless(f"came to no end within {_LONGEST:g} seconds")
            yield piece

    return within


def _what_it_says(body: object) -> str:
    """The code and the message of an error, as one text to search in, its first 10,000 characters."""
    error = as_object(body) or {}
    error = as_object(error.get("error")) or error
    said = [error.get(name) for name in ("code", "type", "message")] if error else [body]
    return " ".join(as_text(each) or "" for each in said)[:10_000]


def _seconds(given: str | None) -> int | None:
    """The seconds of a Retry-After, which may be a date."""
    if given and re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]+)?", given):
        return round(float(given)) or 1
    try:
        until = parsedate_to_datetime(given or "")
        return max(1, round((until - datetime.now(until.tzinfo)).total_seconds()))
    except (ValueError, OverflowError, IndexError, TypeError):  # email.utils stumbles in all these ways
        return None


def _number(value: Any) -> int:
    """A count of tokens, 0 where it is none that a request can have."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000_000 else 0
