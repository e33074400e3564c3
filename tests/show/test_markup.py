"""Whatever text goes in comes out as that text."""

from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from parge.show.markup import Markup, joined, named, tag

# What HTML cannot carry at all: NUL and lone surrogates; a carriage return is read as a line feed.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(deadline=None)
@given(texts, texts)
def test_text_and_attributes_come_back(inner: str, value: str) -> None:
    reader = _Reader()
    reader.feed(tag("p", inner, data_x=value))
    reader.close()
    assert reader.tags == [("p", {"data-x": value})]
    assert reader.text == inner


def test_markup_is_not_escaped_twice() -> None:
    assert tag("p", tag("b", "<")) == "<p><b>&lt;</b></p>"
    assert joined(["<", Markup("<br>"), None, 3]) == "&lt;<br>3"
    assert named("<") == "<bdi>&lt;</bdi>"


def test_attributes_are_left_out_or_stand_alone() -> None:
    assert tag("input", hidden=True, checked=False, value=None, class_="a") == '<input hidden class="a">'
