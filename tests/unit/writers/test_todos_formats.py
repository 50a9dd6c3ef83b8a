"""What the four formats say, read by their parsers: todo.txt, Obsidian Tasks, VTODO, Taskwarrior."""

from __future__ import annotations

import json
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from kos_assets.writers.todos import obsidian, taskwarrior, todotxt, vtodo
from kos_assets.writers.todos.task import HIGH, HIGHEST, LOW, MEDIUM, NORMAL, Found, Left, Task, markdown

BERLIN = ZoneInfo("Europe/Berlin")


def tasks(found: list[Found]) -> list[Task]:
    return [each for each in found if isinstance(each, Task)]


def todo_line(line: str) -> Task:
    task = todotxt.parse_line(line, 1)
    assert task is not None
    return task


def test_todo_txt_reads_every_field_of_the_format() -> None:
    """W4: priority, completion, both dates, project, context, key:value."""
    task = todo_line("x (A) 2026-03-04 2026-03-01 Call the bank +house @phone due:2026-03-09 t:2026-03-02 note:x")
    assert (task.state, task.status, task.done, task.created) == ("done", "x", date(2026, 3, 4), date(2026, 3, 1))
    assert (task.project, task.contexts, task.people, task.priority) == ("house", ("phone",), (), HIGHEST)
    assert (task.due, task.start, task.text) == (
        date(2026, 3, 9),
        date(2026, 3, 2),
        "Call the bank +house @phone note:x",
    )


@pytest.mark.parametrize(
    ("line", "priority", "rank"),
    [("(A) a", HIGHEST, "A"), ("(B) a", HIGH, "B"), ("(C) a", MEDIUM, "C"), ("(Z) a", MEDIUM, "Z"), ("a", NORMAL, ""),
     ("(a) a", NORMAL, ""), ("b (A) a", NORMAL, ""), ("x 2026-01-01 a pri:B", HIGH, "B"), ("(A)a", NORMAL, "")],
)  # fmt: skip
def test_todo_txt_priorities(line: str, priority: int, rank: str) -> None:
    """W4: a letter in brackets at the begin and nowhere else; `pri:` keeps it on what is done."""
    task = todo_line(line)
    assert (task.priority, task.rank) == (priority, rank)


@pytest.mark.parametrize(
    ("rule", "words"),
    [("rec:1d", "every day when done"), ("rec:+2w", "every 2 weeks"), ("rec:+1b", "every weekday"), ("rec:0w", ""),
     ("rec:soon", "")],
)  # fmt: skip
def test_todo_txt_recurrence(rule: str, words: str) -> None:
    """W4: what is understood becomes a field, what is not stays in the text."""
    task = todo_line(f"Water {rule}")
    assert task.repeat == words
    assert (rule in task.text) == (not words)


def test_todo_txt_keeps_what_it_does_not_know() -> None:
    """W4: impossible days, links, X in capitals, words with colons and mail addresses are text."""
    line = "X 2026-02-30 see http://a.b/c:d due:2026-02-30 10:30 mail anna@x.org + @"
    task = todo_line(line)
    assert (task.state, task.text, task.due, task.project, task.contexts) == ("open", line, None, "", ())
    assert todo_line("x 2026-03-04 done on a day").created is None
    assert [type(each) for each in todotxt.parse("x\n\n  \nreal\n")] == [Left, Task]


def only(line: str) -> Task:
    (task,) = tasks(list(obsidian.parse(line)))
    return task


def test_obsidian_emoji_fields() -> None:
    """W4: every field of Obsidian Tasks, tags among them, the block id behind them."""
    task = only(
        "- [ ] Plan #work 🆔 a1 ⛔ b2,c3 🔺 🔁 every week on Monday 🏁 delete ➕ 2026-01-01 🛫 2026-01-02 #late"
        " ⏳ 2026-01-03 📅 2026-01-04 ✅ 2026-01-05 ❌ 2026-01-06 ^block-1"
    )
    assert (task.text, task.tags) == ("Plan #work #late", ("work", "late"))
    assert (task.ident, task.depends, task.priority) == ("a1", ("b2", "c3"), HIGHEST)
    assert (task.repeat, task.on_completion) == ("every week on Monday", "delete")
    days = (task.created, task.start, task.scheduled, task.due, task.done, task.cancelled)
    assert days == tuple(date(2026, 1, day) for day in range(1, 7))


def test_obsidian_dataview_fields() -> None:
    """W4: the same in brackets, with the names that the plugin uses; other fields stay text."""
    task = only(
        "- [ ] Plan [mood:: good] [priority:: high], (due:: 2026-03-04)  [completion:: 2026-03-05] [repeat:: every day]"
        " [dependsOn:: b2, c3] [id:: a1]"
    )
    assert (task.text, task.priority, task.due) == ("Plan [mood:: good]", HIGH, date(2026, 3, 4))
    assert (task.done, task.repeat, task.depends, task.ident) == (date(2026, 3, 5), "every day", ("b2", "c3"), "a1")


@pytest.mark.parametrize(
    "text",
    ["due 📅 2026-02-30", "a 📅 2026-03-04 then words", "[due:: soon]", "📅", "x 🔁 €", "a ^b c", "[[Note#^id]]"],
)  # fmt: skip
def test_obsidian_keeps_what_is_no_field(text: str) -> None:
    """W4: a wrong day, or a field with words behind it, is text, as in the plugin."""
    task = only(f"- [ ] {text}")
    assert (task.text, task.due, task.repeat) == (text, None, "")


@pytest.mark.parametrize(
    ("box", "state"),
    [(" ", "open"), ("x", "done"), ("X", "done"), ("-", "cancelled"), ("/", "open"), (">", "open"), ("?", "open")],
)  # fmt: skip
def test_obsidian_statuses(box: str, state: str) -> None:
    """W4: own statuses keep their character; only x and - close a task."""
    task = only(f"* [{box}] a")
    assert (task.state, task.status) == (state, box)
    assert markdown(task) == f"- [{box}] a"


def test_obsidian_nesting() -> None:
    """W4: a task lies under the nearest one that is indented less, in its own list and quote."""
    text = "- [ ] a\n  - [ ] b\n    1. [ ] c\n  - words\n    - [ ] d\n- words\n  - [ ] e\n\n# H\n  - [ ] f\n"
    text += "> - [ ] g\n>   - [ ] h\n"
    found = {task.text: task for task in tasks(list(obsidian.parse(text)))}
    names = {task.key: name for name, task in found.items()}
    assert {name: names.get(task.parent, "") for name, task in found.items()} == {
        "a": "", "b": "a", "c": "b", "d": "a", "e": "", "f": "", "g": "", "h": "g",
    }  # fmt: skip


def test_obsidian_boxes_that_are_no_tasks() -> None:
    """W4: code, comments, properties and empty boxes give none, each counted as left out."""
    text = "---\nlist: |\n  - [ ] p\n---\n```\n- [ ] c\n```\n%%\n- [ ] k\n%%\n- [ ]\n- [ ] \n- [ ] real\n"
    found = list(obsidian.parse(text))
    assert [task.text for task in tasks(found)] == ["real"]
    lines = [(each.line, each.code, each.counts) for each in found if isinstance(each, Left)]
    assert lines == [
        (3, "not_a_task", False),
        (6, "not_a_task", False),
        (9, "not_a_task", False),
        (11, "no_text", False),
        (12, "no_text", False),
    ]


ICS = """BEGIN:VCALENDAR
X-WR-CALNAME:Home\\, sweet
BEGIN:VTODO
UID:1
SUMMARY:Plan the tr
 ip
DUE;TZID=Europe/Berlin:20260304T093000
DTSTART;VALUE=DATE:20260301
CREATED:20260228T233000Z
PRIORITY:1
CATEGORIES:Travel,Home Work
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO
PERCENT-COMPLETE:40
ORGANIZER;CN=Anna:mailto:anna@example.org
DESCRIPTION:One\\ntwo
BEGIN:VALARM
SUMMARY:beep
DESCRIPTION:beep
END:VALARM
END:VTODO
BEGIN:VTODO
UID:2
RELATED-TO:1
SUMMARY:Book
STATUS:CANCELLED
LAST-MODIFIED:20260301T090000Z
RRULE:FREQ=MONTHLY;BYMONTHDAY=1
PRIORITY:5
END:VTODO
END:VCALENDAR
"""


def vtodos(text: str) -> list[vtodo.Component | Left]:
    return list(vtodo.parse(text, BERLIN).found)


def test_vtodo_fields() -> None:
    """W4: times in the person's zone, parents, progress, categories, people; alarms are passed over."""
    assert vtodo.parse(ICS, BERLIN).name == "Home, sweet"
    first, second = (each.task for each in vtodos(ICS) if isinstance(each, vtodo.Component))
    assert (first.text, first.status, first.due, first.start) == (
        "Plan the trip",
        "/",
        date(2026, 3, 4),
        date(2026, 3, 1),
    )
    assert (first.created, first.priority, first.repeat) == (date(2026, 3, 1), HIGH, "every 2 weeks on Monday")
    assert (first.tags, first.people) == (("Travel", "Home-Work"), ("Anna <anna@example.org>",))
    assert (first.extra, first.details) == (
        (("due_time", "09:30 Europe/Berlin"), ("progress", "40%")), ("Note: One two",)
    )  # fmt: skip
    assert (second.parent, second.state, second.cancelled, second.priority) == (
        "1",
        "cancelled",
        date(2026, 3, 1),
        MEDIUM,
    )
    assert second.extra == (("rrule", "FREQ=MONTHLY;BYMONTHDAY=1"),)


@pytest.mark.parametrize(
    ("lines", "state"),
    [("STATUS:COMPLETED", "done"), ("COMPLETED:20260304T090000Z", "done"), ("PERCENT-COMPLETE:100", "done"),
     ("STATUS:NEEDS-ACTION\nPERCENT-COMPLETE:100", "open"), ("STATUS:ODD", "open"), ("status:completed", "done")],
)  # fmt: skip
def test_vtodo_states(lines: str, state: str) -> None:
    """W4: STATUS decides; without one, COMPLETED or all of it done."""
    (found,) = vtodos(f"BEGIN:VTODO\nSUMMARY:a\n{lines}\nEND:VTODO\n")
    assert isinstance(found, vtodo.Component)
    assert found.task.state == state


def test_vtodo_what_is_broken_costs_itself_only() -> None:
    """W4: a bad property is shown as written, a missing END or BEGIN loses no other task."""
    text = "BEGIN:VTODO\nSUMMARY:a\nDUE:soon\nnonsense\nBEGIN:VTODO\nSUMMARY:b\nEND:VTODO\nEND:VTODO\n"
    text += "BEGIN:VTODO\nSUMMARY:c"
    found = [each.task for each in vtodos(text) if isinstance(each, vtodo.Component)]
    assert [task.text for task in found] == ["a", "b", "c"]
    assert found[0].extra == (("due_as_written", "soon"),)
    (empty,) = vtodos("BEGIN:VTODO\nUID:1\nEND:VTODO")
    assert isinstance(empty, Left)
    assert (empty.code, empty.counts) == ("no_text", False)


def test_vtodo_the_newest_version_counts() -> None:
    """W4: SEQUENCE, then LAST-MODIFIED; an instance of a series is a task of its own."""
    versions = [("1", "20260301T000000Z", "old"), ("2", "20260201T000000Z", "new"), ("1", "20260401T000000Z", "mid")]
    text = "".join(
        f"BEGIN:VTODO\nUID:u\nSEQUENCE:{number}\nLAST-MODIFIED:{at}\nSUMMARY:{name}\nEND:VTODO\n"
        for number, at, name in versions
    )
    text += "BEGIN:VTODO\nUID:u\nRECURRENCE-ID:20260505T080000Z\nSUMMARY:instance\nEND:VTODO\n"
    components = [("f", each) for each in vtodos(text) if isinstance(each, vtodo.Component)]
    found = [each for _, each in vtodo.settled(components)]
    assert [task.text for task in tasks(found)] == ["new", "instance"]
    assert [each.code for each in found if isinstance(each, Left)] == ["older_version"] * 2


def record(**values: object) -> dict[str, object]:
    return {"uuid": "11111111-aaaa", "description": "Fix the tap", "status": "pending", **values}


def exported(*records: object) -> list[Found]:
    found = list(taskwarrior.parse("\n".join(json.dumps(each) for each in records), BERLIN))
    kept = [each for each in found if isinstance(each, taskwarrior.Record)]
    return [each for each in found if isinstance(each, Left)] + [each for _, each in taskwarrior.settled(kept)]


def test_taskwarrior_fields() -> None:
    """W4: days from instants, annotations, own attributes, dependencies by ids; nothing that changes by itself."""
    first, second = tasks(exported(
        record(project="Home.Bath", priority="H", due="20260304T230000Z", wait="20260301T090000Z",
               tags=["water", "a b"], scheduled="20260303T230000Z", entry="20260228T090000Z",
               recur="2weeks", urgency=3.2, id=7, estimate="2h",
               modified="20260301T090000Z", depends=["22222222-bbbb"], start="20260301T090000Z",
               annotations=[{"entry": "20260302T090000Z", "description": "asked"}, {"description": "again"}, 3]),
        record(uuid="22222222-bbbb", description="Buy", status="deleted", end="20260302T090000Z", priority="Urgent"),
    ))  # fmt: skip
    assert (first.project, first.priority, first.status, first.repeat) == ("Home.Bath", HIGH, "/", "every 2 weeks")
    days = (first.due, first.scheduled, first.start, first.created)
    assert days == (date(2026, 3, 5), date(2026, 3, 4), date(2026, 3, 1), date(2026, 2, 28))
    assert (first.tags, first.depends) == (("water", "a-b"), ("22222222",))
    assert first.extra == (("wait_time", "10:00 Europe/Berlin"), ("estimate", "2h"))
    assert first.details == ("2026-03-02: asked", "Note: again")
    assert (second.ident, second.state, second.cancelled) == ("22222222", "cancelled", date(2026, 3, 2))
    assert second.extra == (("priority", "Urgent"),)


@pytest.mark.parametrize(
    ("status", "state"), [("pending", "open"), ("waiting", "open"), ("completed", "done"), ("deleted", "cancelled")]
)
def test_taskwarrior_statuses(status: str, state: str) -> None:
    """W4: waiting is open; deleted is shown as cancelled."""
    assert tasks(exported(record(status=status, priority="L")))[0].state == state
    assert tasks(exported(record(priority="L")))[0].priority == LOW


def test_taskwarrior_templates_and_versions() -> None:
    """W4: a template gives way to what it made, an older export to a newer one."""
    template = record(uuid="t", status="recurring", recur="weekly")
    child = record(uuid="c", parent="t", recur="weekly", modified="20260301T090000Z")
    assert [task.repeat for task in tasks(exported(template))] == ["every week"]
    found = exported(template, child, {**child, "description": "Later", "modified": "20260302T090000Z"})
    assert [task.text for task in tasks(found)] == ["Later"]
    assert [each.code for each in found if isinstance(each, Left)] == ["recurring_template", "older_version"]


@pytest.mark.parametrize(
    "text",
    ['[\n{A},\n{B}\n]', '{A}\n{B}\n', '{A},\n{B},', '[{A},{B}]', '[\n  {A},\n  {B}\n]\n',
     'rc.override: x\n[\n{A},\n{B}]',
     '[\n{A},\n{"uuid": "x", "description": "half\n{B}\n]', '{A}\n{"a": {"b": [\n{B}', '{A}\n}}]]\n{B}'],
)  # fmt: skip
def test_taskwarrior_shapes_of_exports(text: str) -> None:
    """W4: arrays, lines, objects with commas; a broken record never loses the others."""
    for indent in (None, 1):
        both = [json.dumps(record(uuid=name, description=f'{name} }}{{ \\"'), indent=indent) for name in "AB"]
        if indent and ("half" in text or "[\n{B}" in text):
            continue
        written = text.replace("{A}", both[0]).replace("{B}", both[1])
        assert taskwarrior.looks_like(written)
        found = list(taskwarrior.parse(written, BERLIN))
        assert [each.uuid for each in found if isinstance(each, taskwarrior.Record)] == ["A", "B"]
        assert len(found) == (3 if '"half' in text or '"b": [' in text else 2)


def test_json_that_is_no_export() -> None:
    """W4: other JSON is not taken for tasks."""
    for text in ('{"name": "package"}', "[1, 2]", '"x"', '{"description": "only"}', "{"):
        assert not taskwarrior.looks_like(text)
    assert taskwarrior.looks_like("[\n]\n")
