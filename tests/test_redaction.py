"""Redaction: every secret goes, nothing else does, and JSON stays JSON. The secrets here are made up, and put together
as the tests run, so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import json
import random
import string
import sysconfig
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import strategies
from hypothesis import example, given
from hypothesis import strategies as st
from places import LONG

from session_migrator import read_session
from session_migrator.model import Compaction, File, Image, Message, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.redaction import redact, redact_session, report
from session_migrator.sequences import Spool

_MADE = random.Random(62)


def made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A random word, with a digit in it."""
    return "".join(_MADE.choices(alphabet, k=length - 3)) + "7a9"


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE64 = base64.b64encode(_MADE.randbytes(640)).decode()


BEGIN, END = ("-" * 5 + f"{edge} PRIVATE KEY" + "-" * 5 for edge in ("BEGIN", "END"))


def armour(label: str, end: str = "\n", lines: int = 6) -> str:
    """A private key in armour."""
    body = [BASE64[start : start + 64] for start in range(0, 64 * lines, 64)]
    dashes = "-" * 5
    return end.join([f"{dashes}BEGIN {label}{dashes}", *body, BASE64[:18] + "==", f"{dashes}END {label}{dashes}"])


JWT = ".".join(["ey" + "J" + made(30), "ey" + "J" + made(60), made(43)])
TOKENS = {
    "anthropic key": ["sk-" + "ant-api03-" + made(93) + "-AA"],
    "openai key": ["sk-" + "proj-" + made(60) + "_" + made(40), "sk-" + "svcacct-" + made(58)],
    "api key": ["sk-" + made(32, HEX), "sk-" + "A" * 48, "gsk" + "_" + made(52), "hvs" + "." + made(90)],
    "aws key id": ["AK" + "IA" + made(16, UPPER).upper(), "AS" + "IA" + "FAKE" * 4],
    "google key": ["AI" + "za" + made(35), "ya" + "29." + made(60), "GOC" + "SPX-" + made(28)],
    "github token": [
        "gh" + "p_" + "A" * 36,
        "gh" + "o_" + made(36),
        "gh" + "s_" + made(36),
        "github" + "_pat_" + made(82),
    ],
    "gitlab token": ["gl" + "pat-" + made(20)],
    "slack token": ["xo" + "xb-" + made(12, string.digits) + "-" + made(24), "xa" + "pp-1-" + made(40)],
    "stripe key": ["sk" + "_live_" + made(24), "rk" + "_live_" + made(24), "wh" + "sec_" + made(32)],
    "npm token": ["np" + "m_" + made(36)],
    "pypi token": ["py" + "pi-AgEIcHlwaS5vcmc" + made(80)],
    "hugging face token": ["h" + "f_" + made(34)],
    "sendgrid key": ["S" + "G." + made(22) + "." + made(43)],
    "twilio key": ["S" + "K" + made(32, HEX)],
    "telegram token": ["123456789" + ":A" + "A" + made(33)],
    "discord token": ["M" + made(23) + "." + made(6) + "." + made(38)],
    "digitalocean token": ["do" + "p_v1_" + made(64, HEX)],
    "databricks token": ["da" + "pi" + made(32, HEX)],
    "jwt": [JWT],
    "private key": [
        armour(label) for label in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
    ],
}
SHAPED = [(kind, secret) for kind, secrets in TOKENS.items() for secret in secrets]
AROUND = [
    "{}",
    "the key is {} and it works.",
    "({})",
    "`{}`",
    'key = "{}"',
    "call('{}')",
    "export X={}\nnext",
    "x: {}\n",
    "curl -H 'X-Api: {}' https://example.org/a",
    "https://example.org/?q={}&page=2",
    "[{}]",
    "<a>{}</a>",
    "1\t{}\n2\tb",
]


@pytest.mark.parametrize(("kind", "secret"), SHAPED)
@pytest.mark.parametrize("around", AROUND)
def test_a_token_of_a_known_shape_goes_wherever_it_stands(kind: str, secret: str, around: str) -> None:
    assert redact(around.format(secret)) == (around.format(f"[REDACTED:{kind}]"), {kind: 1})


@pytest.mark.parametrize(("kind", "secret"), SHAPED)
def test_a_token_in_a_json_string_goes_and_what_is_escaped_around_it_stays(kind: str, secret: str) -> None:
    said = {
        "out": f'line\n{secret}\n"quoted"\t\\{{}}',
        "n": [1, {"deep": secret}],
        "inner": json.dumps({"v": f"\n{secret}"}),
    }
    mark = f"[REDACTED:{kind}]"
    left = {"out": f'line\n{mark}\n"quoted"\t\\{{}}', "n": [1, {"deep": mark}], "inner": json.dumps({"v": f"\n{mark}"})}
    redacted, counts = redact(json.dumps(said))
    assert json.loads(redacted) == left
    assert counts == {kind: 3}


WORD, LETTERS = "hunter" + "2fake", "correct" + "horse"
SECRET = made(40)
AWS = "wJalr/" + made(34)
NAMED = [
    # shell and .env
    ("password", "PASSWORD={}", LETTERS),
    ("password", "export DB_PASSWORD={}\necho", WORD),
    ("token", "export TOKEN={}", SECRET),
    ("password", "MYSQL_ROOT_PASSWORD={}", "p@ss,w0rd;x&y"),
    ("password", "MYSQL_PASS='{}'", LETTERS),
    ("password", "psql --password {} -h db", WORD),
    ("password", "mysql --password={} x", WORD),
    ("token", "cli --token {}", SECRET),
    ("api key", "cli --api-key={} run", SECRET),
    ("basic credentials", "curl -u bob:{} https://example.org", WORD),
    ("secret key", "AWS_SECRET_ACCESS_KEY={}", AWS),
    ("secret key", "aws_secret_access_key = {}", AWS),
    ("password", "DB_PASSWORD_PROD={}", WORD),
    ("password", "POSTGRES_PASSWORD: {}", LETTERS),
    ("password", "Password: {}", WORD + "!"),
    ("password", "sshpass -p {} ssh x", LETTERS),
    ("password", "machine git.example.org login bob password {}", LETTERS),
    ("token", "https://{}@git.example.org/x", made(40, HEX)),
    ("secret key", 'SECRET_KEY = "{}"', "django-insecure-abc$1%def^gh&ij2"),
    ("password", "DB_PASSWORD='{}'", "open sesame 123"),
    ("password", '$env:DB_PASSWORD = "{}"', WORD),
    # YAML, ini, properties
    ("password", "db:\n  password: {}\n  user: bob", WORD),
    ("password", 'password: "{}"', LETTERS),
    ("password", "password = {}", WORD),
    ("token", "auth_token: '{}'", SECRET),
    ("password", "spring.datasource.password={}", WORD),
    ("token", "//registry.example.org/:_authToken={}", SECRET),
    ("password", "<password>{}</password>", WORD),
    ("password", "Server=db;Uid=sa;Pwd={};Database=x", WORD),
    # JSON and code
    ("api key", '{{"api_key": "{}"}}', SECRET),
    ("password", '{{"password": "{}", "user": "bob"}}', LETTERS),
    ("password", '{{"password":"{}"}}', "}" + LETTERS),
    ("secret", '"client_secret": "{}"', SECRET),
    ("api key", 'apiKey: "{}",', SECRET),
    ("password", "connect(user='bob', password='{}')", LETTERS),
    ("password", 'password: str = "{}"', LETTERS),
    ("password", "const dbPassword = `{}`;", WORD),
    ("password", 'os.environ["PASSWORD"] = "{}"', WORD),
    ("token", 'token := "{}"', SECRET),
    ("secret", "'secret' => '{}'", SECRET),
    ("password", 'x = "{{\\"password\\": \\"{}\\"}}"', LETTERS),
    ("password", '"{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}"', LETTERS),
    ("password", 'password="{}"', 'a\\"b\\\\c' + WORD),
    # addresses
    ("password", "postgres://bob:{}@db.local/x", WORD),
    ("password", "redis://:{}@cache:6379/0", WORD),
    ("password", "mongodb+srv://u:{}@h", "p@ss:w0rd"),
    ("password", "postgres:\\/\\/bob:{}@db", WORD),
    ("azure signature", "https://a.blob.example.org/c?sv=1&sig={}&se=2", made(43) + "%3D"),
    # cloud
    ("secret key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core", made(86) + "=="),
    ("secret key", "Endpoint=sb://a/;SharedAccessKeyName=Root;SharedAccessKey={}", made(43) + "="),
    # headers
    ("bearer token", "Authorization: Bearer {}", SECRET),
    ("bearer token", 'curl -H "Authorization: token {}"', made(20)),
    ("bearer token", "{{'Authorization': 'Bearer {}'}}", SECRET),
    ("basic credentials", "Authorization: Basic {}", base64.b64encode(b"bob:" + WORD.encode()).decode()),
    ("basic credentials", '{{"auths": {{"r": {{"auth": "{}"}}}}}}', base64.b64encode(b"bob:" + WORD.encode()).decode()),
    ("token", "Authorization: {}", SECRET),
    ("api key", "X-API-Key: {}", SECRET),
    ("cookie", "Set-Cookie: sid={}; Path=/; HttpOnly", made(24)),
    ("cookie", "Cookie: theme=dark; session={}", made(24)),
    ("session cookie", "GET /?PHPSESSID={}", made(26)),
    ("cookie", 'document.cookie = "auth={}; path=/"', made(24)),
    ("discord token", "https://{}", "discord.com/api/webhooks/" + made(18, string.digits)[:-3] + "777/" + made(68)),
    (
        "slack token",
        "https://{}",
        "hooks.slack" + ".com/services/T" + made(8, UPPER).upper() + "/B" + made(8, UPPER).upper() + "/" + made(24),
    ),
]


@pytest.mark.parametrize(("kind", "around", "secret"), NAMED)
def test_a_value_goes_by_what_stands_before_it(kind: str, around: str, secret: str) -> None:
    for text in (around, "first\n" + around, "- " + around):
        assert redact(text.format(secret)) == (text.format(f"[REDACTED:{kind}]"), {kind: 1})


@pytest.mark.parametrize(("kind", "around", "secret"), NAMED)
def test_a_value_goes_from_a_json_string_too(kind: str, around: str, secret: str) -> None:
    secret = secret.replace(",w0rd;x&y", "w0rdxy")  # where a list goes on behind it, punctuation ends a bare value
    text = json.dumps({"before": 1, "command": f"cd x\n{around.format(secret)}\nls", "after": ["x", None]})
    redacted, counts = redact(text)
    left = f"cd x\n{around.format(f'[REDACTED:{kind}]')}\nls"
    assert json.loads(redacted) == {"before": 1, "command": left, "after": ["x", None]}
    assert counts == {kind: 1}


def test_the_secret_beside_an_aws_key_id_goes_with_it() -> None:
    key_id = "AK" + "IA" + "FAKE" * 4
    left = "[REDACTED:aws key id],[REDACTED:aws secret key]\n"
    assert redact(f"{key_id},{AWS}\n") == (left, {"aws key id": 1, "aws secret key": 1})


@pytest.mark.parametrize(
    "text",
    [
        armour("PRIVATE KEY", "\\n"),
        armour("RSA PRIVATE KEY", "\\\\n"),
        armour("PRIVATE KEY", "\r\n    "),
        armour("PRIVATE KEY", " "),
        armour("EC PRIVATE KEY", "\n     7\t"),
        armour("EC PRIVATE KEY", "\n     7→"),
        armour("RSA PRIVATE KEY").replace(
            "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1
        ),
    ],
)
def test_a_private_key_is_one_mark_however_its_lines_end(text: str) -> None:
    assert redact(f"a {text} z") == ("a [REDACTED:private key] z", {"private key": 1})


def test_a_private_key_in_several_strings_loses_its_lines_and_the_strings_stay() -> None:
    lines = armour("PRIVATE KEY").split("\n")
    redacted, counts = redact(json.dumps(lines))
    left = json.loads(redacted)
    assert [left[0], left[-1]] == [lines[0], lines[-1]]
    assert set(left[1:-1]) == {"[REDACTED:private key]"}
    assert counts == {"private key": 1}


@pytest.mark.parametrize("end", ["\n", "\\n", "\n   12→"])
def test_a_private_key_that_is_cut_off_loses_the_lines_that_are_there(end: str) -> None:
    cut = armour("PRIVATE KEY", end).split("=", 1)[0]
    redacted, counts = redact(f"$ head key.pem{end}{cut}{end}and then prose goes on, with words of any length.")
    assert BASE64[:16] not in redacted
    assert redacted.endswith("and then prose goes on, with words of any length.")
    assert counts == {"private key": 1}


LEFT_ALONE = [
    # placeholders
    "API_KEY=<your key>",
    'api_key = "your-api-key-12345678"',
    "PASSWORD=xxx",
    "password: ${DB_PASSWORD}",
    "PASSWORD=$PASSWORD1",
    'password = "{{ vault_password1 }}"',
    "TOKEN=***",
    "PASSWORD=changeme",
    'password: "********"',
    "sk-" + "x" * 40,
    "gh" + "p_" + "x" * 36,
    "export OPENAI_API_KEY=sk-...",
    "postgres://user:password@localhost/db",
    "postgres://bob:${PW}@db/x",
    "postgres://bob:<pw1>@db/x",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: Bearer {token}",
    "password=%s",
    "password = '%(pw1)s'",
    "TOKEN=",
    'password: ""',
    "PASSWORD=''",
    "password: null",
    '"token": null',
    "password=True",
    # code
    "password = get_password()",
    "token: str",
    "DB_PASSWORD: SecretStr",
    "DB_PASSWORD: Optional[str] = None",
    "def f(api_key): pass",
    "def f(password: str, token2: str | None = None): ...",
    "login(user, password=password1)",
    "password=settings.DB_PASSWORD2",
    'token = os.environ["TOKEN_2"]',
    "api_key: process.env.API_KEY_2,",
    'password = config["db"]["password2"]',
    "if password == 'hunter22':"[:14],
    "token = next(tokens2)",
    "secret_key=SECRET_KEY_V2",
    "self.token = token",
    "const token: string;",
    "interface A { password?: string }",
    "password = auth[2]",
    "private_key: Ed25519PrivateKey",
    "Token::Identifier2(name)",
    "PKCS7PrivateKey = 1",
    "user, password = pair1[0], pair1[1]",
    "$password = $config2->{password};",
    "$this->token = $request2->header(X_TOKEN_12345678);",
    'getpass("Password: ")',
    "max_tokens = 4096",
    '"max_tokens": 4096',
    "token_count: 12345678",
    'eos_token = "<|im_end|>"',
    'next_token = "' + made(40) + '"',
    "tokens: 12,345",
    '{"password": 12345678, "token": true}',
    '<input type="password" name="password">',
    'label: "Password", type: "password"',
    "PASSWORD_FILE=/run/secrets/db2",
    "PASSWORD=/run/secrets/db_password",
    "PWD=/home/dev/toy-shop2",
    "TOKEN_URL=https://example.org/a1b2c3d4",
    'token = "https://example.org/oauth2/v2/token1"',
    "sk-learn-is-not-the-name-of-scikit-learn",
    ".sk-circle-fade-dot-spinner-animation {}",
    f"x = '{BEGIN}' in text",
    f"Put it between {BEGIN} and {END} lines.",
    # prose
    "the password is wrong",
    "Password: must be at least 8 characters",
    '"password": "Enter your new password2"',
    "token: the smallest unit",
    "a secret: nobody knows",
    "Bearer authentication is needed",
    "Basic authentication is off",
    "The key: use 2 tokens",
    "cookie: what a site stores",
    "see http://example.org:8080/@user",
    "mail bob@example.org",
    "time 10:20@30",
    "git@github.com:org/repo2.git",
    "docker run -u 1000:1000 x",
    # ids and data
    "toolu_" + made(24),
    "call_" + made(24),
    "msg_" + made(24),
    "a0000000-0000-4000-8000-000000000309",
    "commit " + made(40, HEX),
    "sha256:" + made(64, HEX),
    '"sessionId": "' + made(32) + '"',
    "req_" + made(24),
    "data:image/png;base64," + BASE64,
    BASE64,
    "resp_" + made(50, HEX),
    "JSESSIONID=a0000000-0000-4000-8000-000000000309",
    "integrity sha512-" + BASE64[:86] + "==",
    "AC" + made(32, HEX),
    "rs_" + made(48),
    "-----BEGIN CERTIFICATE-----\n" + BASE64[:64] + "\n-----END CERTIFICATE-----",
    "ssh-ed25519 " + BASE64[:68] + " dev@toy",
    "eyJ" + made(40),
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_no_secret_stays(text: str) -> None:
    for given_text in (text, json.dumps({"text": f"a\n{text}\nz"}), f"  {text},"):
        redacted, counts = redact(given_text)
        assert redacted is given_text
        assert not counts


def test_a_recorded_session_has_no_secret_and_none_is_found() -> None:
    session = read_session(LONG)
    assert redact_session(session) == (session, Counter())
    text = LONG.read_text("utf-8")
    assert redact(text) == (text, Counter())


def test_in_the_standard_library_only_passwords_in_quotes_are_found() -> None:
    lines: list[tuple[str, str]] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib", "lib2to3"}.isdisjoint(path.parts):
            text = path.read_text("utf-8", errors="replace")
            redacted = redact(text)[0]
            lines += [pair for pair in zip(text.split("\n"), redacted.split("\n"), strict=True) if pair[0] != pair[1]]
    assert len(lines) <= 3
    for before, after in lines:  # as in urllib's examples: a user's password written out
        assert "passw" in before
        assert "'[REDACTED:password]'" in after


# Pieces that meet in every order: names, signs, quotes, escapes and secrets.
PIECES = st.sampled_from(
    [
        "password",
        "PASSWORD",
        "token",
        "api_key",
        "secret",
        '"',
        "'",
        "`",
        "\\",
        '\\"',
        '\\\\"',
        "\\n",
        "\n",
        " ",
        "=",
        ": ",
        ":",
        "--",
        ",",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "</",
        "(",
        ")",
        "@",
        "://",
        "://u:",
        "$",
        ";",
        "&",
        "cookie: a=",
        "Authorization: ",
        "Bearer ",
        "Basic ",
        "-u a:",
        "sig=",
        "?sig=",
        "[REDACTED:",
        "[REDACTED:password]",
        "xxx",
        "12345678",
        "null",
        "str",
        WORD,
        LETTERS,
        SECRET,
        JWT,
        AWS,
        armour("PRIVATE KEY"),
        BASE64[:40],
        armour("PRIVATE KEY", "\\n"),
        armour("PRIVATE KEY")[:100],
        BEGIN,
        "-----END PRIVATE KEY-----",
        "-----",
        "日本",
        "\ud800",
        "u0041",
        "n",
        "t",
        "_",
        "-",
        "a",
        *(secrets[0] for secrets in TOKENS.values()),
    ]
)
LOADED = st.lists(PIECES, max_size=14).map("".join)


@given(LOADED | st.text())
@example("[REDACTED:github token]=" + SECRET)
@example(BEGIN + 'passwordpassword"' + armour("PRIVATE KEY") + END)
@example("password=" + LETTERS + "[REDACTED:jwt]" + WORD)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redacted, counts = redact(text)
    again, more = redact(redacted)
    assert (again, more) == (redacted, Counter())
    assert (redacted == text) == (not counts)


def shape(value: Any) -> Any:
    """A JSON value with its texts made equal."""
    if isinstance(value, list):
        return [shape(item) for item in value]
    if isinstance(value, tuple):  # the pairs of an object
        return tuple(("", shape(item)) for _, item in value)
    return "" if isinstance(value, str) else value


LOADED_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(int("1234567890" * 4)) | LOADED,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LOADED | PIECES, inner, max_size=4),
    max_leaves=8,
)


@given(LOADED_JSON, st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :\t")]))
@example(["password=", 12345678, "x"], True, (",", ":"))
@example({"password=": 12345678, "b": "x"}, True, (",", ":"))
@example({"a": "password='" + LETTERS, "b": "it's"}, True, (", ", ": "))
@example({"token=\\": SECRET}, True, (",", ":"))
@example([BEGIN, int("1234567890" * 4), END], True, (",", ":"))
def test_json_stays_json_of_the_same_structure(value: Any, plain: bool, marks: tuple[str, str]) -> None:
    text = json.dumps(value, ensure_ascii=not plain, separators=marks)
    redacted, _ = redact(text)
    parsed = json.loads(redacted, object_pairs_hook=tuple)
    assert shape(parsed) == shape(json.loads(text, object_pairs_hook=tuple))


@given(LOADED_JSON)
@example({"Authorization: 'password": int("1234567890" * 4)})
def test_json_within_json_stays_json(value: Any) -> None:
    redacted, _ = redact(json.dumps({"arguments": json.dumps(value)}))
    inner = json.loads(redacted)["arguments"]
    assert shape(json.loads(inner, object_pairs_hook=tuple)) == shape(
        json.loads(json.dumps(value), object_pairs_hook=tuple)
    )


MEGABYTE = 1 << 20
PATHOLOGICAL = [
    "a",
    "=",
    '"',
    "\\",
    "-",
    " ",
    "[",
    "password=",
    'password="',
    "password='",
    'password=\\"',
    "password :",
    "token: a",
    "--token ",
    "sk-",
    "-----BEGIN",
    f"{BEGIN}\n",
    f"{BEGIN}\n{BASE64[:64]}\n",
    "eyJ",
    "eyJaaaaaaaaaa.",
    "://",
    "://a:b",
    "cookie: a=",
    "Bearer ",
    "AKIA",
    "1234567890:AA",
    "-u a:",
    "M" * 27 + ".",
    '{"password":',
    "password=\\\\",
    "a_pass",
    "?sig=a",
]


@pytest.mark.parametrize("piece", PATHOLOGICAL)
def test_a_megabyte_of_the_worst_is_no_slower_than_text(piece: str) -> None:
    text = piece * (MEGABYTE // len(piece))
    start = time.process_time()
    redact(text)
    assert time.process_time() - start < 10


def test_long_base64_deep_json_and_long_values_take_no_longer() -> None:
    data = base64.b64encode(random.Random(1).randbytes(MEGABYTE)).decode()
    start = time.process_time()
    assert redact(data)[1] == {}
    assert redact("[" * MEGABYTE + "]" * MEGABYTE)[1] == {}
    assert redact('password="' + data) == ('password="[REDACTED:password]', {"password": 1})
    assert redact("TOKEN=" + data) == ("TOKEN=[REDACTED:token]", {"token": 1})
    assert time.process_time() - start < 15


def test_a_report_is_one_line_the_most_frequent_first() -> None:
    assert report(Counter({"password": 1, "github token": 2})) == "3 secrets redacted: 2 github token, 1 password"
    assert report({"jwt": 1}) == "1 secret redacted: 1 jwt"
    assert report(Counter()) == "no secrets redacted"


def test_every_text_of_a_session_is_redacted_and_nothing_else_of_it() -> None:
    token = TOKENS["github token"][0]
    mark = "[REDACTED:github token]"

    def build(token: str, word: str) -> Session:
        call = ToolCall(
            id=TOKENS["github token"][1], name="Bash",
            arguments={
                "command": f"echo {token}", "env": [{"password": word, "DB_TOKEN": word}, token], "n": 1,
                "next_token": "abc", "api_key": "$KEY",
            },
        )  # fmt: skip
        results = ToolResult(call_id=call.id, parts=(Text(text=token), Image(data=TOKENS["npm token"][0])))
        parts = (
            Text(text=token), Thinking(text=token, signature=TOKENS["jwt"][0]), call, results,
            Compaction(summary=token),
            ToolCall(id="c2", name="apply_patch", arguments=f"+{token}"), File(name=TOKENS["npm token"][0]),
        )  # fmt: skip
        message = Message(
            role="assistant", parts=parts, id=TOKENS["npm token"][0], timestamp="2026-03-02T09:00:00.000Z"
        )
        return Session(
            id=TOKENS["npm token"][0], agent="codex", messages=(message,), earlier=(message,), title=token,
            git={"repository_url": f"https://bob:{token}@example.org/r", "branch": "main"}, cwd="/home/dev",
        )  # fmt: skip

    redacted, counts = redact_session(build(token, "abc"))
    expected = build(mark, "abc").to_dict()
    for messages in (expected["messages"], expected["earlier"]):
        (call,) = (part for part in messages[0]["parts"] if part.get("name") == "Bash")
        call["arguments"]["env"][0] = {"password": "[REDACTED:password]", "DB_TOKEN": "[REDACTED:token]"}
    assert redacted.to_dict() == expected
    assert counts == {"github token": 16, "password": 2, "token": 2}
    assert redact_session(redacted) == (redacted, Counter())


@given(strategies.sessions)
def test_a_session_without_secrets_comes_back_as_it_is(session: Session) -> None:
    redacted, counts = redact_session(session)
    assert (redacted is session) == (not counts)
    assert [[(part.id) for part in message.calls] for message in redacted.messages] == [
        [part.id for part in message.calls] for message in session.messages
    ]


def test_a_long_session_goes_message_by_message_to_disk() -> None:
    token = TOKENS["github token"][0]
    asked: list[int] = []

    class Long(Spool[Message]):
        def __getitem__(self, index: Any) -> Any:
            asked.append(index)
            return super().__getitem__(index)

    messages = Long()
    for number in range(12):
        messages.append(Message(role="user", parts=(Text(text=f"{number} {token} " + "word " * 200_000),)))
    redacted, counts = redact_session(Session(id="s", agent="codex", messages=messages))
    assert isinstance(redacted.messages, Spool)
    assert asked[:12] == list(range(12))
    assert counts == {"github token": 12}
    assert redacted.messages[11].text.startswith("11 [REDACTED:github token] word")
