"""Kinds of mailboxes: mbox in all its flavours, Maildir, .eml, .emlx, and what is none (W3, V4)."""

from __future__ import annotations

import os
import tracemalloc
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.mirrors import mirror_settings
from kos_assets.writers.contract import Entry, Item, Skipped
from kos_assets.writers.mail import mbox, open_source
from kos_assets.writers.mirror import mirror

MARK = b"From ben@garden.example Wed Mar  4 09:00:00 2026\n"
HEAD = b"From: ben@garden.example\nTo: ilka@steinkar.example\nSubject: %s\nMessage-ID: <%s@g>\n"


def letter(name: bytes = b"one", text: bytes = b"Hello.\n", more: bytes = b"") -> bytes:
    return HEAD % (b"Topic " + name, name) + more + b"\n" + text


def entries(*paths: Path) -> list[Entry]:
    found = mirror_settings("mail", {"path": [str(path) for path in paths], "all_threads": True})
    return list(open_source(found, vault=Path("v"), data_dir=Path("d"), zone=ZoneInfo("UTC")).entries())


def texts(*paths: Path) -> dict[str, str]:
    """Each note's text below its heading, by title."""
    found = (one for one in entries(*paths) if isinstance(one, Item))
    return {one.title: one.body.split("\n\n", 1)[1] for one in found}


def codes(*paths: Path) -> list[str]:
    return sorted(one.code for one in entries(*paths) if isinstance(one, Skipped))


def test_mboxo_and_mboxrd(tmp_path: Path) -> None:
    """W3: `>From ` was quoted for the mailbox; one mark is taken off."""
    box = tmp_path / "old"  # without an ending, as Thunderbird names them
    text = b">From now on.\n\n>>From then, twice quoted.\n\nI heard it\nFrom him.\n\nFrom where?\n"
    box.write_bytes(MARK + letter(text=text) + b"\n" + MARK + letter(b"two"))
    assert texts(box) == {
        "Topic one": "From now on.\n\n> From then, twice quoted.\n\nI heard it\nFrom him.\n\nFrom where?",
        "Topic two": "Hello.",
    }


def test_mboxcl2_goes_by_length_only_where_that_is_true(tmp_path: Path) -> None:
    """W3: a mailbox in a message is no mailbox where Content-Length says so; a wrong length is not believed."""
    inner = b"See:\n\n" + MARK + letter(b"inner")
    true = letter(text=inner, more=b"Content-Length: %d\n" % len(inner))
    wrong = letter(b"two", more=b"Content-Length: 9999999\n")
    short = letter(b"three", more=b"Content-Length: 2\n")
    box = tmp_path / "a.mbox"
    box.write_bytes(MARK + true + b"\n" + MARK + wrong + b"\n" + MARK + short + b"\n" + MARK + letter(b"four"))
    assert list(texts(box)) == ["Topic one", "Topic two", "Topic three", "Topic four"]


@pytest.mark.parametrize(
    "mark",
    [
        b"From - Wed Mar  4 09:00:00 2026\n",
        b"From MAILER-DAEMON Wed Mar  4 09:00:00 2026\n",
        b"From 1234567890@xxx Wed Mar 04 09:00:00 +0000 2026\n",
        b'From "ben fern"@garden.example Wed Mar  4 09:00 2026\n',
        b"From ben@garden.example\n",
        b"From - \n",
    ],
)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_marks_of_many_programs(tmp_path: Path, mark: bytes, ends: bytes) -> None:
    """W3: every program writes its own `From ` line and its own line ends."""
    box = tmp_path / "a.mbox"
    box.write_bytes(b"".join(mark + letter(name) + b"\n" for name in (b"one", b"two", b"three")).replace(b"\n", ends))
    assert texts(box) == {"Topic one": "Hello.", "Topic two": "Hello.", "Topic three": "Hello."}


def test_a_large_mbox_needs_little_memory(tmp_path: Path) -> None:
    """W3: attachments pass through; what is held is one message's text, not its bytes."""
    box = tmp_path / "a.mbox"
    blob = (b"QUJD" * 19 + b"\n") * 30_000  # 2.3 MB
    kinds = b"Content-Type: multipart/mixed; boundary=b\n"
    part = b"--b\nContent-Type: image/png; name=a.png\nContent-Transfer-Encoding: base64\n\n"
    text = b"--b\n\nHello.\n" + part + blob + b"--b--\n"
    with box.open("wb") as file:
        for number in range(6):
            file.write(MARK + letter(b"n%d" % number, text, kinds) + b"\n")
    tracemalloc.start()
    try:
        found = texts(box)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert list(found.values()) == ["Hello.\n\nAttachments: a.png (1.7 MB)"] * 6
    assert peak < 7_000_000  # of a mailbox of 14 MB


def test_maildir_with_folders_and_flags(tmp_path: Path) -> None:
    """W3: cur, new and .folders are read; tmp is not, nor what was deleted or never sent."""
    for folder in ("cur", "new", "tmp", ".Sent/cur", ".Sent/new", ".Sent.2026/cur", ".cache"):
        (tmp_path / folder).mkdir(parents=True)
    for path, name in {
        "new/1.host": b"one",
        "cur/2.host:2,RS": b"two",
        "cur/3.host:2,ST": b"three",
        "cur/4.host:2,D": b"four",
        "tmp/5.host": b"five",
        ".Sent/cur/6.host:2,S": b"six",
        ".Sent.2026/cur/7.host:2,S": b"seven",
    }.items():
        (tmp_path / path).write_bytes(letter(name))
    assert sorted(texts(tmp_path)) == ["Topic one", "Topic seven", "Topic six", "Topic two"]
    assert codes(tmp_path) == ["deleted", "draft"]


def test_what_a_mail_program_keeps_is_no_mail(tmp_path: Path) -> None:
    """W3: expunged, junk, drafts, folder data; files that are none; empty ones. Nothing of it counts as a problem."""
    letters = {
        b"a": b"X-Mozilla-Status: 0009\n",
        b"b": b"X-Gmail-Labels: =?UTF-8?Q?Spam,Ungelesen?=\n",
        b"c": b"X-Gmail-Labels: Drafts\n",
        b"d": b"X-Gmail-Labels: Trash,Opened\n",
        b"e": b"X-Mozilla-Status: 0001\n",
    }
    box = b"".join(MARK + letter(name, more=more) + b"\n" for name, more in letters.items())
    (tmp_path / "Inbox").write_bytes(box)
    (tmp_path / "Inbox.msf").write_bytes(b"// <!-- <mdb:mork:z v=1.4/> -->\n")
    (tmp_path / "Junk").write_bytes(b"")
    (tmp_path / "notes.md").write_text("---\ntitle: x\n---\nFrom: here\n")
    assert list(texts(tmp_path)) == ["Topic e"]
    assert codes(tmp_path) == ["deleted", "deleted", "draft", "empty_file", "not_mail", "not_mail", "spam"]
    assert not any(one.counts for one in entries(tmp_path) if isinstance(one, Skipped))


def test_emlx(tmp_path: Path) -> None:
    """W3: the length, the message, the property list; also with a wrong length, without attachments, or deleted."""
    plist = (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>date-received</key>'
        b"<integer>1772614800</integer><key>flags</key>\n\t<integer>%d</integer></dict></plist>\n"
    )
    folder = tmp_path / "INBOX.mbox" / "Messages"
    folder.mkdir(parents=True)
    one, two, three = letter(), letter(b"two", b"Bye.\n"), letter(b"three")
    part = b"--b\nContent-Type: application/pdf; name=a.pdf\nX-Apple-Content-Length: 12345\n\n\n--b--\n"
    four = letter(b"four", b"--b\n\nHello.\n" + part, b"Content-Type: multipart/mixed; boundary=b\n")
    (folder / "1.emlx").write_bytes(b"%-10d\n" % len(one) + one + plist % 1)
    (folder / "2.emlx").write_bytes(b"7\n" + two + plist % 1)
    (folder / "3.emlx").write_bytes(b"%d\n" % len(three) + three + plist % 3)
    (folder / "4.partial.emlx").write_bytes(b"%d\n" % len(four) + four + plist % 1)
    (folder / "5.emlx").write_bytes(b"%d\n" % len(four) + four + plist % 1)
    assert texts(tmp_path) == {
        "Topic one": "Hello.",
        "Topic two": "Bye.",
        "Topic four": "Hello.\n\nAttachments: a.pdf (12 KB)",
    }
    assert codes(tmp_path) == ["deleted", "duplicate"]
    dated = [one.at for one in entries(folder / "1.emlx") if isinstance(one, Item)]
    assert dated == [datetime.fromtimestamp(1772614800, UTC)]


def test_links_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    """V4: a link out of the mail, a pipe that would wait for ever; each is reported, the rest is read."""
    mail = tmp_path / "mail"
    mail.mkdir()
    (tmp_path / "secret.eml").write_bytes(letter(b"secret"))
    (mail / "a.eml").write_bytes(letter())
    (mail / "b.eml").symlink_to(tmp_path / "secret.eml")
    (mail / "c").symlink_to(tmp_path)
    os.mkfifo(mail / "d.mbox")
    (mail / "e.mbox.gz").write_bytes(b"\x1f\x8b")
    (mail / os.fsdecode(b"f\xff.eml")).write_bytes(letter(b"odd"))
    assert list(texts(mail)) == ["Topic one", "Topic odd"]
    assert codes(mail) == ["link", "link", "not_a_file", "packed"]


def test_a_mailbox_that_changes_meanwhile_changes_no_note(tmp_path: Path) -> None:
    """V4: between the first look and the reading of texts; the thread waits for the next run."""
    box, vault = tmp_path / "a.mbox", tmp_path / "vault"
    vault.mkdir()
    box.write_bytes(MARK + letter() + b"\n" + MARK + letter(b"two"))
    found = mirror_settings("mail", {"path": str(box), "all_threads": True})
    source = open_source(found, vault=vault, data_dir=tmp_path, zone=ZoneInfo("UTC"))
    reading = source.entries()
    first = next(reading)
    assert isinstance(first, Item)
    box.write_bytes(b"\n" * 10 + box.read_bytes())
    later = list(reading)
    assert [one.code for one in later if isinstance(one, Skipped)] == ["changed_while_read"]
    report = mirror(source, vault, name="mail", folder="mail", namespace=None, today=date(2026, 12, 1))
    assert (report.written, report.skipped_total) == (2, 0)


@pytest.mark.parametrize("size", [3, 64, 4096])
def test_lines_are_whole_whatever_the_chunks(size: int) -> None:
    """Positions of chunks show nowhere; a line without an end comes in bounded pieces; `\\r` alone ends lines."""
    data = b"a\r\n\nbb\n" + b"c" * 200_000 + b"\nd"
    found = list(mbox.split_lines(lambda at: data[at : at + size]))
    assert b"".join(found) == data
    assert max(map(len, found)) <= 1 << 16
    assert found[:3] == [b"a\r\n", b"\n", b"bb\n"]
    mac = list(mbox.split_lines(lambda at: b"a: b\r\rtext\r"[at : at + size]))
    assert size == 3 or b"".join(mac) == b"a: b\n\ntext\n"
