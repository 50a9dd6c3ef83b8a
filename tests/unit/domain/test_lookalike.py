"""The look-alike guard, code by code, and what always holds of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kos_assets.domain.contradiction import disagrees
from kos_assets.domain.lookalike import Wording, difference

_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200)
_PHRASES = st.lists(
    st.sampled_from(
        ["the", "gateway", "Anna", "Jonas", "8443", "9443", "2.4.1", "not", "before", "after", "May", "heeds", "node_1"]
    ),
    max_size=9,
).map(" ".join)
_SENTENCES = st.builds(Wording, _PHRASES, _PHRASES)
_WORDINGS = st.builds(Wording, _TEXT, _TEXT)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (("Node 12 of the mesh", "It hangs at the mill."), ("Node 13 of the mesh", "It hangs at the mill."), "number"),
        (("Release 2.4.0", "It is out."), ("Release 2.4.1", "It is out."), "version"),
        (("Minutes of 2026-05-12", "All agreed."), ("Minutes of 2026-05-19", "All agreed."), "date"),
        (("Model gemma3 on the host", "It fits."), ("Model gemma4 on the host", "It fits."), "identifier"),
        (("Talk with Lena", "About the roof."), ("Talk with Paul", "About the roof."), "name"),
        (("User can delete", "Shown to members."), ("User cannot delete", "Shown to members."), "negation"),
        (("Vitamin d dosage", "One drop a day."), ("Vitamin k dosage", "One drop a day."), "heading"),
        (("Daily log", "Mended the fence."), ("Daily log", "Sorted the invoices."), "other_content"),
        (("Server inventory entry", "Host lyra1, 16 GiB."), ("Server inventory entry", "Host vega2, 32 GiB."),
         "other_content"),
        (("Known issues of the release", "The importer crashes on empty files."),
         ("Known issues of the release", "The exporter crashes on empty files."), "other_content"),
        (("Allergies in the family", "The son is allergic to peanuts."),
         ("Allergies in the family", "The daughter is allergic to peanuts."), "other_content"),
        (("Аллергии детей", "У Миши аллергия на орехи."), ("Аллергии детей", "У Кати аллергия на орехи."),
         "other_content"),
        (("Sync from laptop to server", "Runs at night."), ("Sync from server to laptop", "Runs at night."), "heading"),
        (("Transfer from Ann to Bob", "Every May."), ("Transfer from Bob to Ann", "Every May."), "heading"),
        (("Firewall rule web->db", "Port 5432."), ("Firewall rule db->web", "Port 5432."), "identifier"),
        (("Blood group A-", "Give no more."), ("Blood group A+", "Give no more."), "identifier"),
        (("Grade A+", "Passed."), ("Grade A", "Passed."), "identifier"),
        (("Course in C", "On Mondays."), ("Course in C#", "On Mondays."), "identifier"),
        (("Пароль сервера А", "Лежит в сейфе."), ("Пароль сервера Б", "Лежит в сейфе."), "identifier"),
        (("东区服务器", "服务器每周一重启。"), ("西区服务器", "服务器每周一重启。"), "heading"),
        (("Порт шлюза 1", "Слушает."), ("Порт шлюза 2", "Слушает."), "number"),
        (("منفذ البوابة الأولى", "تستمع."), ("منفذ البوابة الثانية", "تستمع."), "heading"),
        (("เซิร์ฟเวอร์ 1", "รีสตาร์ท"), ("เซิร์ฟเวอร์ 2", "รีสตาร์ท"), "number"),
    ],
)  # fmt: skip
def test_two_things_in_near_identical_words(old: tuple[str, str], new: tuple[str, str], code: str) -> None:
    """G4: headings that differ in number, date, version, identifier, name, negation; one template, other content."""
    assert difference(Wording(*new), Wording(*old)) == code
    assert difference(Wording(*old), Wording(*new)) == code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("Port of the gateway", "It listens on 8443."), ("Port of the gateway", "It listens on 9443.")),
        (("Owner of billing", "Billing is owned by Anna."), ("Owner of billing", "Billing is owned by Jonas.")),
        (
            ("Backup of the NAS", "It runs every night at 02:00."),
            ("Backup of the NAS", "Every night at 02:00 it runs."),
        ),
        (
            ("Lint before a push", "CI takes eleven minutes."),
            ("Lint before a push", "CI takes eleven minutes, at best."),
        ),
        (("Tutorial", "Open the file."), ("Tutorial", "Open the file with a click.")),
        (("网关的端口", "网关在8443端口上监听。"), ("网关的端口", "网关在9443端口上监听。")),
        (("网关端口", "网关监听8443端口。"), ("网关端口", "网关在8443端口上监听。")),
        (("Gateway port", "The service listens on 8080."), ("Gateway port", "The service listens on 9090.")),
        (("Maintainer of the parser", "Ines maintains the parser."),
         ("Maintainer of the parser", "Omar maintains the parser.")),
        (("Don't trust the preview", "It can't draw tables."), ("Do not trust the preview", "It cannot draw tables.")),
        (("Start of the shift", "The late shift starts before noon."),
         ("Start of the shift", "The late shift starts after noon.")),
        (("On-call rules", "If paged, answer within 5 min."), ("On-call rules", "If paged, answer within 5 minutes.")),
    ],
)  # fmt: skip
def test_a_restatement_and_a_corrected_value_may_supersede(old: tuple[str, str], new: tuple[str, str]) -> None:
    """G4: the same heading with a changed value is a correction."""
    assert difference(Wording(*new), Wording(*old)) is None


def test_long_documents_that_share_an_opening_never_fold() -> None:
    """G4: beyond the model's window the whole text is compared; a small edit of a long document passes."""
    opening = " ".join(f"Sentence {number} of the shared opening is here." for number in range(40))
    first = f"{opening} {' '.join(f'The mill was measured at point {n}.' for n in range(60))}"
    second = f"{opening} {' '.join(f'Birds were counted near tree {n}.' for n in range(60))}"
    heading = "Survey of the lake"
    assert difference(Wording(heading, second), Wording(heading, first)) == "whole_text"
    assert difference(Wording(heading, f"{first} That is all."), Wording(heading, first)) is None


def test_a_short_version_does_not_retire_what_says_more() -> None:
    """G4: knowledge that only the older one holds is not hidden."""
    whole = "Install the driver, add the queue, set duplex off, print a test page, and use tray 2 since tray 1 jams."
    assert difference(
        Wording("Setup of the printer", "Install the driver."), Wording("Setup of the printer", whole)
    ) == ("shorter")


@pytest.mark.parametrize("text", ["a" * 5_000_000, "a-" * 2_500_000, "word " * 1_000_000, "网" * 2_000_000])
def test_five_megabytes_are_read_in_a_bounded_way(text: str) -> None:
    """G4: no text makes the guard crash or hang; what is not read to its end is not folded."""
    assert difference(Wording("One heading here", text), Wording("One heading here", f"{text}!")) == "whole_text"


@given(_WORDINGS)
def test_a_text_never_differs_from_itself(wording: Wording) -> None:
    """G4: always: equal wordings state the same."""
    assert difference(wording, wording) is None
    assert disagrees(wording, wording) is None


@given(_SENTENCES, _SENTENCES)
def test_a_veto_holds_both_ways(left: Wording, right: Wording) -> None:
    """G4: always: which of the two was written first decides only about what would be lost with the older one."""
    codes = {difference(left, right), difference(right, left)}
    assert codes <= {None, "shorter", "other_content"} or None not in codes


@given(_WORDINGS, _WORDINGS)
def test_codes_are_codes(left: Wording, right: Wording) -> None:
    """G4, S11: never a word of the texts, whatever they hold."""
    known = {
        None, "number", "version", "date", "identifier", "name", "negation", "heading", "whole_text", "other_content",
        "shorter",
    }  # fmt: skip
    assert {difference(left, right), difference(right, left), disagrees(left, right)} <= known
