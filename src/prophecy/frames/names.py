"""Names are data: columns and keys as they stand, wherever they are shown. Nothing in them is interpreted."""

import html


def printable(text: object) -> str:
    r"""Text safe for a terminal: what cannot be printed (escape sequences, line breaks) is shown as its code.

    >>> print(printable("Temp\x1b[31m\n"))
    Temp\x1b[31m\n
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode()
        for letter in str(text)
    )


def for_matplotlib(text: object) -> str:
    r"""Text without mathtext: `cost $/h and $x^2$` is drawn as it is written."""
    return printable(text).replace("\\", "\\\\" if "$" in str(text) else "\\").replace("$", r"\$")


def for_html(text: object) -> str:
    """Text for a page or a Plotly label, which would take `<b>` for markup and `$…$` for a formula."""
    return html.escape(printable(text)).replace("$", "&#36;")


def as_text(name: object) -> str:
    """A name or a key as files have it, whatever it is in a frame: the parts of a key with a slash between them."""
    return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)


def series_title(key: object, column: str) -> str:
    """What a series is called: its key, its column, or both."""
    return " · ".join(part for part in (str(key or ""), column) if part)


def count(number: int, what: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
