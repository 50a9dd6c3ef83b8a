"""The chats writer through the mirror: the three sources, re-exports, second runs, long conversations (W1, W6, W8)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.domain.mirrors import MirrorSettings, mirror_settings
from kos_assets.errors import ConfigError
from kos_assets.vault import frontmatter
from kos_assets.writers.chats import open_source, sessions, talk
from kos_assets.writers.contract import Item, Skipped, Source, SourceError
from kos_assets.writers.mirror import MirrorReport, mirror

BERLIN = ZoneInfo("Europe/Berlin")
SESSION = "0b7c1a52-9c1e-4a53-8f0f-6f4f4c0f8a11"
INDEX_LINE = f"[{SESSION}] Deploy notes — the staging host is called larch"


def source(*paths: Path) -> Source:
    settings = mirror_settings("chats", {"path": [str(path) for path in paths]})
    return open_source(settings, vault=Path("vault"), data_dir=Path("data"), zone=BERLIN)


def run(vault: Path, *paths: Path) -> MirrorReport:
    vault.mkdir(exist_ok=True)
    return mirror(
        source(*paths), vault, name="chats", folder="chats", namespace="shared:owner", today=date(2026, 12, 1)
    )


def notes(vault: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((vault / "chats").rglob("*.md"))}


def note(vault: Path) -> tuple[Mapping[str, Any], str]:
    """The only note there is: its frontmatter and its text."""
    (text,) = notes(vault).values()
    head = frontmatter.parse(text.encode())
    return head.properties, text.encode()[head.body_start :].decode()


def items(*paths: Path) -> list[Item]:
    return [entry for entry in source(*paths).entries() if isinstance(entry, Item)]


def skipped(*paths: Path) -> list[Skipped]:
    return [entry for entry in source(*paths).entries() if isinstance(entry, Skipped)]


def message(role: str, text: str, at: float | None = None, **more: Any) -> dict[str, Any]:
    """A ChatGPT message."""
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    name = more.pop("name", None)
    return {"author": {"role": role, "name": name}, "create_time": at, "content": content, "recipient": "all"} | more


def chatgpt(*messages: dict[str, Any], chat: str = "c-1", **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation whose messages follow one another."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for place, one in enumerate(messages):
        above = f"n{place - 1}" if place else "root"
        mapping[f"n{place}"] = {"id": f"n{place}", "message": one, "parent": above, "children": [f"n{place + 1}"]}
    facts = {"title": "Baking", "create_time": 1772600000.5, "update_time": 1772600900.25, "id": chat}
    return facts | {"conversation_id": chat, "current_node": f"n{len(messages) - 1}", "mapping": mapping} | more


def claude(*messages: dict[str, Any], chat: str = "9d0e", **more: Any) -> dict[str, Any]:
    """A Claude conversation."""
    facts = {"uuid": chat, "name": "Garden", "summary": "", "created_at": "2026-03-04T08:00:00.123456Z"}
    return facts | {"updated_at": "2026-03-04T09:00:00Z", "account": {}, "chat_messages": list(messages)} | more


def said(sender: str, text: str, at: str = "2026-03-04T08:00:00Z", **more: Any) -> dict[str, Any]:
    """A Claude message."""
    content = more.pop("content", [{"type": "text", "text": text}])
    return {"uuid": str(uuid4()), "sender": sender, "text": text, "content": content, "created_at": at} | more


def line(kind: str, content: Any, place: int, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code log, which follows the one before it."""
    facts = {"type": kind, "uuid": f"u{place}", "parentUuid": f"u{place - 1}" if place else None}
    facts |= {"sessionId": SESSION, "timestamp": f"2026-03-04T08:{place:02}:00.000Z", "cwd": "/home/ada/oven"}
    message = {"role": kind, "content": content} | ({"model": "claude-opus-5"} if kind == "assistant" else {})
    return facts | {"gitBranch": "main", "isSidechain": False, "message": message} | more


def log(folder: Path, *lines: Any, name: str = f"{SESSION}.jsonl", end: str = "\n") -> Path:
    path = folder / "projects" / "-home-ada-oven" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(one) for one in lines) + end)
    return folder / "projects"


def export(path: Path, *conversations: Any, name: str = "conversations.json") -> Path:
    """An account export as a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, json.dumps(list(conversations)))
        archive.writestr("user.json", "{}")
    return path


def folder_export(path: Path, *conversations: Any, name: str = "conversations.json") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(list(conversations)))
    return path


def test_chatgpt_conversation_is_one_note(tmp_path: Path) -> None:
    """W6: a ChatGPT export, tools and thinking are one line, hidden messages are not told."""
    calls = message(
        "assistant", "print(1)", 1772600020, recipient="python", content={"content_type": "code", "text": "SECRET"}
    )
    path = export(
        tmp_path / "a.zip",
        chatgpt(
            message("system", "You are hidden", None),
            message("user", "", None, content={"content_type": "user_editable_context", "user_profile": "SECRET"}),
            message(
                "user", "How long does rye rise?", 1772600010, metadata={"attachments": [{"name": "oven/plan.pdf"}]}
            ),
            message("assistant", "", None, content={"content_type": "thoughts", "thoughts": [{"content": "SECRET"}]}),
            calls,
            message(
                "tool",
                "SECRET",
                1772600021,
                name="python",
                content={"content_type": "execution_output", "text": "SECRET"},
            ),
            message("assistant", "Twelve hours.", 1772600030, metadata={"model_slug": "gpt-5"}),
            message("user", "SECRET", None, metadata={"is_visually_hidden_from_conversation": True}),
        ),
    )
    report = run(tmp_path / "vault", path)
    facts, body = note(tmp_path / "vault")
    assert (report.items, report.written, report.skipped_total) == (1, 1, 0)
    assert {key: facts[key] for key in ("kind", "provenance", "source", "models", "messages", "attachments")} == {
        "kind": "chat",
        "provenance": "output",
        "source": "chatgpt",
        "models": ["gpt-5"],
        "messages": 2,
        "attachments": ["plan.pdf"],
    }
    assert facts["url"] == "https://chatgpt.com/c/c-1"
    assert facts["kos_namespace"] == "shared:owner"
    assert body == (
        "# Baking\n\n**You** · 2026-03-04 05:53\n\nHow long does rye rise?\n\n"
        "**Assistant** · 2026-03-04 05:53\n\nTwelve hours.\n\n*Folded: thinking, python*\n"
    )
    assert "SECRET" not in body


def test_the_date_is_that_of_the_last_message(tmp_path: Path) -> None:
    """S10: a note is true of the time of its last message; a rename of the chat (update_time) moves nothing."""
    path = export(
        tmp_path / "a.zip",
        chatgpt(message("user", "a", 1772600010), message("assistant", "b", 1772700000), update_time=1790000000),
    )
    (item,) = items(path)
    assert item.at is not None
    assert item.at.timestamp() == 1772700000
    assert item.zone == "Europe/Berlin"
    assert item.started is not None
    assert item.started.isoformat() == "2026-03-04T05:53:30+01:00"


def test_only_the_current_branch_is_told(tmp_path: Path) -> None:
    """W6: the branch of current_node is the text; others are counted."""
    record = chatgpt(message("user", "question", 1), message("assistant", "kept answer", 2))
    record["mapping"]["other"] = {"message": message("assistant", "dropped answer", 3), "parent": "n0", "children": []}
    (item,) = items(export(tmp_path / "a.zip", record))
    assert "kept answer" in item.body
    assert "dropped" not in item.body
    assert item.properties["other_branches"] == 1
    (item,) = items(export(tmp_path / "b.zip", record | {"current_node": None}))
    assert "dropped answer" in item.body, "without current_node the leaf that was written last counts"


def test_claude_export_with_branches_and_files(tmp_path: Path) -> None:
    """W6: a Claude export; blocks, attachments, parents; contents of files are never copied."""
    first = said(
        "human", "When do I plant leeks?", attachments=[{"file_name": "beds.txt", "extracted_content": "SECRET"}]
    )
    first["parent_message_uuid"] = "00000000-0000-4000-8000-000000000000"
    old = said("assistant", "dropped", "2026-03-04T08:01:00Z", parent_message_uuid=first["uuid"])
    blocks = [
        {"type": "thinking", "thinking": "SECRET"},
        {"type": "tool_use", "name": "web_search", "input": {"query": "SECRET"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "SECRET"}]},
        {"type": "text", "text": "In April."},
    ]
    new = said("assistant", "SECRET", "2026-03-04T08:02:00Z", content=blocks, parent_message_uuid=first["uuid"])
    (item,) = items(folder_export(tmp_path / "claude", claude(first, old, new, summary="SECRET")))
    assert item.external_id == "claude:9d0e"
    assert item.attachments == ["beds.txt"]
    assert item.body == (
        "**You** · 2026-03-04 09:00\n\nWhen do I plant leeks?\n\n"
        "**Assistant** · 2026-03-04 09:02\n\nIn April.\n\n*Folded: thinking, web_search*"
    )
    assert item.properties["other_branches"] == 1
    assert item.properties["url"] == "https://claude.ai/chat/9d0e"


def test_claude_code_session_log(tmp_path: Path) -> None:
    """W6: a session log; results of tools, meta lines, summaries and sub-agents are not told; wrappers are cut."""
    path = log(
        tmp_path,
        {"type": "summary", "summary": "Someone else's session", "leafUuid": "elsewhere"},
        {"type": "file-history-snapshot", "messageId": "u0", "snapshot": {}},
        line("user", "SECRET caveat", 0, isMeta=True),
        line("user", "<command-name>/clear</command-name>\n<command-args>SECRET</command-args>", 1),
        line(
            "user", [{"type": "text", "text": "Fix the timer <system-reminder>\nSECRET\n</system-reminder>please"}], 2
        ),
        line("assistant", [{"type": "thinking", "thinking": "SECRET"}], 3),
        line("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "SECRET"}}], 4),
        line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "SECRET"}], 5, toolUseResult="SECRET"),
        line("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}, {"type": "text", "text": "Done."}], 6),
        line("user", "SECRET", 7, isSidechain=True),
        line("user", "SECRET", 8, isCompactSummary=True),
        line(
            "attachment",
            None,
            9,
            parentUuid="u6",
            attachment={"type": "file", "filename": "/x/timer.py", "content": "SECRET"},
        ),
        line("assistant", [{"type": "text", "text": "SECRET"}], 10, isApiErrorMessage=True),
    )
    log(tmp_path, line("user", "SECRET", 0, isSidechain=True), name="agent-1.jsonl")
    report = run(tmp_path / "vault", path)
    facts, body = note(tmp_path / "vault")
    assert facts["source_id"] == f"claude-code:{SESSION}"
    assert (facts["project"], facts["branch"], facts["models"]) == ("/home/ada/oven", "main", ["claude-opus-5"])
    assert facts["attachments"] == ["timer.py"]
    assert body == (
        "# Fix the timer please\n\n**You** · 2026-03-04 09:02\n\nFix the timer please\n\n"
        "**Assistant** · 2026-03-04 09:03\n\nDone.\n\n*Folded: thinking, Bash ×2*\n"
    )
    assert report.left_out == {"subagent": 1}
    assert "SECRET" not in "".join(notes(tmp_path / "vault").values())


def test_rewound_prompts_are_another_branch(tmp_path: Path) -> None:
    """W6: what the person went back from is counted, not told; lines that only hang oddly stay."""
    path = log(
        tmp_path,
        line("user", "start", 0),
        line("assistant", [{"type": "text", "text": "ready"}], 1),
        line("user", "wrong way", 2),
        line("assistant", [{"type": "text", "text": "wrong answer"}], 3),
        line("user", "right way", 4, parentUuid="u1"),
        line("assistant", [{"type": "text", "text": "parallel"}], 5),
        line("assistant", [{"type": "text", "text": "right answer"}], 6, parentUuid="u4"),
    )
    (item,) = items(path)
    assert "wrong" not in item.body
    assert [word in item.body for word in ("start", "right way", "parallel", "right answer")] == [True] * 4
    assert item.properties["other_branches"] == 1


def test_compaction_does_not_hide_what_was_said_before(tmp_path: Path) -> None:
    """W6: a chain that is broken by compaction or a lost line drops nothing."""
    path = log(
        tmp_path,
        line("user", "before", 0),
        line("assistant", [{"type": "text", "text": "old answer"}], 1),
        line("system", None, 2, subtype="compact_boundary", parentUuid=None),
        line("user", "after", 3),
        line("user", "orphan", 4, parentUuid="lost"),
        line("assistant", [{"type": "text", "text": "new answer"}], 5),
    )
    (item,) = items(path)
    assert all(word in item.body for word in ("before", "old answer", "after", "orphan", "new answer"))


def test_a_second_run_writes_nothing_and_growth_updates_the_same_note(tmp_path: Path) -> None:
    """W1, V2: unchanged sources write nothing; a longer conversation is the same note."""
    vault = tmp_path / "vault"
    path = log(tmp_path, line("user", "one", 0), line("assistant", [{"type": "text", "text": "two"}], 1))
    zipped = export(tmp_path / "a.zip", chatgpt(message("user", "hello", 1772600010)))
    run(vault, path, zipped)
    before = {file: file.stat().st_mtime_ns for file in (vault / "chats").iterdir()}
    again = run(vault, path, zipped)
    assert (again.unchanged, again.written, again.updated) == (2, 0, 0)
    assert {file: file.stat().st_mtime_ns for file in (vault / "chats").iterdir()} == before
    log(
        tmp_path,
        line("user", "one", 0),
        line("assistant", [{"type": "text", "text": "two"}], 1),
        line("user", "three", 2),
    )
    grown = run(vault, path, zipped)
    assert (grown.unchanged, grown.written, grown.updated, grown.gone) == (1, 0, 1, 0)
    assert set((vault / "chats").iterdir()) == set(before)


def test_another_name_of_the_export_changes_nothing(tmp_path: Path) -> None:
    """W1, W6: a re-export under another name, as a folder or in split files, gives the same notes byte for byte."""
    vault = tmp_path / "vault"
    first, second = chatgpt(message("user", "a", 1772600010)), chatgpt(message("user", "b", 1772600010), chat="c-2")
    run(vault, export(tmp_path / "2026-03.zip", first, second))
    before = notes(vault)
    split = folder_export(tmp_path / "again", second, name="conversations-000.json")
    folder_export(split, first, name="conversations-001.json")
    for paths in ((export(tmp_path / "other name.zip", second, first),), (split,)):
        report = run(vault, *paths)
        assert (report.unchanged, report.written, report.updated, report.gone) == (2, 0, 0, 0)
    assert notes(vault) == before


def test_the_newer_of_two_exports_counts(tmp_path: Path) -> None:
    """W6: a conversation in two exports counts once, the newer by update_time, whatever the files are called."""
    old = chatgpt(message("user", "old", 1772600010), update_time=1772600010)
    new = chatgpt(message("user", "old", 1772600010), message("assistant", "new", 1772600020), update_time=1772600020.5)
    for names in (("a", "b"), ("b", "a")):
        folder = tmp_path / names[0]
        folder.mkdir()
        export(folder / f"{names[0]}.zip", old)
        export(folder / f"{names[1]}.zip", new, claude(said("human", "hi")))
        found = items(folder)
        assert sorted(item.external_id for item in found) == ["chatgpt:c-1", "claude:9d0e"]
        assert "new" in next(item for item in found if item.external_id == "chatgpt:c-1").body
        assert [(one.code, one.counts) for one in skipped(folder)] == [("older_copy", False)]


def test_equal_updates_are_decided_by_size_not_by_name(tmp_path: Path) -> None:
    """W6: of two copies with one update_time the larger counts, in whichever file it is."""
    small, large = chatgpt(message("user", "short", 1)), chatgpt(message("user", "short and more", 1))
    for number, pair in enumerate(((small, large), (large, small))):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, record in zip("ab", pair, strict=True):
            export(folder / f"{name}.zip", record)
        (item,) = items(folder)
        assert "and more" in item.body


def test_the_larger_of_two_copies_of_a_log_counts(tmp_path: Path) -> None:
    """W6: logs only grow; a copy in a backup is not a second conversation."""
    log(tmp_path / "live", line("user", "one", 0), line("user", "two", 1))
    log(tmp_path / "backup", line("user", "one", 0))
    (item,) = items(tmp_path / "backup", tmp_path / "live")
    assert "two" in item.body


def test_recalled_text_never_comes_back(tmp_path: Path) -> None:
    """W8: frames and index lines are cut wherever they stand in a chat, and nothing after a cut-off frame is lost."""
    frame = f"{FRAME_START}\n| SECRET </system-reminder>\n| {INDEX_LINE}\n{FRAME_END}"
    cut_off = f"{FRAME_START}\n| SECRET stored"
    hook = f"<system-reminder>\nhook says:\n{frame}\n</system-reminder>\nwhat I ask"
    path = log(
        tmp_path,
        line("user", hook, 0),
        line("user", [{"type": "tool_result", "content": frame}], 1, toolUseResult={"stdout": frame}),
        line("assistant", [{"type": "text", "text": f"I recall:\n{INDEX_LINE}\nso it is larch? {cut_off}"}], 2),
        line("attachment", None, 3, attachment={"type": "hook_additional_context", "content": [frame]}),
        line("user", f"pasted: {cut_off}", 4),
        line("assistant", [{"type": "text", "text": "what I answer"}], 5),
    )
    pasted = said("human", f"> {FRAME_START}\n> | SECRET\n> {FRAME_END}\nand my question", attachments=[])
    calls = [{"type": "tool_result", "content": frame}, {"type": "text", "text": INDEX_LINE + "\nyes"}]
    exports = folder_export(tmp_path / "e", claude(pasted, said("assistant", "x", content=calls), name=INDEX_LINE))
    folder_export(
        exports / "g",
        chatgpt(message("user", frame, 1), message("tool", frame, 2, name="kos"), message("user", "q", 3)),
    )
    vault = tmp_path / "vault"
    run(vault, path, exports)
    whole = "".join(notes(vault).values())
    assert len(notes(vault)) == 3
    assert all(word not in whole for word in ("SECRET", "larch\n", "BACKGROUND DATA", "Deploy notes", "stored"))
    assert all(word in whole for word in ("what I ask", "I recall:", "so it is larch?", "pasted:", "what I answer"))
    assert all(word in whole for word in ("and my question", "yes"))


def test_a_conversation_of_nothing_but_recall_gives_no_note(tmp_path: Path) -> None:
    """W8: nothing is left of it, and it is counted as empty."""
    path = log(tmp_path, line("user", f"{FRAME_START}\n| SECRET\n{FRAME_END}", 0))
    assert items(path) == []
    assert [(one.code, one.counts) for one in skipped(path)] == [("empty", False)]


def test_long_conversations_are_numbered_parts(tmp_path: Path) -> None:
    """W6: at most so many bytes a note; ids are stable, and earlier parts stay when the conversation grows."""
    lines = [line("user" if n % 2 else "assistant", f"turn {n} " + "wörd " * 300, n) for n in range(60)]
    settled = sessions.SessionLog(BERLIN)
    for one in lines:
        settled.take(one)
    whole = settled.conversation("s", "s.jsonl")
    parts = list(talk.items(whole, BERLIN, largest=20_000))
    assert [part.external_id for part in parts[:3]] == ["claude-code:s", "claude-code:s#2", "claude-code:s#3"]
    assert all(len(part.body.encode()) <= 20_000 for part in parts)
    assert parts[1].title.endswith("(part 2)")
    assert sum(int(str(part.properties["messages"])) for part in parts) == 60
    assert parts[0].at is not None
    assert parts[1].at is not None
    assert parts[0].at < parts[1].at
    settled.take(line("user", "the end", 60))
    grown = list(talk.items(settled.conversation("s", "s.jsonl"), BERLIN, largest=20_000))
    assert [part.body for part in grown[: len(parts) - 1]] == [part.body for part in parts[:-1]]


def test_one_turn_larger_than_a_note_is_divided(tmp_path: Path) -> None:
    """W6: also a single message is cut, at a line where there is one and never inside a character."""
    log_ = sessions.SessionLog(BERLIN)
    log_.take(line("user", "ä" * 5000 + "\n" + "zeile\n" * 2000, 0))
    parts = list(talk.items(log_.conversation("s", "s"), BERLIN, largest=4000))
    whole = "".join(part.body for part in parts)
    assert len(parts) > 4
    assert whole.count("ä") == 5000
    assert whole.count("zeile") == 2000
    assert "\N{REPLACEMENT CHARACTER}" not in whole


def test_an_open_code_fence_does_not_swallow_the_next_turn(tmp_path: Path) -> None:
    """W6: turns stay turns in Markdown."""
    path = export(tmp_path / "a.zip", claude(said("human", "look:\n```py\nx = 1"), said("assistant", "seen")))
    (item,) = items(path)
    assert "x = 1\n```\n\n**Assistant**" in item.body


def test_two_runs_are_equal_and_the_fingerprint_tells_changes(tmp_path: Path) -> None:
    """W1: the same bytes give the same entries in the same order; a change of a file changes the fingerprint."""
    path = log(tmp_path, line("user", "one", 0))
    exports = folder_export(tmp_path / "e", chatgpt(message("user", "a", 1)), claude(said("human", "b")))
    assert list(source(path, exports).entries()) == list(source(path, exports).entries())
    before = source(path, exports).fingerprint()
    assert before == source(path, exports).fingerprint()
    log(tmp_path, line("user", "one", 0), line("user", "two", 1))
    assert source(path, exports).fingerprint() != before


def test_a_conversation_that_was_deleted_is_marked(tmp_path: Path) -> None:
    """W1: gone from the source: marked, never deleted; and never while something could not be read."""
    vault = tmp_path / "vault"
    path = folder_export(tmp_path / "e", chatgpt(message("user", "a", 1)), chatgpt(message("user", "b", 1), chat="c-2"))
    run(vault, path)
    (path / "conversations.json").write_text(json.dumps([chatgpt(message("user", "a", 1))])[:-1])
    assert run(vault, path).gone == 0
    folder_export(path, chatgpt(message("user", "a", 1)))
    assert run(vault, path).gone == 1
    assert len(notes(vault)) == 2


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    """W1: no path, a missing one, an empty folder: said at once, with what to do."""
    with pytest.raises(ConfigError, match="no path"):
        open_source(MirrorSettings("chats", "chats"), vault=tmp_path, data_dir=tmp_path, zone=BERLIN)
    with pytest.raises(SourceError, match="cannot be read"):
        source(tmp_path / "missing")
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(SourceError, match="neither a folder nor"):
        source(tmp_path / "x.txt")
    with pytest.raises(SourceError, match="no chat export"):
        list(source(tmp_path).entries())
