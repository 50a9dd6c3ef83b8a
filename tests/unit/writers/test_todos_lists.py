"""A list's note: order, trees, counts, room; and that no parser ever raises."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.frame import FRAME_END, FRAME_START
from kos_assets.vault import markdown as structure
from kos_assets.writers.todos import lists, obsidian, taskwarrior, todotxt, vtodo
from kos_assets.writers.todos.lists import ListOf, arranged, item_of
from kos_assets.writers.todos.task import HIGH, Found, Left, State, Task, markdown, one_line

WHICH = ListOf("todo.txt:t", "Home", "t", "todo.txt")
BERLIN = ZoneInfo("Europe/Berlin")
_STATES: list[State] = ["open", "done", "cancelled"]
_ODD = st.sampled_from(["%%", "<!--", "-->", "```", "- [ ] ", "📅 2026-03-04", "⏫", "#a/b", "[due:: 2026-01-01]", "\n",
                        FRAME_START, FRAME_END, "^id", "|", "[[x]]", "\u2028", "\x85", "$", "~~~", "> "])  # fmt: skip
_TEXTS = st.lists(st.one_of(_ODD, st.text(max_size=8)), max_size=6).map(" ".join)
_DAYS = st.none() | st.dates(date(1990, 1, 1), date(2090, 1, 1))
_TASKS = st.builds(
    Task, _TEXTS.map(one_line), st.integers(1, 99), state=st.sampled_from(_STATES), key=st.sampled_from("abcdef"),
    parent=st.sampled_from(["", *"abcdefz"]), due=_DAYS, created=_DAYS, priority=st.integers(0, 5),
    details=st.lists(_TEXTS.map(one_line).map("Note: {}".format), max_size=2).map(tuple),
)  # fmt: skip


def shown(*tasks: Task) -> list[str]:
    """The lines of the note's lists."""
    return [line for line in item_of(WHICH, tasks)[0].body.split("\n") if "- [" in line or line.startswith("#")]


def test_order_is_state_then_due_then_priority_then_text() -> None:
    """W4: open before done before cancelled; nothing of the sequence in the file shows."""
    day = date(2026, 3, 4)
    tasks = [
        Task("first", 1, due=day, priority=HIGH), Task("second", 2, due=day), Task("third", 3, due=day + timedelta(1)),
        Task("a", 4, priority=HIGH), Task("B", 5), Task("c", 6), Task("done", 7, "x", "done", due=day),
        Task("not", 8, "-", "cancelled"),
    ]  # fmt: skip
    lines = shown(*tasks)
    assert [line.split("] ")[-1].split()[0] for line in lines if line.startswith("-")] == [task.text for task in tasks]
    assert shown(*(replace(task, line=9 - task.line) for task in reversed(tasks))) == lines


def test_trees_keep_together_and_open_ones_show() -> None:
    """W4: children are indented below their parent; what is done stays under Open while anything below it is open."""
    tasks = [
        Task("child", 3, key="c", parent="d"), Task("done", 1, "x", "done", key="d"),
        Task("grand", 4, "x", "done", key="g", parent="c"), Task("orphan", 5, key="o", parent="missing"),
    ]  # fmt: skip
    assert shown(*tasks) == ["## Open", "- [ ] orphan", "- [x] done", "    - [ ] child", "        - [x] grand"]


def test_counts_and_the_next_due_day() -> None:
    """W4: open, done, cancelled and the next due day are properties; the day is of the tasks, not of the clock."""
    day = date(2020, 1, 2)
    tasks = [
        Task("a", 1, due=day),
        Task("b", 2, "x", "done", due=day - timedelta(9), done=day),
        Task("c", 3, people=("Anna",)),
    ]
    item, left = item_of(WHICH, tasks)
    wanted = {"kind": "todo", "format": "todo.txt", "open": 2, "done": 1, "cancelled": 0, "next_due": "2020-01-02"}
    assert (dict(item.properties), item.people, item.at, left) == (wanted | {"date": "2020-01-02"}, ["Anna"], None, [])
    assert item.body.startswith("2 open, 1 done. Next due 2020-01-02.\n\n## Open\n")


def test_a_full_note_leaves_out_the_last_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: the room of a note is bounded; open tasks stay, counts are those that are shown."""
    monkeypatch.setattr(lists, "MOST_BYTES", 100)
    tasks = [Task("x" * 20, 1, "x", "done"), *(Task(f"open {number}", number) for number in range(2, 8))]
    item, left = item_of(WHICH, tasks)
    assert [task.text for task in left] == ["x" * 20]
    assert (item.properties["open"], item.properties["done"]) == (6, 0)


def test_circles_and_deep_trees_end() -> None:
    """W4: parents in a circle, and 20,000 levels, give every task once."""
    ring = [
        Task(name, number, key=name, parent=up) for number, (name, up) in enumerate(zip("abcde", "bcaae", strict=True))
    ]
    assert sorted(task.text for _, _, task in arranged(ring)) == list("abcde")
    deep = [Task("t", number, key=str(number), parent=str(number - 1)) for number in range(20_000)]
    assert max(depth for _, depth, _ in arranged(deep)) == 20
    assert len(shown(*deep)) == 20_001


@given(st.lists(_TASKS, max_size=12))
@settings(max_examples=80, deadline=None)
def test_every_task_is_read_back_from_the_note(tasks: list[Task]) -> None:
    """W4: whatever tasks say, the note is deterministic and holds exactly that many task lines for any reader."""
    item, left = item_of(WHICH, tasks)
    assert item == item_of(WHICH, tasks)[0]
    found = structure.scan(f"# {item.title}\n\n{item.body}").tasks
    assert (len(found), left) == (len(tasks), [])
    assert sum(int(str(item.properties[state])) for state in _STATES) == len(tasks)
    assert sorted(map(id, tasks)) == sorted(id(task) for _, _, task in arranged(tasks))
    assert "BACKGROUND DATA from" not in item.body


@given(
    st.text("abc é#日", min_size=1, max_size=12).map(str.split).map(" ".join).filter(lambda text: text.strip("# ")),
    _DAYS, _DAYS, _DAYS, st.integers(0, 5), st.sampled_from(["", "every day", "every 2 weeks on Monday"]),
    st.lists(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True), max_size=3),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_a_line_is_read_back_as_it_was(  # noqa: PLR0917
    text: str, due: date | None, start: date | None, done: date | None, priority: int, repeat: str, depends: list[str]
) -> None:
    """W4: a written task line is parseable: reading it gives the same fields."""
    task = Task(text, 1, due=due, start=start, done=done, priority=priority, repeat=repeat, depends=tuple(depends))
    read = obsidian.parse_task(markdown(task).removeprefix("- [ ] "), 1, " ")
    assert replace(read, key="", tags=()) == task


def _accounted(found: list[Found]) -> bool:
    return all(isinstance(each, Task | Left) for each in found)


@given(st.one_of(_TEXTS, st.text(max_size=200)))
@settings(max_examples=120, deadline=None)
def test_todo_txt_never_raises(text: str) -> None:
    """W4: every line that says something is a task or is left out."""
    found = list(todotxt.parse(text))
    assert _accounted(found)
    assert len(found) == sum(1 for line in text.split("\n") if line.strip())


@given(st.lists(st.one_of(_TEXTS.map("- [ ] {}".format), _TEXTS, st.sampled_from(["---", "```", "  - [x] a", "%%"]))))
@settings(max_examples=120, deadline=None)
def test_obsidian_never_raises(lines: list[str]) -> None:
    """W4: every checkbox line is a task or is left out, whatever stands around it."""
    found = list(obsidian.parse("\n".join(lines)))
    assert _accounted(found)
    assert len({each.line for each in found}) == len(found)


_PROPERTY = st.tuples(
    st.sampled_from(["UID", "SUMMARY", "DUE", "DTSTART", "DURATION", "RRULE", "STATUS", "PRIORITY", "CATEGORIES",
                     "COMPLETED", "RELATED-TO", "ATTENDEE;CN=\"A", "PERCENT-COMPLETE", "DUE;TZID=X/Y", "DUE;VALUE=DATE",
                     "BEGIN", "END"]),
    st.one_of(st.text(max_size=20), st.sampled_from(["VTODO", "20260304T093000Z", "20260304", "FREQ=DAILY", "P1D",
                                                     "-P9999999999D",
                                                     "00010101T000000Z", "99991231T235959Z", "FREQ=WEEKLY;BYDAY=1MO"])),
)  # fmt: skip


@given(st.lists(st.lists(_PROPERTY, max_size=8), max_size=3))
@settings(max_examples=80, deadline=None)
def test_vtodo_never_raises(components: list[list[tuple[str, str]]]) -> None:
    """W4: any lines between BEGIN and END give tasks or reasons."""
    text = "\n".join(
        line
        for each in components
        for line in ("BEGIN:VTODO", *(f"{name}:{value}" for name, value in each), "END:VTODO")
    )
    found = vtodo.parse(text, BERLIN).found
    assert len(found) >= len(components)
    kept = [("f", each) for each in found if isinstance(each, vtodo.Component)]
    assert _accounted([each for _, each in vtodo.settled(kept)])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | st.just("99991231T235959Z"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["entry", "description", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip
_KEYS = st.sampled_from(["uuid", "description", "status", "due", "wait", "tags", "annotations", "depends", "recur",
                         "parent", "priority", "project", "start", "entry", "end", "own", "modified"])  # fmt: skip


@given(st.lists(st.one_of(st.dictionaries(_KEYS, _JSON, max_size=8).map(json.dumps), st.text(max_size=30)), max_size=4))
@settings(max_examples=120, deadline=None)
def test_taskwarrior_never_raises(lines: list[str]) -> None:
    """W4: any values of any type in any attribute give tasks or reasons."""
    text = "\n".join(lines)
    found = list(taskwarrior.parse(text, BERLIN))
    taskwarrior.looks_like(text)
    kept = [each for each in found if isinstance(each, taskwarrior.Record)]
    settled = [each for _, each in taskwarrior.settled(kept)]
    assert _accounted(settled)
    assert len(settled) == len(kept)
    item_of(WHICH, [each for each in settled if isinstance(each, Task)])


@given(_TEXTS)
@settings(max_examples=120, deadline=None)
def test_one_line_is_one_line_without_what_was_recalled(text: str) -> None:
    """W8: no text of a task can open a frame, however its parts are folded."""
    line = one_line(text)
    assert line == " ".join(line.split())
    assert "BACKGROUND DATA from Knowledge OS." not in line


def test_hostile_sizes_take_linear_time() -> None:
    """W4: long lines, open quotes and brackets by the million end soon."""
    for text in ('"\\' * 200_000, '{"a":' * 100_000, '{"' * 200_000, '[{"a":"' + "\\" * 300_001, "{\n" * 200_000):
        list(taskwarrior.parse(text, BERLIN))
    for mark in ("📅", "#a ", "[due:: ", "🔁 a", "%%", "[[", "- [ ] ", "(", "⏫"):
        list(obsidian.parse(f"- [ ] {mark * 50_000}"))
        list(todotxt.parse(mark * 50_000))
    list(obsidian.parse("\n".join("  " * (number % 500) + "- [ ] a" for number in range(20_000))))
    vtodo.parse("BEGIN:VTODO\n" * 20_000 + "SUMMARY:a\n" + "BEGIN:VALARM\n" * 20_000, BERLIN)
    vtodo.parse("BEGIN:VTODO\nSUMMARY:a\n" + "DUE:x\n" * 5_000 + "END:VTODO", BERLIN)
