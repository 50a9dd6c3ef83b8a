"""Language detection and word lists."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.language import SNOWBALL, detect, stop_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Meeting notes from today about the deployment", "en"),
        ("Das ist ein kurzer Satz über den Server", "de"),
        ("El servidor se cayó ayer por la noche", "es"),
        ("Le serveur est tombé hier soir", "fr"),
        ("reunião amanhã às dez com a equipe", "pt"),
        ("De server is gisteren gecrasht", "nl"),
        ("Møte i dag om budsjettet for neste år", "no"),
        ("Сегодня мы обсудили перенос базы данных", "ru"),
        ("це український текст про нотатки", "uk"),
        ("今天的会议记录", "zh"),
        ("今日の会議の議事録です", "ja"),
        ("오늘 회의록", "ko"),
        ("บันทึกการประชุมวันนี้", "th"),
        ("ملاحظات الاجتماع اليوم مع الفريق", "ar"),
        ("یادداشت‌های جلسه امروز ما", "fa"),
        ("סיכום הפגישה של היום", "he"),
        ("σήμερα έχουμε σύσκεψη", "el"),
        ("हमारी बैठक आज है", "hi"),
    ],
)
def test_language_of_a_sentence(text: str, expected: str) -> None:
    """R10: stemming is by the note's detected language, in every script."""
    assert detect(text) == expected


@pytest.mark.parametrize("text", ["", "   \n", "12:30 2026-11-30", "Grafana", "kubectl apply -f x.yaml", "🎉🎉"])
def test_too_short_or_no_prose_is_undetermined(text: str) -> None:
    """R10: nothing is guessed from a name, numbers or a command."""
    assert detect(text) == "und"


def test_code_and_addresses_do_not_decide() -> None:
    """R10: German prose around an English code block and English URLs is German."""
    code = "```python\nfor item in the_list:\n    print('this is the value of the item')\n```\n"
    text = f"Wir haben gestern den Fehler gefunden.\n{code}https://example.com/this/is/the/way\nEr liegt im Index."
    assert detect(text) == "de"


def test_chinese_note_with_english_code_names_is_chinese() -> None:
    """R10: a Han character counts for more than a Latin letter."""
    assert detect("使用 Docker 部署 Kubernetes 集群的笔记和总结") == "zh"


def test_snowball_names_exist() -> None:
    """R10: each algorithm in the table is known to the installed stemmer."""
    import Stemmer  # type: ignore[import-not-found]

    assert set(SNOWBALL.values()) <= set(Stemmer.algorithms())


def test_stop_words_hold_no_content_words() -> None:
    """R10: words that people search for in notes are no stop words; function words are."""
    assert {"the", "of", "don", "ll"} <= stop_words("en")
    assert not {"system", "problem", "test", "ci", "pr", "fire", "group"} & stop_words("en")
    assert {"der", "die", "das", "und"} <= stop_words("de")
    assert "trabajo" not in stop_words("es")
    assert {"el", "los", "de"} <= stop_words("es")
    assert stop_words("xx") == stop_words("zh") == stop_words("vi") == frozenset()


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_never_raises_and_is_deterministic(text: str) -> None:
    """R10: any text has one answer."""
    assert detect(text) == detect(text)


def test_import_loads_no_detector() -> None:
    """Importing the rules costs no numpy and no model: they load at the first sentence."""
    code = "import sys, kos_assets.domain.tokens; print({'numpy', 'py3langid', 'Stemmer'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "set()"
