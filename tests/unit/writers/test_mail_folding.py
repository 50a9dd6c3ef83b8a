"""Quotes and signatures: what is folded, and what must not be lost (W3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.writers.mail.folding import Known, folded

PARENT = "Shall we water bed A on Monday?\n\nAnd who brings the gloves and the long hose from the shed?"
QUOTE = "\n".join(f"> {line}".rstrip() for line in PARENT.splitlines())


def known(*texts: str) -> Known:
    found = Known()
    for text in texts:
        found.add(text)
    return found


@pytest.mark.parametrize(
    "wrote",
    [
        "On Wed, 4 Mar 2026 at 10:00, Ben Fern <ben@garden.example> wrote:",
        "On Wed, 4 Mar 2026 at 10:00, Ben Fern\n<ben@garden.example>\nwrote:",
        "Am 04.03.2026 um 10:00 schrieb Ben Fern:",
        "Le mer. 4 mars 2026 à 10:00, Ben Fern <ben@garden.example> a écrit :",
        "El mié, 4 mar 2026 a las 10:00, Ben Fern (<ben@garden.example>) escribió:",
        "Il giorno mer 4 mar 2026 alle ore 10:00 Ben Fern ha scritto:",
        "Op 4 mrt. 2026 om 10:00 schreef Ben Fern:",
        "Den ons. 4. mar. 2026 kl. 10.00 skrev Ben Fern <ben@garden.example>:",
        "4 марта 2026 г., 10:00, Ben Fern <ben@garden.example> написал:",
        "W dniu 04.03.2026 o 10:00, Ben Fern napisał:",
        "于2026年3月4日周三 10:00写道：",
        "2026年3月4日(水) 10:00 Ben Fern <ben@garden.example>:",
        "Ben Fern 님이 2026년 3월 4일 10:00에 작성:",
        "Quoting Ben Fern <ben@garden.example> on 2026-03-04:",
    ],
)
def test_an_answer_above_its_quote(wrote: str) -> None:
    """W3: what the thread has already goes, with the line above it, whoever's language that is in."""
    assert folded(f"Yes, Monday.\n\n{wrote}\n\n{QUOTE}\n", known(PARENT)) == "Yes, Monday."


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\nFrom: Ben Fern\nSent: Wednesday\nTo: Ilka\nSubject: Plan",
        "________________________________\nVon: Ben Fern\nGesendet: Mittwoch\nAn: Ilka\nBetreff: Plan",
        "**From:** Ben Fern <ben@garden.example>\n**Sent:** Wednesday\n**To:** Ilka\n**Subject:** Plan",
        "De : Ben Fern\nEnvoyé : mercredi\nÀ : Ilka\nObjet : Plan",
        "发件人： Ben Fern\n发送时间：2026年3月4日\n收件人： Ilka\n主题：Plan",
        "---------- Forwarded message ---------\nFrom: Ben <ben@garden.example>\nDate: Wed\nSubject: Plan\nTo: Ilka",
        "-------- Ursprüngliche Nachricht --------",
    ],
)
def test_an_answer_above_an_original_message(head: str) -> None:
    """W3: programs that mark no lines; known, it goes; the only copy is kept behind a fold, with its head."""
    text = f"Yes, Monday.\n\n{head}\n\n{PARENT}\n"
    assert folded(text, known(PARENT)) == "Yes, Monday."
    kept = folded(text, known())
    assert kept.startswith("Yes, Monday.\n\n> [!quote]- ")
    assert kept.endswith(
        "> Shall we water bed A on Monday?\n>\n> And who brings the gloves and the long hose from the shed?"
    )


def test_answers_between_the_lines_keep_what_they_answer() -> None:
    """W3: an answer below a quote means nothing without it, so its last lines stay."""
    text = (
        f"> {PARENT.splitlines()[0]}\nYes.\n\n> And who brings the gloves and the\n> long hose from the shed?\nI do.\n"
    )
    assert folded(text, known(PARENT)) == (
        "> Shall we water bed A on Monday?\n\nYes.\n\n"
        "> And who brings the gloves and the\n> long hose from the shed?\n\nI do."
    )
    long = "\n".join(f"> line number {number} of the plan" for number in range(9))
    answer = folded(f"Ben wrote on 2026-03-04:\n{long}\n\nFine.", known(long.replace("> ", "")))
    assert answer == "> … line number 7 of the plan\n> line number 8 of the plan\n\nFine."


def test_a_quote_that_is_the_only_copy_is_kept() -> None:
    """W3: folded, with who wrote it; a long one is cut, and says so; a short one stands as it is."""
    kept = folded(f"Yes.\n\nOn 4 Mar 2026 10:00 Ben <ben@x.example> wrote:\n{QUOTE}", known("something else"))
    first, *rest = kept.split("\n\n", 1)[1].splitlines()
    assert first == "> [!quote]- On 4 Mar 2026 10:00 Ben <ben@x.example> wrote"
    assert rest == QUOTE.splitlines()
    long = folded("Yes.\n" + "> words and words\n" * 500, known())
    assert long.endswith("> words and words\n> […]")
    assert len(long) < 4_500
    assert folded("> just this\nNo.", known()) == "> just this\n\nNo."


@pytest.mark.parametrize(
    "below",
    [
        "-- \nBen Fern\nGarden Ltd\n+43 1 234",
        "--\nBen",
        "Sent from my iPhone",
        "Von meinem iPhone gesendet",
        "Envoyé de mon iPhone",
        "Get Outlook for Android",
        "_______________________________________________\nGarden mailing list\nGarden@x.example\nhttp://x.example/mailman/listinfo/garden",
        "-- \nBen\n\n_______________________________________________\nTo unsubscribe, write to x@x.example",
    ],
)
@pytest.mark.parametrize("after", ["", "\n\nBen wrote on 2026-03-04 10:00:\n" + QUOTE])
def test_signatures(below: str, after: str) -> None:
    """W3: signatures, footers of lists, `sent from my`: gone at the end and above a quote."""
    assert folded(f"Yes, Monday.\n\n{below}{after}", known(PARENT)) == "Yes, Monday."


@pytest.mark.parametrize(
    "text",
    [
        "Thanks,\nplease also bring the keys.\n\nBest regards, Ben",
        "We need:\n- gloves\n- a hose\n\n--- later ---\nseeds",
        "Two things:\n\n-----------\n\nfirst\nsecond",
        "He wrote:\nnothing at all, and I wrote: nothing.",
        "From: the garden\nwith love",
        "-- \nBen",
        "a --\nb",
    ],
)
def test_what_only_looks_like_a_signature_or_a_quote_stays(text: str) -> None:
    """W3: nothing that a person wrote is lost to a rule of thumb."""
    assert folded(text, known()).split() == text.split()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "own words",
                "> quoted words",
                ">> deeper",
                "",
                "-- ",
                "Ben wrote on 2026-03-04:",
                "From: a",
                "To: b",
                "Subject: c",
                "AB> x",
                "_" * 40,
            ]
        ),
        max_size=25,
    )
)
def test_no_word_of_ones_own_is_lost_without_a_signature(lines: list[str]) -> None:
    """W3: whatever the order of lines, folding ends, and own words above any mark of a signature are kept."""
    text = "\n".join(lines)
    result = folded(text, known())
    if "own words" in lines and not any(line.startswith(("-- ", "_")) for line in lines):
        assert result.count("own words") == lines.count("own words")
