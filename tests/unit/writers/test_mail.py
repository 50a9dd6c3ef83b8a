"""Mail as notes: which threads, under which ids, and what a second run does (W1, W3)."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import MirrorSettings, mirror_settings
from kos_assets.errors import ConfigError
from kos_assets.writers.contract import Item, Skipped, SourceError
from kos_assets.writers.mail import MailSource, open_source, places
from kos_assets.writers.mirror import MirrorReport, mirror

ME = "ilka@steinkar.example"
START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)


def letter(
    name: str = "",
    *,
    sender: str = "Ben Fern <ben@garden.example>",
    to: str = f"Ilka <{ME}>",
    subject: str = "Watering plan",
    text: str = "Hello.",
    day: float = 0,
    **more: str,
) -> bytes:
    """A message; further headers by name, with `_` for `-`."""
    head = {"From": sender, "To": to, "Subject": subject, "Date": f"{START + timedelta(days=day):%d %b %Y %H:%M:%S %z}"}
    head |= {"Message-ID": f"<{name}>"} if name else {}
    head |= {key.replace("_", "-"): value for key, value in more.items()}
    return "".join(f"{key}: {value}\n" for key, value in head.items() if value).encode() + b"\n" + text.encode() + b"\n"


def mbox(*letters: bytes) -> bytes:
    return b"".join(b"From x@y.example Wed Mar  4 09:00:00 2026\n" + one + b"\n" for one in letters)


def settings(path: Path, **options: Any) -> MirrorSettings:
    return mirror_settings("mail", {"path": str(path), "addresses": [ME]} | options)


def source(path: Path, *, vault: Path | None = None, **options: Any) -> MailSource:
    found = settings(path, **options)
    return open_source(found, vault=vault or path / "no-vault", data_dir=path, zone=ZoneInfo("Europe/Berlin"))


def items(path: Path, **options: Any) -> list[Item]:
    return [entry for entry in source(path, **options).entries() if isinstance(entry, Item)]


def threads(path: Path, *letters: bytes) -> list[int]:
    """How many messages are in each thread."""
    (path / "all.mbox").write_bytes(mbox(*letters))
    return sorted(int(str(item.properties["messages"])) for item in items(path, addresses=[], all_threads=True))


def run(path: Path, vault: Path, **options: Any) -> MirrorReport:
    found = source(path, vault=vault, **options)
    vault.mkdir(exist_ok=True)
    return mirror(found, vault, name="mail", folder="mail", namespace="shared:owner", today=date(2026, 12, 1))


def reply(name: str, parent: str, **more: Any) -> bytes:
    facts: dict[str, Any] = {"sender": f"Ilka <{ME}>", "to": "ben@garden.example", "subject": "Re: Watering plan"}
    return letter(name, In_Reply_To=f"<{parent}>", **({**facts, "day": 1} | more))


def test_only_threads_that_the_owner_wrote_in_become_notes(tmp_path: Path) -> None:
    """W3: one note per thread with a message of the owner's; the rest is left out, counted by message."""
    (tmp_path / "a.mbox").write_bytes(
        mbox(letter("1@g"), reply("2@s", "1@g"), letter("3@g", subject="Buy now"), letter("4@g", subject="Buy now 2"))
    )
    entries = list(source(tmp_path).entries())
    (item,) = (entry for entry in entries if isinstance(entry, Item))
    assert [entry.code for entry in entries if isinstance(entry, Skipped)] == ["not_replied"] * 2
    assert not any(entry.counts for entry in entries if isinstance(entry, Skipped))
    assert (item.external_id, item.title, item.properties["messages"]) == ("1@g", "Watering plan", 2)
    assert item.properties["kind"] == "mail"
    assert list(item.people) == ["Ben Fern <ben@garden.example>", f"Ilka <{ME}>"]
    assert item.body == "## 2026-03-04 10:00, Ben Fern\n\nHello.\n\n## 2026-03-05 10:00, Ilka\n\nHello."
    assert item.at == START + timedelta(days=1)  # S10: the newest message; only then is all of it true
    assert (item.zone, item.started) == ("+00:00", START)


@pytest.mark.parametrize("own", ["ILKA@steinkar.example", "@steinkar.example"])
def test_an_address_is_known_in_every_form(tmp_path: Path, own: str) -> None:
    """W3: case does not matter, nor does a +tag; @domain means everybody there."""
    (tmp_path / "a.mbox").write_bytes(mbox(letter("1@g", sender="ilka+lists@Steinkar.example")))
    assert len(items(tmp_path, addresses=[own])) == 1


@pytest.mark.parametrize(("options", "what"), [({"addresses": []}, "yours"), ({"addresses": ["ilka"]}, "no address")])
def test_settings_that_cannot_work_are_refused_at_once(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    """W3: without addresses nobody knows what a reply of the owner's is."""
    with pytest.raises(ConfigError, match=what):
        source(tmp_path, **options)


def test_no_mail_is_no_reason_to_take_everything_for_gone(tmp_path: Path) -> None:
    """W1: a place without any mail is an error, as is a place that is not there."""
    with pytest.raises(SourceError, match="no mail"):
        list(source(tmp_path).entries())
    with pytest.raises(SourceError, match="cannot be read"):
        source(tmp_path / "missing")


def test_ids_join_also_over_a_message_that_is_missing(tmp_path: Path) -> None:
    """W3: two answers to a message that nobody kept are one thread; other threads stay apart."""
    one = letter("2@g", subject="Re: A first thing", References="<1@g>")
    two = letter("3@g", subject="Re: Something else", References="<1@g> <2@x>", day=400)
    assert threads(tmp_path, one, two, letter("4@g", subject="A third thing")) == [1, 2]


@pytest.mark.parametrize(
    "mark", ["Re: ", "AW: ", "SV: ", "Antw: ", "RE[2]: ", "回复：", "[list] Re: [list] ", "Fwd: RE: "]
)
def test_a_reply_without_ids_joins_by_subject(tmp_path: Path, mark: str) -> None:
    """W3: marks of replies in many languages are cut off; only what is marked as a reply joins."""
    joins = not mark.startswith("Fwd")
    first, second = letter("1@g"), letter("2@g", subject=f"{mark}Watering plan", day=2)
    assert threads(tmp_path, first, second) == ([2] if joins else [1, 1])


@pytest.mark.parametrize(
    "facts",
    [
        {"day": 45},
        {"subject": "Re: "},
        {"subject": "Re: Hello"},
        {"subject": "Re: 你好"},
        {"subject": "Re: Watering plan 2"},
        {"sender": "eve@else.example", "to": "bob@else.example"},
    ],
)
def test_a_subject_alone_joins_little(tmp_path: Path, facts: dict[str, Any]) -> None:
    """W3: not after 30 days, not by an empty or a common subject, not among strangers."""
    subject = str(facts.get("subject", "Re: Watering plan"))
    first = letter("1@g", subject="Watering plan" if "Watering" in subject else subject.removeprefix("Re: "))
    more: dict[str, Any] = {"subject": subject, "day": 1} | facts
    assert threads(tmp_path, first, letter("2@g", **more)) == [1, 1]


def test_replies_to_different_missing_messages_stay_apart(tmp_path: Path) -> None:
    """W3: what names two different threads is two, however equal the subjects are."""
    one = letter("2@g", subject="Re: Watering plan", References="<1@g>")
    assert threads(tmp_path, one, letter("4@g", subject="Re: Watering plan", References="<3@g>", day=1)) == [1, 1]


def test_an_address_in_in_reply_to_joins_nothing(tmp_path: Path) -> None:
    """W3: old programs wrote `message from <address>`; everything of that person is not one thread."""
    odd: dict[str, Any] = {"In_Reply_To": 'Message from Ben <ben@garden.example> of "Wed"'}
    assert threads(tmp_path, letter("1@g", subject="One", **odd), letter("2@g", subject="Two", **odd)) == [1, 1]


def test_a_message_is_counted_once(tmp_path: Path) -> None:
    """W3: copies in several boxes are one message; one id for two different messages is two messages."""
    (tmp_path / "in.mbox").write_bytes(
        mbox(letter("1@g"), letter("1@g", subject="Quite another", day=9, text="Other."))
    )
    (tmp_path / "sent.mbox").write_bytes(mbox(letter("1@g"), reply("2@s", "1@g")))
    found = list(source(tmp_path, all_threads=True).entries())
    assert sorted(int(str(one.properties["messages"])) for one in found if isinstance(one, Item)) == [1, 2]
    assert [one.code for one in found if isinstance(one, Skipped)] == ["duplicate"]


def test_a_message_without_an_id_keeps_the_same_one_in_every_box(tmp_path: Path) -> None:
    """W3, V2: mbox quoting, line ends and added headers do not change who a message is."""
    plain = letter(text="One.\n\nFrom here on.")
    for name, data in {
        "a.eml": plain,
        "b.eml": b"X-Status: R\n" + plain.replace(b"\n", b"\r\n"),
        "c.mbox": mbox(plain.replace(b"\nFrom here", b"\n>From here")),
    }.items():
        (tmp_path / name).write_bytes(data)
    (item,) = items(tmp_path, all_threads=True)
    assert item.external_id.startswith("sha256-")
    assert item.properties["messages"] == 1


def test_a_second_run_writes_nothing_and_a_new_message_the_same_note(tmp_path: Path) -> None:
    """W1, W3: files keep their times; a message that comes later updates the note of its thread."""
    box, vault = tmp_path / "mail.mbox", tmp_path / "vault"
    box.write_bytes(mbox(letter("1@g"), reply("2@s", "1@g")))
    assert run(box, vault).written == 1
    (note,) = vault.rglob("*.md")
    assert note.name == "2026-03-04 Watering plan.md"
    os.utime(note, ns=(1, 1))
    again = run(box, vault)
    assert (again.unchanged, again.written, again.updated) == (1, 0, 0)
    assert note.stat().st_mtime_ns == 1
    with box.open("ab") as file:
        file.write(mbox(letter("3@g", subject="AW: Watering plan", In_Reply_To="<2@s>", day=2, text="Thanks.")))
    assert run(box, vault).updated == 1
    assert [path.name for path in vault.rglob("*.md")] == [note.name]
    assert note.read_text().endswith("## 2026-03-06 10:00, Ben Fern\n\nThanks.\n")


@pytest.mark.parametrize("named", [True, False])
def test_an_older_root_that_shows_up_later_changes_no_id(tmp_path: Path, named: bool) -> None:
    """V2, W3: the root's id counts where replies name it; where they do not, the note that stands keeps its id."""
    box, vault = tmp_path / "mail.mbox", tmp_path / "vault"
    box.write_bytes(mbox(letter("2@s", sender=ME, subject="Re: Watering plan", day=1, **_naming(named))))
    assert run(box, vault).written == 1
    (note,) = vault.rglob("*.md")
    before = note.read_text().split("source_id")[0]
    box.write_bytes(mbox(letter("1@g", to=f"{ME}, ben@garden.example"), box.read_bytes().partition(b"\n")[2]))
    report = run(box, vault)
    assert (report.written, report.updated, report.gone) == (0, 1, 0)
    assert note.read_text().split("source_id")[0] == before
    assert "messages: 2" in note.read_text()


def _naming(named: bool) -> dict[str, Any]:
    return {"References": "<1@g>"} if named else {"to": "ben@garden.example"}


def test_two_runs_give_the_same_entries(tmp_path: Path) -> None:
    """W1: the same bytes give the same entries in the same order, and a new mail another fingerprint."""
    (tmp_path / "a.mbox").write_bytes(mbox(*(letter(f"{n}@g", subject=f"Topic number {n}") for n in range(20))))
    first = source(tmp_path, all_threads=True)
    assert list(first.entries()) == list(source(tmp_path, all_threads=True).entries())
    before = first.fingerprint()
    assert before == first.fingerprint()
    (tmp_path / "b.eml").write_bytes(letter("new@g"))
    assert before != first.fingerprint()


def test_what_was_recalled_is_not_learned_again(tmp_path: Path) -> None:
    """W8: a frame in a message is cut before quotes are shortened, also a quoted one."""
    frame = f"{FRAME_START}\n| secret memory one\n| secret memory two\n{FRAME_END}"
    quoted = "\n".join(f"> {line}" for line in frame.splitlines())
    text = f"See:\n{frame}\nBut that is old.\n\nBen wrote on 2026-03-03 10:00:\n{quoted}\n> and more\nRight."
    box, vault = tmp_path / "mail.mbox", tmp_path / "vault"
    box.write_bytes(mbox(letter("1@g", text=text), reply("2@s", "1@g", text=quoted + "\nYes.")))
    report = run(box, vault)
    (note,) = vault.rglob("*.md")
    assert "secret" not in note.read_text()
    assert "But that is old." in note.read_text()
    assert report.recalled_cut == 3


def test_a_mailbox_that_cannot_be_read_marks_nothing_as_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: threads go over several boxes, so one unread box leaves all of them in doubt."""
    boxes, vault = tmp_path / "boxes", tmp_path / "vault"
    boxes.mkdir()
    (boxes / "a.mbox").write_bytes(mbox(letter("1@g"), reply("2@s", "1@g")))
    (boxes / "b.mbox").write_bytes(mbox(letter("3@g", sender=ME, subject="Another thing")))
    (boxes / "c.mbox").write_bytes(mbox(letter("4@g", sender=ME, subject="A third thing")))
    assert run(boxes, vault).written == 3
    (boxes / "c.mbox").unlink()
    opened = places.opened

    def refused(box: places.Box) -> AbstractContextManager[int]:
        if box.name == "b.mbox":
            raise PermissionError(13, "Permission denied")
        return opened(box)

    monkeypatch.setattr(places, "opened", refused)
    report = run(boxes, vault)
    assert (report.gone, report.unchanged, [one.code for one in report.skipped]) == (0, 1, ["unreadable_file"])
    monkeypatch.undo()
    assert run(boxes, vault).gone == 1
