"""Audit reads on a real store, as kos_auditor: whole stories, and who may hear them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from kos_assets import testing
from kos_assets.audit import Audit
from kos_assets.domain.principals import OWNER, Principal
from kos_assets.errors import NotFoundError
from kos_assets.gate.context import Gate, open_gate
from kos_assets.gate.erase import erase
from kos_assets.gate.life import forget, restore
from kos_assets.gate.marks import annotate, verify
from kos_assets.gate.statement import Statement
from kos_assets.gate.write import write_memory
from kos_assets.inference.embedding import Embedder
from kos_assets.ingest.pipeline import ingest_vault
from kos_assets.settings import Settings

ROBO = Principal("robo", "agent", frozenset({"crew"}))
OTHER = Principal("other", "agent")


@dataclass
class Place:
    """A vault with one note, its gate, and the auditor."""

    settings: Settings
    gate: Gate
    audit: Audit

    def write(self, heading: str, content: str, *, by: Principal = OWNER, **values: Any) -> UUID:
        """One semantic statement, by default into the owner's namespace or the agent's."""
        own = "shared:owner" if by.role == "owner" else f"agent:{by.name}"
        given = {"namespace": own, "memory_type": "semantic", **values}
        at = given.pop("at", datetime.now(UTC))
        return write_memory(self.gate, Statement(heading, content, **given), principal=by, at=at).memory_id

    def run(self, statement: str, *values: Any) -> None:
        """As an administrator: what no verb of the gate does."""
        with testing.connect(self.settings) as owner:
            owner.execute(statement, values)


@pytest.fixture
def place(database: Settings, tmp_path: Path, embedder: Embedder) -> Iterator[Place]:
    """An ingested vault, so that the model is active."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "spring.md").write_text("# Spring\n\nThe spring behind the hut never freezes.\n")
    settings = replace(database, vault=vault, stamp_quiet_s=0.0)
    with testing.store(settings) as writer, testing.store(settings, "auditor") as auditor:
        ingest_vault(writer, embedder, settings)
        yield Place(settings, open_gate(writer, settings, embedder), Audit(auditor))


def test_one_story_from_root_to_tip(place: Place) -> None:
    """S7: asked for any version, the whole chain is told: who, when, what, why, before and after; each row marked."""
    root = place.write("Port of the gateway", "The gateway listens on 8080.")
    middle = place.write("Port of the gateway", "It listens on 9090.", supersedes=root)
    tip = place.write("Port of the gateway", "It listens on 9191 now.", supersedes=middle)
    now = datetime.now(UTC)
    verify(place.gate, tip, how="test", principal=OWNER, at=now)
    annotate(place.gate, tip, boost=2, principal=OWNER, at=now)
    for asked in (root, middle, tip):
        story = place.audit.history(asked, principal=OWNER)
        assert story.memory_id == asked
        assert [(row["memory_id"], row["retired"]) for row in story.versions] == [
            (root, "superseded"),
            (middle, "superseded"),
            (tip, None),
        ]
        assert [row["hop"] for row in story.versions if row["memory_id"] == asked] == [0]
    told = [(event["memory_id"], event["action"], event["principal"]) for event in reversed(story.events)]
    assert [item for item in told if item[0] == root] == [(root, "insert", "owner"), (root, "supersede", "owner")]
    assert [item[1] for item in told if item[0] == tip] == ["insert", "verify", "annotate"]
    [ended] = [event for event in story.events if event["memory_id"] == root and event["action"] == "supersede"]
    assert ended["reason"] == f"by {middle}"
    assert (ended["before"]["deleted_reason"], ended["after"]["deleted_reason"]) == (None, "superseded")
    assert [event["at"] for event in story.events] == sorted((event["at"] for event in story.events), reverse=True)


def test_an_undo_is_part_of_the_story(place: Place) -> None:
    """S7: what was restored in place of its successor is live, and the successor is marked as undone."""
    old = place.write("Roof of the hut", "Covered with larch shingles.")
    new = place.write("Roof of the hut", "Covered with slate since May.", supersedes=old)
    restore(place.gate, old, principal=OWNER, at=datetime.now(UTC), instead=True)
    story = place.audit.history(old, principal=OWNER)
    assert {row["memory_id"]: row["retired"] for row in story.versions}[old] is None
    assert place.audit.history(new, principal=OWNER).versions[-1]["retired"] == "undone"
    assert next(event["action"] for event in story.events if event["memory_id"] == old) == "restore"


def test_what_is_over_is_marked_before_hygiene_comes(place: Place) -> None:
    """S7, H1: a row whose time is over is retired to the auditor although no sweep has set deleted_at yet."""
    now = datetime.now(UTC)
    over = place.write("Road", "Closed until the thaw.", expires_at=now + timedelta(hours=1))
    place.run("update kos.memories set expires_at = now() - interval '1 second' where memory_id = %s", over)
    [row] = place.audit.history(over, principal=OWNER).versions
    assert (row["retired"], row["deleted_at"]) == ("expired", None)


def test_an_author_hears_its_own_namespace_alone(place: Place) -> None:
    """S7, S12: an agent audits `agent:<name>`, not `global`, not a group of its own, not another agent's; and what it
    may not hear looks exactly like what never was and what was erased."""
    mine = place.write("Key", "Hangs behind the barrel.", by=ROBO)
    forget(place.gate, mine, principal=ROBO, at=datetime.now(UTC))
    crew = place.write("Crew rota", "Sven has the weekend.", by=ROBO, namespace="shared:crew")
    common = place.write("Stove", "Burns pellets.", namespace="global")
    foreign = place.write("Password", "Only the other agent knows it.", by=OTHER)
    gone = place.write("Guests", "Forty guests paid in silver.", by=ROBO)
    erase(place.gate, [gone], principal=OWNER, at=datetime.now(UTC), delete_file=True)
    [row] = place.audit.history(mine, principal=ROBO).versions
    assert (row["content"], row["retired"]) == ("Hangs behind the barrel.", "forgotten")
    said = set()
    for memory_id in (crew, common, foreign, gone, uuid4()):
        with pytest.raises(NotFoundError) as refused:
            place.audit.history(memory_id, principal=ROBO)
        said.add(str(refused.value))
    assert len(said) == 1, "the refusals differ"
    for memory_id in (mine, crew, common, foreign):
        assert place.audit.history(memory_id, principal=OWNER).versions
    with pytest.raises(NotFoundError) as refused:
        place.audit.history(gone, principal=OWNER)
    assert {str(refused.value)} == said


def test_the_owner_hears_of_a_namespace_in_which_nothing_is_live(place: Place) -> None:
    """S7: the last memory of an agent is forgotten; the owner still reads its history, and can bring it back."""
    last = place.write("Key", "Hangs behind the barrel.", by=ROBO)
    forget(place.gate, last, principal=OWNER, at=datetime.now(UTC))
    [row] = place.audit.history(last, principal=OWNER).versions
    assert row["retired"] == "forgotten"


def test_what_waits_for_the_embedder_is_told_to_its_author_only(place: Place) -> None:
    """G1, S7: a pending statement has no row; its author learns that it waits, another agent that there is nothing."""
    waiting = replace(place.gate, embedder=None)
    written = write_memory(
        waiting, Statement("Key", "Behind the barrel.", "agent:robo"), principal=ROBO, at=datetime.now(UTC)
    )
    for who, says in ((ROBO, "waits for the embedder"), (OWNER, "waits for the embedder"), (OTHER, "never existed")):
        with pytest.raises(NotFoundError, match=says):
            place.audit.history(written.memory_id, principal=who)
    [file] = place.audit.review(principal=OWNER).files
    assert (file["path"], file["state"], file["namespace"]) == (written.path, "pending", "agent:robo")
    assert place.audit.review(principal=OTHER).files == []


def _open(place: Place, kind: str, memory_id: UUID, *, namespace: str, hour: int, other: UUID | None = None) -> None:
    place.run(
        "insert into kos.review_items (kind, namespace, memory_id, other_id, code, opened_at)"
        " values (%s, %s, %s, %s, 'number', %s)",
        *(kind, namespace, memory_id, other, datetime(2026, 3, 4, hour, tzinfo=UTC)),
    )


def test_the_review_list_is_filtered_ordered_and_bounded(place: Place) -> None:
    """G9, H3, S12: newest first, kinds as asked, at most `limit`; both sides of a contradiction with their dates; an
    agent sees items of its own namespace alone."""
    left, right = place.write("Stove", "Burns pellets."), place.write("Boiler", "Burns logs in winter.")
    own = place.write("Door", "Sticks in rain.", by=ROBO)
    _open(place, "stale", left, namespace="shared:owner", hour=8)
    _open(place, "contradiction", left, namespace="shared:owner", hour=9, other=right)
    _open(place, "stale", own, namespace="agent:robo", hour=10)
    everything = place.audit.review(principal=OWNER).items
    assert [(item["kind"], item["memory_id"]) for item in everything] == [
        ("stale", own),
        ("contradiction", left),
        ("stale", left),
    ]
    [pair] = place.audit.review(principal=OWNER, kinds=["contradiction"]).items
    assert (pair["heading"], pair["other_heading"]) == ("Stove", "Boiler")
    assert all(pair[name] is not None for name in ("event_at", "created_at", "other_event_at", "other_created_at"))
    assert [item["memory_id"] for item in place.audit.review(principal=OWNER, limit=1).items] == [own]
    assert place.audit.review(principal=OWNER, kinds=["refused"]).items == []
    assert [item["memory_id"] for item in place.audit.review(principal=ROBO).items] == [own]
    forget(place.gate, left, principal=OWNER, at=datetime.now(UTC))
    assert [item["memory_id"] for item in place.audit.review(principal=OWNER).items] == [own]


def test_files_that_the_gate_did_not_write_wait_for_the_owner(place: Place, embedder: Embedder) -> None:
    """V9: refused files are listed with their code, also in a namespace that holds nothing else; a folder whose name no
    namespace can have hides nothing of the others."""
    source = place.write("Key", "Behind the barrel.")
    vault = place.settings.require_vault()
    text = (vault / f"memories/shared/owner/{source}.md").read_text()
    forged = uuid4()
    for folder in ("agent/ghost", "agent/a,b"):
        path = vault / "memories" / folder / f"{forged}.md"
        path.parent.mkdir(parents=True)
        path.write_text(text.replace(str(source), str(forged)).replace("shared:owner", folder.replace("/", ":")))
    (vault / f"memories/shared/owner/{source}.md").write_text(text.replace("barrel", "cask"))
    ingest_vault(place.gate.store, embedder, place.settings)
    files = {file["path"]: file["code"] for file in place.audit.review(principal=OWNER, kinds=["refused"]).files}
    assert files == {
        f"memories/agent/ghost/{forged}.md": "not_written_by_gate",
        f"memories/shared/owner/{source}.md": "changed_after_write",
    }
    assert place.audit.review(principal=OWNER, kinds=["pending", "stale"]).files == []
    assert place.audit.review(principal=ROBO).files == []


def test_what_is_left_out_of_a_long_list_is_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """S7, H3: a history or a list that is cut says so; a whole one does not."""
    memory_id = place.write("Oven", "It heats to 240.")
    for how in ("test", "person", "source"):
        verify(place.gate, memory_id, how=how, principal=OWNER, at=datetime.now(UTC))
    whole = place.audit.history(memory_id, principal=OWNER)
    assert (len(whole.events), whole.more) == (4, False)
    monkeypatch.setattr("kos_assets.audit.reader.MOST_EVENTS", 3)
    cut = place.audit.history(memory_id, principal=OWNER)
    assert (list(cut.events), cut.more) == (list(whole.events)[:3], True)
    for number in range(2):
        place.run(
            "insert into kos.review_items (kind, code, memory_id, namespace, opened_at)"
            " values ('stale', 'unverified', %s, 'shared:owner', now())",
            place.write(f"Door {number}", f"The code is {number}, says keeper {number}."),
        )
    assert [place.audit.review(principal=OWNER, limit=limit).more for limit in (1, 2)] == [True, False]
