"""One call of a coding agent's hook: from its JSON to one file in the spool, and what git's files say without git (W5).

Here: which file is copied, its repository, and the spool file. Not here: the process that an agent waits for (hook.py),
notes (notes.py), what was missed (history.py).
Standard library only, of it only what starts fast, and nothing of this package: `json` imports `re` and `enum`, which
takes as long as all the rest, so that its C parts are used where they are there.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# pathlib alone takes longer to import than the rest of this program takes to run.
# ruff: noqa: PTH103, PTH112, PTH113, PTH116, PTH118, PTH120, PTH208

LARGEST_FILE = 4 << 20
LARGEST_INPUT = 32 << 20
MOST_WAITING = 10_000
LEAST_FREE = 64 << 20  # bytes that stay free on the disk of the spool
SPOOL = ("spool", "agents")
ENDINGS = (".md", ".markdown")
HIDDEN_KEPT = frozenset((".claude", ".cursor", ".github"))
DEPENDENCIES = frozenset(
    ("node_modules", "bower_components", "site-packages", "dist-packages", "vendor", "third_party", "Pods")
)
_TOOLS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PORTS = {"https": "443", "http": "80", "ssh": "22", "git": "9418"}
_HEX = frozenset("0123456789abcdef")
_SHA1, _SHA256 = 40, 64


def work(data: bytes, given: dict[str, str], spool: str) -> str | None:
    """From the hook's JSON to the spool: the file's name there; None where there is nothing to keep.

    `given` are the flags: --vault, --agent. Raises OSError, ValueError: the caller logs them.
    """
    if not os.path.isdir(given["--data-dir"]):
        return None  # the installation is gone
    if len(data) > LARGEST_INPUT:
        raise ValueError(f"the input is larger than {LARGEST_INPUT} bytes; the walker finds the file once committed")
    call = parsed(data)
    asked = call.get("tool_input") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(asked, dict) or call.get("tool_name") not in _TOOLS:
        return None
    named = asked.get("file_path") or asked.get("notebook_path")
    if not isinstance(named, str) or not named.casefold().endswith(ENDINGS):
        return None
    path = os.path.realpath(os.path.join(str(call.get("cwd") or "/"), named))
    found = place_of(path, given)
    if found is None:
        return None
    root, inner = found
    record: dict[str, object] = {
        "version": 1,
        "at_ns": time.time_ns(),
        "agent": given.get("--agent", "claude-code"),
        "session": _short(call.get("session_id")),
        "tool": call.get("tool_name"),
        "root": root,
        "git": common_folder(git_folder(root) or root),
        "path": inner,
        **git_facts(root),
        **content_of(path),
    }
    return store(spool, record)


def parsed(data: bytes) -> object:
    """The value that JSON bytes hold. Raises ValueError, RecursionError."""
    text = data.decode("utf-8").strip("\ufeff \t\r\n")
    if _scan is None:
        import json

        return json.loads(text)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("the input is no JSON") from None
    if end != len(text):
        raise ValueError("the input goes on after its end")
    return value


def written(record: dict[str, object]) -> bytes:
    """A flat record of texts and numbers as JSON."""
    if _quote is None:
        import json

        return json.dumps(record).encode("ascii")
    facts = (f'"{key}": {_quote(value) if isinstance(value, str) else value}' for key, value in record.items())
    return f"{{{', '.join(facts)}}}".encode("ascii")


def place_of(path: str, given: dict[str, str]) -> tuple[str, str] | None:
    """The repository of a resolved path, and the path inside it; None for what is not mirrored."""
    if not path.casefold().endswith(ENDINGS):
        return None
    for own in (given.get("--vault"), given.get("--data-dir")):
        if own and is_inside(path, os.path.realpath(own)):
            return None
    root = repository_of(os.path.dirname(path))
    inner = os.path.relpath(path, root) if root else ""
    return (root, inner) if root and is_wanted(inner) else None


def is_inside(path: str, folder: str) -> bool:
    """Whether a resolved path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_wanted(inner: str) -> bool:
    """Whether a path of a repository is neither hidden nor part of an installed dependency."""
    folders = inner.split("/")[:-1]
    hidden = any(part.startswith(".") and part not in HIDDEN_KEPT for part in folders)
    return not hidden and not DEPENDENCIES.intersection(folders)


def repository_of(folder: str) -> str | None:
    """The nearest folder upwards that holds `.git`: a folder, or the file of a worktree or submodule."""
    while True:
        if git_folder(folder) is not None:
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def git_folder(root: str) -> str | None:
    """Where git keeps this checkout's HEAD; None when `root` is no checkout."""
    place = os.path.join(root, ".git")
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode):
        words = text_of(place, 4096)
        if not words.startswith("gitdir:"):
            return None
        place = os.path.normpath(os.path.join(root, words[len("gitdir:") :].strip()))
    return place if os.path.isfile(os.path.join(place, "HEAD")) else None


def common_folder(place: str) -> str:
    """Where the config and the refs of all worktrees are."""
    shared = text_of(os.path.join(place, "commondir"), 4096).strip()
    return os.path.normpath(os.path.join(place, shared)) if shared else place


def git_facts(root: str) -> dict[str, str]:
    """Remote (without credentials), branch and commit of a checkout, empty where unknown; git is not started."""
    place = git_folder(root)
    if place is None:
        return {"remote": "", "branch": "", "commit": ""}
    shared = common_folder(place)
    branch, commit = _head(place, shared)
    return {"remote": remote_of(text_of(os.path.join(shared, "config"), 1 << 20)), "branch": branch, "commit": commit}


def _head(place: str, shared: str) -> tuple[str, str]:
    words = text_of(os.path.join(place, "HEAD"), 4096).strip()
    if not words.startswith("ref:"):
        return "", _commit(words)
    name = words[len("ref:") :].strip()
    branch = name[len("refs/heads/") :] if name.startswith("refs/heads/") else ""
    if branch == ".invalid":  # the refs are in a reftable, which only git reads
        return "", ""
    if ".." in name.split("/") or not name.startswith("refs/"):
        return "", ""
    loose = text_of(os.path.join(shared, name), 4096).strip()
    if loose:
        return branch, _commit(loose)
    packed = "\n" + text_of(os.path.join(shared, "packed-refs"), 16 << 20)
    end = packed.find(f" {name}\n")
    return branch, _commit(packed[packed.rfind("\n", 0, end) + 1 : end]) if end > 0 else ""


def _commit(words: str) -> str:
    return words if len(words) in (_SHA1, _SHA256) and _HEX.issuperset(words) else ""


def remote_of(config: str) -> str:
    """The url of `origin`, else of the first remote, in the form of `plain_remote`; empty when there is none."""
    urls: dict[str, str] = {}
    section = ""
    for line in config.splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words[words.find('"') + 1 : words.rfind('"')] if words.startswith('[remote "') else ""
        elif section and words.partition("=")[0].strip().casefold() == "url":
            value = words.partition("=")[2].strip().strip('"')
            urls.setdefault(section, value)
    return plain_remote(urls.get("origin") or next(iter(urls.values()), ""))


def plain_remote(url: str) -> str:
    """`host/owner/name` of a remote's url, the same for https, ssh and git; never with a user, password or query.

    A folder gives its absolute path; what is neither (`../other`, `C:\\x`, `ext::...`) gives nothing.
    """
    url = url.strip()
    if "::" in url.split("/", 1)[0]:
        return ""
    if url.startswith("/"):
        return _without_git(url)
    scheme, mark, rest = url.partition("://")
    if not mark:
        return _scp_like(url)
    rest, query = (rest.replace("#", "?").partition("?"))[::2]
    if "@" in query:
        return ""  # a password may hold a question mark: what comes before it is no host
    before, at, after = rest.rpartition("@")
    rest = after if at and ("/" not in before or ":" in before) else rest  # a password may hold a slash
    host, _, path = rest.partition("/")
    host = host.casefold()
    name, _, port = host.rpartition(":")
    if name and not host.endswith("]") and not port.isdecimal():
        return ""  # no port: it may be half of a password
    host = name if name and port == _PORTS.get(scheme.casefold().removeprefix("git+")) else host
    return _without_git(f"{host}/{path.lstrip('/')}")


def _scp_like(url: str) -> str:
    """`git@host:owner/name`."""
    host, _, path = url.partition(":")
    if not path or "/" in host or "\\" in path or "@" in path.split("/", 1)[0]:
        return ""
    return _without_git(f"{host.rpartition('@')[2].casefold()}/{path.lstrip('/')}")


def _without_git(name: str) -> str:
    return name.rstrip("/").removesuffix(".git").rstrip("/")


def content_of(path: str) -> dict[str, object]:
    """The file's bytes as text, or base64 where they are no UTF-8; only its size where it is too large."""
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        data = _all(descriptor, LARGEST_FILE + 1) if status.st_size <= LARGEST_FILE else b""
    finally:
        os.close(descriptor)
    if status.st_size > LARGEST_FILE or len(data) > LARGEST_FILE:
        return {"too_large": status.st_size}
    try:
        return {"content": data.decode("utf-8")}
    except UnicodeDecodeError:
        import binascii

        return {"content_base64": binascii.b2a_base64(data, newline=False).decode("ascii")}


def store(spool: str, record: dict[str, object]) -> str:
    """One file in the spool, whole or not at all; its name. Raises OSError, ValueError when there is no room."""
    os.makedirs(spool, mode=0o700, exist_ok=True)
    folder = os.open(spool, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(folder, 0o700)
        if len(os.listdir(folder)) >= MOST_WAITING:
            raise ValueError(f"{MOST_WAITING} files wait in the spool; run the mirror of the agents")
        room = os.fstatvfs(folder)
        if room.f_bavail * room.f_frsize < LEAST_FREE:
            raise ValueError("the disk of the spool is full")
        name = f"{record['at_ns']}-{os.getpid()}.json"
        temporary = f".{name}.tmp"
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
        try:
            _write(descriptor, written(record))
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return name
    finally:
        os.close(folder)


def _all(descriptor: int, at_most: int) -> bytes:
    parts: list[bytes] = []
    left = at_most
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def text_of(path: str, at_most: int) -> str:
    """A small file of git's, as text; empty where it is none, or no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return _all(descriptor, at_most).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _short(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


class _Plain:
    """How the C scanner of `json` is asked for plain values."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan: Callable[[str, int], tuple[object, int]] | None = None
_quote: Callable[[str], str] | None = None
try:
    _fast = __import__("_json")
    _scan, _quote = _fast.make_scanner(_Plain), _fast.encode_basestring_ascii
except (ImportError, AttributeError, TypeError):
    pass  # another Python than CPython
