"""Terms of documents and queries."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kos_assets.domain.token_shapes import surfaces
from kos_assets.domain.tokens import (
    MAX_DISTINCT_TERMS,
    MAX_TERM_CHARS,
    TOKENIZER_VERSION,
    cap_term,
    document_terms,
    query_terms,
)

LANGUAGES = ["en", "de", "fr", "es", "ru", "tr", "ar", "fa", "el", "hi", "zh", "ja", "und", "sr", "vi"]
SCRIPTS = st.sampled_from(
    [
        "abcXYZ",
        "äöüßéèçñøłİı",
        "абвёйЇ",
        "αβγςώ",
        "今天会议都",
        "かなカナー",
        "한글",
        "ภาษาไทย",
        "مرحبا",
        "हिन्दी",
        "שלום",
        "0123٣４",
    ]
)
WORDS = st.lists(SCRIPTS.flatmap(lambda letters: st.text(letters, min_size=1, max_size=6)), min_size=1, max_size=4)
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(WORDS.map("".join), max_size=8).map(" ".join),
    st.text("ab1.-_/:@#+'’,& \\~éA", max_size=40),
)


def terms(text: str, lang: str = "en") -> set[str]:
    return set(document_terms([(text, 1)], lang).weights)


def matches(query: str, document: str, *, lang: str = "en", langs: tuple[str, ...] = ("en",)) -> bool:
    found = terms(document, lang)
    return any(found & set(term.alternatives) for term in query_terms(query, langs))


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("snake_case_name", {"snake", "case", "name", "snakecasenam"}),
        ("kebab-case", {"kebab", "case", "kebabcas"}),
        ("getUserName", {"get", "user", "name", "getusernam"}),
        ("HTTPServer2", {"http", "server", "httpserver2"}),
        ("v1.2.3", {"1.2.3", "1.2"}),
        ("#123", {"#123", "123"}),
        ("docs/a-plan/notes.md", {"docs/a-plan/notes.md", "doc", "plan", "a", "aplan", "notes.md", "note", "md"}),
        ("anna.schmidt@example.com", {"anna.schmidt@example.com", "example.com", "anna", "schmidt", "exampl", "com"}),
        ("https://docs.example.com/guide/setup", {"docs.example.com", "doc", "exampl", "guid", "setup"}),
        ("obsidian://open?vault=Work&file=Road%20map", {"open", "vault", "work", "file", "road", "map"}),
        ("mailto:jo@x.org", {"jo@x.org", "x.org", "jo", "x", "org"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        (".NET", {".net", "net"}),
        ("9fceb02d0ae598e95dc970b74767f19372d61af8", {"9fceb02d0ae598e95dc970b74767f19372d61af8"}),
        ("10.0.0.1", {"10.0.0.1"}),
        ("14:30", {"14:30"}),
        ("2026-11-30", {"2026-11-30", "2026-11"}),
        ("10,000", {"10000"}),
        ("今天会议", {"今天", "天会", "会议"}),
        ("议", {"议"}),
        ("👍🏽", {"👍"}),
        ("👨‍👩‍👧", {"👨‍👩‍👧"}),
        ("🇩🇪", {"🇩🇪"}),
        ("SR-2023-052", {"sr-2023-052", "sr", "2023", "052"}),
        ("İstanbul", {"istanbul"}),
        ("ＡＢＣ１２", {"abc12", "abc", "12"}),
    ],
)
def test_identifiers_and_scripts(surface: str, expected: set[str]) -> None:
    """R10: identifiers and code are split and whole; CJK goes by bigrams; emoji are terms."""
    assert terms(surface) == expected


@pytest.mark.parametrize(
    ("query", "document", "lang"),
    [
        ("cafe", "Café", "fr"),
        ("CAFÉ", "cafe", "fr"),
        ("hauser", "Häuser", "de"),
        ("STRASSE", "straße", "de"),
        ("e-mail", "email", "en"),
        ("wifi", "Wi-Fi", "en"),
        ("servers", "the server restarted", "en"),
        ("服务器", "我们的服务器今天宕机了", "zh"),
        ("ドッカー", "ﾄﾞｯｶｰの設定", "ja"),
        ("user name", "getUserName()", "en"),
        ("get_user_name", "getUserName()", "en"),
        ("елка", "ёлка", "ru"),
        ("1.2.3", "released v1.2.3 today", "en"),
        ("Docker 部署", "使用Docker部署服务", "zh"),
        ("سلام", "سَلام", "ar"),
        ("٣٤", "34", "ar"),
        ("میخواهم", "می‌خواهم", "fa"),
    ],
)
def test_a_query_meets_the_other_spelling(query: str, document: str, lang: str) -> None:
    """R10: case, width, accents, compound style and script mixtures do not stand between a query and its note."""
    assert matches(query, document, lang=lang, langs=("und", "en", lang))


def test_english_query_meets_german_note() -> None:
    """R10: a word carries its stem under each language of the notes."""
    (term,) = query_terms("Wohnungen", ["en", "de"])
    assert set(term.alternatives) & terms("Die Wohnung ist frei", "de")


def test_letters_that_look_like_marks_stay() -> None:
    """R10: й is not и, and Indic vowel signs are letters."""
    assert not matches("иод", "йод", lang="ru", langs=("ru",))
    assert terms("कि", "ne") != terms("क", "ne")


def test_stop_words_are_left_out_of_bodies_only() -> None:
    """R10: a heading keeps all its words, so that "The Who" can be found; a body does not."""
    vector = document_terms([("The Who", 2), ("the plan of the team", 1)], "en")
    assert vector.weights == {"the": 2, "who": 2, "plan": 1, "team": 1}
    assert vector.length == 4


def test_weights_are_whole_and_length_ignores_them() -> None:
    """R10: term frequencies are integers weighted by field; a document's length is not weighted."""
    vector = document_terms([("Kafka", 2), ("kafka kafka broker", 1)], "en")
    assert vector.weights == {"kafka": 4, "broker": 1}
    assert all(isinstance(weight, int) for weight in vector.weights.values())
    assert vector.length == 4


def test_one_character_query_meets_titles() -> None:
    """R10: single CJK characters are indexed in headings."""
    assert {"会", "议", "会议"} <= set(document_terms([("会议", 2)], "zh").weights)
    assert query_terms("会", ["zh"])[0].alternatives == ("会",)


def test_query_of_stop_words_keeps_them() -> None:
    """R10: stop words are dropped unless nothing would remain; an acronym is none."""
    assert [term.surface for term in query_terms("to be or not to be", ["en"])] == ["to", "be", "or", "not"]
    assert [term.surface for term in query_terms("who owns the budget", ["en", "de"])] == ["owns", "budget"]
    assert [term.surface for term in query_terms("call the IT", ["en"])] == ["call", "IT"]
    assert query_terms("", ["en"]) == query_terms("… — !", []) == []


def test_a_word_that_is_a_stop_word_elsewhere_stays() -> None:
    """R10: an English query keeps "die" although German notes drop it; a query of unknown language drops it."""
    assert [term.surface for term in query_terms("servers die", ["en", "de"])] == ["servers", "die"]
    assert [term.surface for term in query_terms("die Server", ["und", "en", "de"])] == ["Server"]


def test_limits() -> None:
    """R10: a term has at most 64 characters, a document at most 20,000 distinct terms; long terms stay distinct."""
    long, other = "x" * 500, "x" * 501
    assert len(cap_term(long)) == MAX_TERM_CHARS
    assert terms(long) != terms(other)
    assert matches(long, f"see {long} here")
    many = document_terms([(" ".join(f"q{number}" for number in range(30_000)), 1)], "en")
    assert len(many.weights) == MAX_DISTINCT_TERMS
    assert many.length == 30_000


def test_terms_of_a_fixed_text_do_not_change() -> None:
    """R10: other terms mean re-indexing each installation. If this fails, raise TOKENIZER_VERSION, then the golden."""
    text = (
        "The café's servers (v2.10.1) were migrated; see docs/run_book.md, PR #42 and 会议记录. Häuser, десять машин."
    )
    assert TOKENIZER_VERSION == 1
    assert sorted(terms(text)) == [
        "#42", "2.10", "2.10.1", "42", "book", "cafe", "doc", "docs/run_book.md", "hauser", "md", "migrat", "pr", "run",
        "run_book.md", "see", "server", "деся", "машин", "会议", "议记", "记录",
    ]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(TEXT, st.sampled_from(LANGUAGES))
def test_every_word_of_a_document_finds_it(text: str, lang: str) -> None:
    """R10: any word of a note, asked in the note's language, meets the note (stop words of its body aside)."""
    found = terms(text, lang)
    for word in text.split():
        if document_terms([(word, 1)], lang).weights:
            for term in query_terms(word, [lang]):
                assert found & set(term.alternatives)


@settings(max_examples=150, deadline=None)
@given(TEXT, st.sampled_from(LANGUAGES))
def test_terms_are_clean(text: str, lang: str) -> None:
    """R10: no term is empty, over-long, or holds whitespace or NUL."""
    asked = {alternative for term in query_terms(text, [lang, "en"]) for alternative in term.alternatives}
    for term in set(document_terms([(text, 2), (text, 1)], lang).weights) | asked:
        assert term
        assert len(term) <= MAX_TERM_CHARS
        assert not any(char.isspace() or char == "\0" for char in term)


@settings(max_examples=150, deadline=None)
@given(st.text("abcdeéèöüßñøłABÉÖαβώабвгй", min_size=1, max_size=10), st.sampled_from(LANGUAGES))
def test_case_and_accents_do_not_matter(word: str, lang: str) -> None:
    """R10: a word in capitals, decomposed, or without its accents meets the word."""
    import unicodedata

    plain = "".join(char for char in unicodedata.normalize("NFD", word) if not ("\u0300" <= char <= "\u036f"))
    variants = [word.upper(), word.casefold(), unicodedata.normalize("NFD", word)]
    if "й" not in word:
        variants.append(plain)
    document = set(document_terms([(word, 2)], lang).weights)
    for variant in variants:
        assert any(document & set(term.alternatives) for term in query_terms(variant, [lang]))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=80))
def test_never_raises_even_for_surrogates(text: str) -> None:
    """R10: any string has terms."""
    document_terms([("\ud800" + text, 1), (text, 2)], "en")
    query_terms(text + "\udfff", ["en", "xx"])


def test_surfaces_do_not_span_whitespace() -> None:
    """R10: a word's terms do not depend on the words around it."""
    assert surfaces("C++ and .NET at 10:30, foo_bar") == ["C++", "and", ".NET", "at", "10:30", "foo_bar"]


@pytest.mark.parametrize("piece", ["word", "a'", "/x", "aB", "1.", "会", "e\u0301", "👍\u200d", "#", "http://", "x@y."])
def test_time_is_linear(piece: str) -> None:
    """R10: no text, however odd, is quadratic: 20 times the text is far from 400 times the time."""
    document_terms([(piece, 1)], "en")

    def cost(count: int) -> float:
        start = time.process_time()
        document_terms([(piece * count, 1)], "en")
        return time.process_time() - start

    small = max(min(cost(2_000) for _ in range(3)), 0.001)
    assert cost(40_000) < 120 * small


def test_stemmers_are_not_shared_between_threads() -> None:
    """R10: the same text has the same terms from many threads at once."""
    text = " ".join(f"running{number}s connections migrated" for number in range(300))
    expected = document_terms([(text, 1)], "en").weights
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(document_terms([(text, 1)], "en").weights)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
