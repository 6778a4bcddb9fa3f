import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st

from bes.bench.fill import FilledSheet
from bes.bench.tables import to_latex
from bes.bench.tables.latex import escape

Build = Callable[..., FilledSheet]

EXAMPLE = r"""% needs \usepackage{booktabs,graphicx}
\begin{table*}[t]
\centering
\caption{Nodes. Protocol validation: Validation selects. Shown: accuracy in percent. Ours: mean $\pm$ standard error of 1 to 2 recorded splits; without $\pm$, of one split. Paper: as printed in Table 1. Bold: the best of ours in its column, among cells with every split; Underlined: the second. Own is ours.}
\label{tab:table1/nodes}
\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%
\begin{tabular}{lrrrr}
\toprule
 & \multicolumn{3}{c}{Cora} & \multicolumn{1}{c}{Own} \\
\cmidrule(lr){2-4} \cmidrule(lr){5-5}
 & paper & ours & ours $-$ paper & ours \\
\midrule
GCN & 81.50 & \underline{82.00 $\pm$ 1.00} & $+$0.50 & 70.00 \\
BES & 89.46 & \textbf{88.25 $\pm$ 0.25} & $-$1.21 & \textit{data set absent} \\
R\&D\_1 & OOM & 91.00 $\pm$ 0.58 (3 of 5 splits) & \textit{none} & \textit{method not built yet} \\
\bottomrule
\end{tabular}}
\end{table*}
"""  # noqa: E501


def tokens(latex: str) -> list[str]:
    """Commands, escaped signs and single signs; comments are left out."""
    return re.findall(r"\\[A-Za-z]+|\\.|[^\\]", re.sub(r"(?<!\\)%.*\n", "", latex), re.DOTALL)


def check(latex: str) -> None:
    """What LaTeX would stumble over: braces, environments, math, bare specials, rows of different widths."""
    depth, math = 0, False
    for token in tokens(latex):
        depth += {"{": 1, "}": -1}.get(token, 0)
        math ^= token == "$"
        assert depth >= 0, "a brace closes what is not open"
        assert token not in set("#_^~%"), f"bare {token}"
    assert (depth, math) == (0, False)
    assert re.findall(r"\\begin{(.*?)}", latex) == re.findall(r"\\end{(.*?)}", latex)[::-1]
    body = latex.split(r"\toprule", 1)[1].split(r"\bottomrule", 1)[0]
    columns = re.search(r"\\begin{tabular}{(l*r*)}", latex)
    assert columns is not None
    for row in rows(body):
        assert width(row) == len(columns[1]), row
    assert "&" not in tokens(latex.split(r"\begin{tabular}", 1)[0])


def split(latex: str, sign: str) -> list[str]:
    """The text between the bare signs."""
    found = [""]
    for token in tokens(latex):
        if token == sign:
            found.append("")
        else:
            found[-1] += token
    return found


def rows(body: str) -> list[str]:
    """The rows of a table's body, without the rules between them."""
    *found, rest = split(re.sub(r"\\midrule\n|\\cmidrule\(lr\){\d+-\d+}", "", body), r"\\")
    assert rest.strip() == "", "a row has no end"
    return found


def width(row: str) -> int:
    spans = [re.match(r"\\multicolumn{(\d+)}", cell.strip()) for cell in split(row, "&")]
    return sum(int(span[1]) if span else 1 for span in spans)


def test_the_example_word_for_word(example: Build) -> None:
    assert to_latex(example()) == EXAMPLE
    check(EXAMPLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\textbf{88", r"\textbf88"),
        (r"R\&D", "R&D"),
        (r"D\_1", "D_1"),
        (r"$+$0.50", "$+0.50"),
        ("{3}{c}", "{2}{c}"),
        (r"Table 1.", "Table 1 & 2."),
        (r"yet} \\", "yet}"),
        (r"\end{tabular}", ""),
    ],
)
def test_the_check_finds_what_is_broken(old: str, new: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(AssertionError):
        check(EXAMPLE.replace(old, new))


def test_a_protocol_that_is_not_honest_is_marked(example: Build) -> None:
    latex = to_latex(example(honest=False))
    check(latex)
    assert r"\caption{Nodes. \textbf{NOT HONEST: test-peek.} Protocol test-peek:" in latex
    assert " & paper & ours (test-peek) & ours (test-peek) $-$ paper & ours (test-peek) \\\\" in latex
    assert "NOT HONEST" not in to_latex(example())


def test_every_special_sign_is_escaped() -> None:
    assert escape(r"50% & a_b #1 $x$ {y} ~z ^ \ ±") == (
        r"50\% \& a\_b \#1 \$x\$ \{y\} \textasciitilde{}z \textasciicircum{} \textbackslash{} $\pm$"
    )
    assert escape("a\x00b\n\nc") == "ab c"


def test_a_row_that_starts_like_an_option_of_the_row_before_does_not_become_one() -> None:
    assert (escape("[2pt]"), escape("*x")) == ("{[}2pt{]}", "{*}x")


def test_the_label_has_only_signs_that_a_label_may_have(example: Build) -> None:
    filled = example()
    named = FilledSheet(replace(filled.sheet, name="table 1/a_{b}%"), filled.cells)
    assert r"\label{tab:table-1/a-b-}" in to_latex(named)


def test_a_sheet_without_cells_still_compiles(example: Build) -> None:
    check(to_latex(FilledSheet(replace(example().sheet, cells=()), ())))


@given(row=st.text(), column=st.text(), printed=st.text(), problem=st.text(), title=st.text(), note=st.text())
@also(row="\\", column="}{", printed="%", problem="\\\\", title="$", note="\\end{table*}")
def test_any_text_compiles(
    build: Build, row: str, column: str, printed: str, problem: str, title: str, note: str
) -> None:
    given = {(row, column): (printed, [], problem), ("b", column): (None, [1.0], problem)}
    latex = to_latex(build(given, title=title, note=note))
    check(latex)
    assert len(rows(latex.split(r"\toprule", 1)[1].split(r"\bottomrule", 1)[0])) == 2 + len({row, "b"})
