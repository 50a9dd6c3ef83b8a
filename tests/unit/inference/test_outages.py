"""Whose fault a failed call is, and when the provider answers again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kos_assets.errors import ConfigError, ItemError, ProviderUnavailableError
from kos_assets.inference import outages, resets
from kos_assets.inference.outages import Fault, ItemFault, Outage

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 13, 30, tzinfo=BERLIN)
"""A Tuesday."""
HOUR = 3600.0


def verdict(status: int, said: str, **headers: str) -> Fault:
    return outages.from_status(status, said, {name.replace("_", "-"): value for name, value in headers.items()}, NOW)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Your credit balance is too low to access the API."),
        (400, "output_config.format.schema: unsupported keyword"),
        (400, "`temperature` is not supported on this model"),
        (400, "This model does not support structured outputs."),
        (401, "invalid x-api-key"),
        (402, "Payment required"),
        (403, "Your organization has been disabled."),
        (404, "model 'x' not found"),
        (408, "timeout"),
        (409, "conflict"),
        (429, "Number of request tokens has exceeded your rate limit: context window"),
        (499, "closed"),
        (500, "internal"),
        (502, "<html>Bad gateway</html>"),
        (503, "loading model"),
        (529, "Overloaded"),
        (0, "an error in the middle of a stream"),
        (302, "moved"),
    ],
)
def test_what_no_item_can_help_is_an_outage(status: int, said: str) -> None:
    """E5: limits, time-outs, 5xx, accounts and our own request are no fault of an item."""
    assert isinstance(verdict(status, said), Outage)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "prompt is too long: 250000 tokens > 200000 maximum"),
        (400, "messages.0.content: text content blocks must be non-empty"),
        (400, "Output blocked by content filtering policy"),
        (413, "Request exceeds the maximum size"),
        (422, "cannot be read"),
        (500, "input (9000 tokens) is too large to process"),
        (400, "the request exceeds the available context size, try increasing it"),
        (0, "context window exceeded"),
    ],
)
def test_what_would_fail_again_is_the_items_fault(status: int, said: str) -> None:
    """E5: a text too long for the model and a refused content count as an attempt."""
    assert isinstance(verdict(status, said), ItemFault)


def test_retry_after_in_its_forms() -> None:
    """E5: the lane pauses until the stated time: seconds, milliseconds, a date; nonsense is no time."""
    assert verdict(429, "slow", retry_after="17") == Outage("429: slow", 17.0)
    assert verdict(529, "Overloaded", retry_after="0.5").retry_after_s == 0.5  # type: ignore[union-attr]
    assert verdict(429, "", retry_after_ms="1500", retry_after="9").retry_after_s == 1.5  # type: ignore[union-attr]
    assert verdict(503, "", retry_after="Tue, 01 Dec 2026 12:31:00 GMT").retry_after_s == 60.0  # type: ignore[union-attr]
    for nonsense in ("soon", "", "nan", "inf", "1e300", "99999999999"):
        assert verdict(429, "", retry_after=nonsense).retry_after_s is None  # type: ignore[union-attr]
    assert verdict(429, "", retry_after="-5").retry_after_s == 0.0  # type: ignore[union-attr]
    assert verdict(429, "Please try again in 20s.").retry_after_s == 20.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "wait_h"),
    [
        ("Claude usage limit reached. Your limit will reset at 3pm (America/Bogota).", 7.5),
        ("5-hour limit reached ∙ resets 3pm", 1.5),
        ("5-hour limit reached ∙ resets 12:59pm", 23 + 29 / 60),
        ("You've hit your limit · resets 3:20pm (Asia/Shanghai)", 18 + 50 / 60),
        ("You've hit your session limit · resets 4:20am (Europe/Warsaw)", 14 + 50 / 60),
        ("You've hit your limit · resets Dec 4, 11am (Europe/Berlin)", 69.5),
        ("Weekly limit reached ∙ resets Dec 4 at 5pm", 75.5),
        ("You've hit your weekly limit · resets Jan 2, 2027, 1:30pm (Europe/Berlin)", 32 * 24.0),
        ("You're out of extra usage · resets Fri 9am", 67.5),
        ("Usage limit reached, resets in 4hr 29min", 4 + 29 / 60),
        ("You've hit your limit · resets 15:00", 1.5),
        ("You've hit your limit · resets 12am (UTC)", 11.5),
        ("You've hit your limit · resets 3pm (Nowhere/Atlantis)", 1.5),
    ],
)
def test_resets_that_sentences_name(said: str, wait_h: float) -> None:
    """E5: quota texts of the command-line client, with zone, date, weekday or span, give the lane's time."""
    found = outages.from_text(said, NOW)
    assert isinstance(found, Outage)
    assert found.retry_after_s == pytest.approx(wait_h * HOUR)


def test_an_epoch_after_a_bar_is_the_reset() -> None:
    """E5: an older client prints seconds, a still older one milliseconds, after a bar."""
    at = int((NOW + timedelta(hours=2)).timestamp())
    for stated in (f"Claude AI usage limit reached|{at}", f"Claude AI usage limit reached|{at}000"):
        found = outages.from_text(stated, NOW)
        assert isinstance(found, Outage)
        assert found.retry_after_s == pytest.approx(2 * HOUR)


def test_a_reset_that_has_just_passed_is_near() -> None:
    """E5: clocks differ by minutes: 'resets 1:20pm', read at 1:30pm, is no pause of a day."""
    assert resets.from_text("resets 1:20pm", NOW) == resets.JUST_PASSED_S
    assert resets.from_text(f"limit reached|{int(NOW.timestamp()) - 5}", NOW) == resets.JUST_PASSED_S
    assert resets.from_text("resets Nov 30, 11am", NOW) == resets.JUST_PASSED_S


def test_summer_time_is_counted() -> None:
    """E5: across the change of clocks the wait is by real hours."""
    before = datetime(2026, 10, 24, 22, 0, tzinfo=BERLIN)
    assert resets.from_text("resets 4am", before) == 7 * HOUR


@pytest.mark.parametrize("said", ["resets soon", "", "resets 25:00", "resets 13pm", "resets Feb 31, 9am", "reset"])
def test_no_time_is_none(said: str) -> None:
    """E5: without a time the lane backs off."""
    assert resets.from_text(said, NOW) is None


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', Outage),
        ('API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}', Outage),
        ("API Error (Connection error.)", Outage),
        ("API Error: Request timed out.", Outage),
        ("Invalid API key · Please run /login", Outage),
        ("OAuth token has expired. Please obtain a new token", Outage),
        ("Credit balance is too low", Outage),
        ('{"error_type":"grace_daily_limit_reached"}', Outage),
        ("connect ECONNREFUSED 127.0.0.1:443", Outage),
        ("Prompt is too long", ItemFault),
        ('API Error: 400 {"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}', ItemFault),
        (
            "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
            ItemFault,
        ),
        ("API Error: Claude's response exceeded the 32000 output token maximum.", ItemFault),
        ("Here are the entities that I found.", type(None)),
    ],
)
def test_sentences_of_the_client(said: str, kind: type) -> None:
    """E5: what the command-line client prints is sorted by whose fault it is."""
    assert type(outages.from_text(said, NOW)) is kind


def test_verdicts_travel_as_exceptions() -> None:
    """E5: an outage's time and reason survive the way through an exception; other errors are no verdict."""
    outage = outages.as_error(Outage("429: slow", 9.0), "It", fix="wait")
    assert isinstance(outage, ProviderUnavailableError)
    assert (outage.retry_after_s, outage.why, outage.fix) == (9.0, "429: slow", "wait")
    assert outages.fault_of(outage) == Outage("It cannot be used now.: 429: slow", 9.0)
    fault = outages.as_error(ItemFault("bad"), "It")
    assert isinstance(fault, ItemError)
    assert isinstance(outages.fault_of(fault), ItemFault)
    assert outages.fault_of(ConfigError("x")) is None


@given(status=st.integers(0, 599), said=st.text(max_size=80), after=st.text(max_size=12))
@hypothesis_settings(max_examples=150)
def test_every_status_has_a_verdict(status: int, said: str, after: str) -> None:
    """E5: whatever comes back is an outage or an item's fault, with a wait that a lane can hold."""
    found = outages.from_status(status, said, {"retry-after": after}, datetime(2026, 12, 1, tzinfo=UTC))
    assert isinstance(found, Outage | ItemFault)
    if isinstance(found, Outage):
        assert found.retry_after_s is None or 0 <= found.retry_after_s <= resets.LONGEST_S
    if status in {408, 429, 503, 529}:
        assert isinstance(found, Outage) or "longer than the model reads" in found.reason


@given(text=st.text(alphabet="resetin at0123456789:apm(UTC/)DecFri,|limitached ", max_size=60))
@hypothesis_settings(max_examples=200)
def test_no_sentence_breaks_the_reader(text: str) -> None:
    """E5: any text gives a bounded wait or none."""
    found = resets.from_text(text, NOW)
    assert found is None or 0 <= found <= resets.LONGEST_S
