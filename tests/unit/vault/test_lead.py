"""The date in a note's first lines."""

from __future__ import annotations

import datetime as dt
import time
from zoneinfo import ZoneInfo

import pytest

from kos_assets.vault.lead import lead_date

DAY = dt.datetime(2026, 3, 4, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "body",
    [
        "2026-03-04",
        "# Call\n\nBerlin, den 4. März 2026\n\nLiebe Ada, am 1. Mai 2026 …",
        "**Date:** 2026-03-04\n**Due:** 2026-05-01",
        "Date:: [[2026-03-04]]",
        "- Datum: Mittwoch, 4. März 2026",
        "Wednesday, March 4th, 2026 with Ada",
        "Fecha: 4 de marzo de 2026",
        "Le 4 mars 2026, nous avons décidé.",
        "Дата: 4 марта 2026 г.",
        "日期：2026年3月4日",
        "日時：２０２６年３月４日",
        "날짜: 2026년 3월 4일",
        "We met on 4 March 2026 and agreed.",
        "We met on 4 March 2026.\nOn March 4, 2026 we agreed.",
        "> [!info] Date: 2026-03-04",
        "%% 2020-01-01 %%\nSaid on 2026-03-04.",
        "```dataview\nWHERE date = 2020-01-01\n```\nSaid on 2026-03-04.",
        "```\n2020-01-01\n```\nsaid on 2026-03-04",
        "see [2020-01-01](2020-01-01.md), [[2020-01-01]] and `2020-01-01`; said on 2026-03-04",
        "https://example.org/2020-01-01/x and www.example.org/2020/01/02 and log_2020-01-03.txt of 2026-03-04",
        "- [ ] send it by 2020-01-01\n\nSaid on 2026-03-04",
        "Milk 📅 2020-01-01\nSaid on 2026-03-04",
        "Due 2020-01-01, said on whichever day.\nSaid on 2026-03-04",
    ],
)
def test_a_full_date_counts(body: str) -> None:
    """S10: at the head of a line, after a word for it, or as the only day that the first lines name."""
    when = lead_date(body, dt.UTC)
    assert when is not None
    assert when.at == DAY


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nothing",
        "in March 2026",
        "on 03/04/2026",
        "on 03/04/2026, and again on 2026-03-04",
        "between 2026-03-04 and 2026-03-05",
        "Due: 2026-03-04",
        "Updated 2026-03-04",
        "Gegründet am 4. März 2026",
        "Google Drive was launched on March 4, 2026",
        "see [[2026-03-04]]",
        "see [x](https://example.org/2026-03-04) or https://example.org/2026-03-04",
        "`2026-03-04`",
        "~~~\n2026-03-04\n~~~",
        "    2026-03-04",
        "- [x] 2026-03-04",
        "version 2026.03.04 of it",
        "order 20260304",
        "one\ntwo\n\n## Log\n2026-03-04 done",
        "a\nb\nc\nd\ne\nwe met on 2026-03-04",
        "a\n" * 12 + "2026-03-04",
        "x" * 5000 + "\n2026-03-04",
        "![2026-03-04](x.png)",
        "<img alt='2026-03-04'>",
    ],
)
def test_anything_less_does_not(body: str) -> None:
    """S10: no guess between two days, no date of something else, none from code, links, addresses or far below."""
    assert lead_date(body, dt.UTC) is None


def test_zones_in_text() -> None:
    """S10: a zone that the text names wins over the note's."""
    when = lead_date("2026-03-04 10:15 America/New_York, call", ZoneInfo("Europe/Berlin"))
    assert when is not None
    assert (when.at, when.zone) == (dt.datetime(2026, 3, 4, 15, 15, tzinfo=dt.UTC), "America/New_York")
    when = lead_date("Call of 4. März 2026, 10:15 Uhr", ZoneInfo("Europe/Berlin"))
    assert when is not None
    assert (when.at.hour, when.zone) == (9, "Europe/Berlin")


@pytest.mark.parametrize("line", ["1 ", "2026-", "> ", "- ", "[[", "`", "<", "4. März ", "https://", "[a](", "::[["])
def test_time_is_bounded(line: str) -> None:
    """V4: a note of any size costs what its first 4,000 characters cost."""
    start = time.process_time()
    for end in ("", "\n"):
        lead_date((line + end) * 500_000, dt.UTC)
    assert time.process_time() - start < 0.5
