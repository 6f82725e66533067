"""Labels and config values full of markup do nothing but show as text."""

from __future__ import annotations

from pathlib import Path

from synthetic_runs import trajectory

from headwise.view.report import Member, ShownStatement, ShownVerdict, write_reproduction_page, write_runs_page

PAYLOADS = (
    "</script><script>window.hacked=1</script>",
    "</SCRIPT ><script>window.hacked=2</script>",
    "<!--<script>",
    "--><script>window.hacked=3</script>",
    "]]><script>window.hacked=4</script>",
    "<img src=x onerror=window.hacked=5>",
    "<svg onload=window.hacked=6>",
    "<svg><script>window.hacked=7</script></svg>",
    '"><script>window.hacked=8</script>',
    "'><script>window.hacked=9</script>",
    '" onmouseover="window.hacked=10" x="',
    "' onfocus='window.hacked=11' autofocus='",
    "javascript:window.hacked=12",
    "<iframe srcdoc='<script>parent.hacked=13</script>'>",
    "<a href='javascript:window.hacked=14'>x</a>",
    "</title><script>window.hacked=15</script>",
    "</style><script>window.hacked=16</script>",
    "</textarea><script>window.hacked=17</script>",
    "{{ 7 * 7 }}{% raw %}",
    "${window.hacked=18}",
    "`+(window.hacked=19)+`",
    "\u2028window.hacked=20\u2029",
    "\\u003cscript\\u003ewindow.hacked=21\\u003c/script\\u003e",
    '\\"; window.hacked=22; //',
    "&lt;script&gt;&amp;quot;",
    "<math><mtext></p><script>window.hacked=23</script>",
    "<details open ontoggle=window.hacked=24>",
    "<base href='https://example.org/'>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "\x00\x08\x7f <plaintext>",
)


def shows(page: object, text: str) -> bool:
    """Whether the text stands on the page, in one text node, letter for letter."""
    find = """text => { const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const node = walk.currentNode, inScript = node.parentElement.tagName === 'SCRIPT';
            if (!inScript && node.textContent.replaceAll('\\0', '').includes(text)) return true;
        }
        return false; }"""
    # HTML has no null character: the parser drops it from text.
    return bool(page.evaluate(find, text.replace("\x00", "")))  # type: ignore[attr-defined]


def test_payloads_in_a_run(open_page, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 20
    for start in range(0, len(PAYLOADS), 3):
        labels = PAYLOADS[start : start + 3]
        attributes = {"experiment": labels[0], "preset": labels[-1], "source": labels[0]}
        run = Member(
            trajectory(labels=labels, attributes=attributes, evaluations=41, snapshots=5),
            labels[0],
            seed=labels[-1],
            status=labels[0],
            config={"experiment": labels[0], labels[-1]: {labels[0]: list(labels), "text": labels[-1]}},
            manifest={"argv": ["headwise", *labels], "commit": labels[-1], "versions": {labels[0]: labels[-1]}},
        )
        other = Member(run.trajectory, labels[-1], config={"experiment": labels[-1], "preset": labels[0]})
        file = tmp_path / f"run{start}.html"
        write_runs_page(file, [run, other], command=labels[0])
        watched = open_page(file)
        page = watched.page
        page.locator(".mark").first.click()
        watched.settle()
        for label in labels:
            assert shows(page, label), label
        assert page.evaluate("window.hacked") is None
        assert watched.complaints == []
        assert {url.split("#")[0] for url in watched.requests} == {file.as_uri()}
        assert page.title().endswith("headwise")


def test_payloads_in_verdicts(open_page, tmp_path: Path) -> None:
    verdicts = [
        ShownVerdict(
            {
                "claim": text,
                "preset": text,
                "verdict": text,
                "outcome": text,
                "measured": {text: text},
                "published": [text],
                "note": text,
            },
            "mixed",
        )
        for text in PAYLOADS
    ]
    parts = [{"verdict": text, "error": text} for text in PAYLOADS]
    statements = [
        ShownStatement({"name": text, "label": text, "printed": part, "corrected": part}, "bad", "good")
        for text, part in zip(PAYLOADS, parts, strict=True)
    ]
    file = tmp_path / "reproduction.html"
    write_reproduction_page(
        file, verdicts, statements=statements, title=PAYLOADS[0], provenance={PAYLOADS[1]: PAYLOADS[2]}
    )
    watched = open_page(file)
    for button in watched.page.locator("button.open").all():
        button.click()
    for button in watched.page.locator("button.sort").all():
        button.click()
    for text in PAYLOADS:
        assert shows(watched.page, text), text
    assert watched.page.evaluate("window.hacked") is None
    assert watched.complaints == []
    assert set(watched.requests) == {file.as_uri()}
