"""What a request may say and what its times mean."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from kos_assets.domain.moments import moment
from kos_assets.serving.models import FetchAnswer, SearchAnswer, SearchRequest
from kos_assets.serving.problems import input_error
from kos_assets.serving.rest import SEARCH_EXAMPLE

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "last", "expected"),
    [
        ("2026-05-31", False, datetime(2026, 5, 30, 22, tzinfo=UTC)),
        ("2026-05-31", True, datetime(2026, 5, 31, 21, 59, 59, 999999, tzinfo=UTC)),
        ("2026-01-31T09:00", True, datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-05-31T09:00:00Z", False, datetime(2026, 5, 31, 9, tzinfo=UTC)),
        ("2026-05-31T09:00:00-07:00", True, datetime(2026, 5, 31, 16, tzinfo=UTC)),
    ],
)
def test_moment_is_aware_utc_read_in_the_persons_zone(text: str, last: bool, expected: datetime) -> None:
    """S10: a time without a zone is the person's; a date as an upper bound includes its day."""
    assert moment(text, BERLIN, last=last) == expected
    assert moment(None, BERLIN) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": "x" * 4001},
        {"query": "a\x00b"},
        {"query": "\ud800"},
        {"limit": 0},
        {"limit": 101},
        {"types": ["fact"]},
        {"namespaces": []},
        {"since": "yesterday"},
        {"home": "a\x00"},
        {"qurey": "kafka"},
        {"session": "s" * 201},
    ],
)
def test_a_request_out_of_range_is_refused_by_name_and_without_its_value(wrong: dict[str, Any]) -> None:
    """X4: sizes are limited; the refusal names the field and does not repeat what was sent."""
    with pytest.raises(ValidationError) as caught:
        SearchRequest.model_validate(wrong)
    error = input_error(caught.value.errors())
    assert (error.why or "").startswith(next(iter(wrong)))
    assert "yesterday" not in str(error)
    assert len(str(error)) < 400


def test_the_longest_allowed_query_and_no_query_at_all_are_fine() -> None:
    """R5: rows chosen by filters alone need no query."""
    assert len(SearchRequest(query="x" * 4000).query) == 4000
    assert SearchRequest(types=["semantic"], home="").query == ""


def test_models_and_payloads_have_the_same_fields(samples: Any) -> None:
    """X1: an undocumented or forgotten field fails."""
    SearchAnswer.model_validate(samples.found())
    SearchAnswer.model_validate(SEARCH_EXAMPLE)
    FetchAnswer.model_validate({"memories": [samples.memory()], "missing": []})
    with pytest.raises(ValidationError):
        SearchAnswer.model_validate(samples.found(extra=1))
