"""Reading and replacing files without following a link out of the vault, and without half-written results.

Here: system calls on one file below a root. Not here: which files, or what is in them. POSIX only.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat as modes
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS))
_LEFTOVER = re.compile(r"\.kos-\d+-[0-9a-f]{8}\.tmp")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def parent_of(root: Path, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder of `path` (relative to `root`) and the file's name. No folder on the way may be a link: OSError.

    Each folder is opened inside the one before, so that a folder swapped for a link meanwhile leads nowhere. The root
    itself may be a link. `create` makes missing folders. Raises ValueError for a path that leaves the root.
    """
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or parts[0] == "/":
        raise ValueError(f"not a path inside the vault: {path!r}")
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, parts[-1]
    finally:
        os.close(folder)


def open_file(folder: int, name: str) -> int:
    """A descriptor for reading. Never follows a link, never blocks on a pipe. Raises OSError."""
    return os.open(name, _READ, dir_fd=folder)


def read_descriptor(descriptor: int, size: int, at_most: int) -> bytes:
    """The bytes of an open file that is expected to hold `size`; stops soon after `at_most`."""
    parts: list[bytes] = []
    got = 0
    while got <= at_most and (part := os.read(descriptor, max(size + 1, 1 << 16))):
        parts.append(part)
        got += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_all(folder: int, name: str, size: int) -> bytes | None:
    """The file's bytes; None when it did not hold still while it was read. Raises OSError."""
    descriptor = open_file(folder, name)
    try:
        before = os.fstat(descriptor)
        data = read_descriptor(descriptor, size, size)
        return data if same(before, os.fstat(descriptor)) and len(data) == before.st_size else None
    finally:
        os.close(descriptor)


def same(left: os.stat_result, right: os.stat_result) -> bool:
    """Whether the two show the same file in the same state."""
    return (left.st_dev, left.st_ino, left.st_size, left.st_mtime_ns, left.st_ctime_ns) == (
        right.st_dev,
        right.st_ino,
        right.st_size,
        right.st_mtime_ns,
        right.st_ctime_ns,
    )


def write_beside(
    folder: int, temp: str, data: bytes, *, like: os.stat_result, like_name: str, mtime_ns: int, stale_s: float
) -> bool:
    """A new file with `data`, flushed, with mode, owner, attributes of another. False: someone is writing it now."""
    try:
        descriptor = os.open(temp, _NEW, 0o600, dir_fd=folder)
    except FileExistsError:
        age = time.time() - os.stat(temp, dir_fd=folder, follow_symlinks=False).st_ctime
        if age < stale_s:
            return False
        os.unlink(temp, dir_fd=folder)  # left by a crash
        descriptor = os.open(temp, _NEW, 0o600, dir_fd=folder)
    try:
        try:
            _write(descriptor, data)
            if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, like.st_mode & 0o7777)
            _copy_attributes(folder, like_name, descriptor)
            os.utime(descriptor, ns=(like.st_atime_ns, mtime_ns))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        os.unlink(temp, dir_fd=folder)
        raise
    return True


def replace_if_unchanged(folder: int, temp: str, name: str, before: os.stat_result) -> bool:
    """Rename `temp` over `name` if that is still the file seen `before`; else remove `temp` and answer False."""
    renamed = False
    try:
        if same(before, os.stat(name, dir_fd=folder, follow_symlinks=False)):
            os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
            renamed = True
            os.fsync(folder)
        return renamed
    finally:
        if not renamed:
            os.unlink(temp, dir_fd=folder)


def replace_text(root: Path, path: str, text: str) -> bool:
    """Write a small file of our own whole or not at all; folders are made. False, no write: it says that already.

    Raises OSError.
    """
    return replace_file(root, path, text.encode())


def replace_file(root: Path, path: str, data: bytes) -> bool:
    """Write a file of our own whole or not at all; folders are made. False, no write: it holds these bytes already.

    Raises OSError.
    """
    with parent_of(root, path, create=True) as (folder, name):
        with contextlib.suppress(FileNotFoundError):
            if read_all(folder, name, len(data)) == data:
                return False
        os.replace(_written(folder, name, data), name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
        return True


def create_file(root: Path, path: str, data: bytes) -> bool:
    """A new file, whole or not at all; folders are made. False, no write: something has that name. Raises OSError."""
    with parent_of(root, path, create=True) as (folder, name):
        temp = _written(folder, name, data)
        try:
            os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _created(folder, name, data)
        finally:
            os.unlink(temp, dir_fd=folder)
        os.fsync(folder)
        return True


def swap_file(root: Path, path: str, old: bytes, new: bytes) -> bool:
    """Replace a file that holds `old` with `new`, whole or not at all. False, no write: it holds something else now.

    Raises OSError.
    """
    with parent_of(root, path) as (folder, name):
        try:
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if read_all(folder, name, before.st_size) != old:
                return False
        except FileNotFoundError:
            return False
        return replace_if_unchanged(folder, _written(folder, name, new), name, before)


def _written(folder: int, name: str, data: bytes) -> str:
    """A hidden file beside `name` with these bytes, flushed; its name."""
    temp = f".kos-{os.getpid()}-{hashlib.sha256(name.encode(errors='surrogateescape')).hexdigest()[:8]}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temp, dir_fd=folder)
    descriptor = os.open(temp, _NEW, 0o644, dir_fd=folder)
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return temp


def _created(folder: int, name: str, data: bytes) -> bool:
    """Where the file system has no hard links."""
    try:
        descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
    except FileExistsError:
        return False
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def remove_leftovers(root: Path, folder: str, *, older_than_s: float = 3600.0) -> int:
    """Delete what `replace_file` and its like left below `root/folder` when their process was killed; how many.

    No link is followed, none on the way to the folder either; what cannot be deleted stays.
    """
    removed, newest = 0, time.time() - older_than_s
    if Path(os.path.realpath(root / folder)) != Path(os.path.realpath(root)) / folder:
        return 0
    for where, folders, names in os.walk(root / folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if _LEFTOVER.fullmatch(name) is None:
                continue
            path = Path(where) / name
            with contextlib.suppress(OSError):
                status = path.lstat()
                if modes.S_ISREG(status.st_mode) and status.st_mtime < newest:
                    path.unlink()
                    removed += 1
    return removed


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _copy_attributes(folder: int, name: str, descriptor: int) -> None:
    """Extended attributes where the system has them; one that cannot be set is no reason to refuse the stamp."""
    if not hasattr(os, "listxattr"):
        return
    source = open_file(folder, name)
    try:
        for attribute in os.listxattr(source):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
    except OSError:
        return
    finally:
        os.close(source)
