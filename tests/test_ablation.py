"""Ablations of refuted claims: what they support, which runs they need, and explanations without typed numbers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.study.ablate import needed
from quiclab.study.ablation import Ablation, AblationResult, Support, Worlds, judge_ablation
from quiclab.study.claims import Claim
from quiclab.study.criteria import Criterion
from quiclab.study.evaluate import Evaluation
from quiclab.study.explanation import PLACEHOLDER, filled
from quiclab.study.findings import Grid, Key, NotMeasuredError, Resamples
from quiclab.study.predicates import read_entries
from quiclab.study.registry import find, find_all, studies

FACTORS = {"x": (1,)}
LOW = Claim("T-1", "", "below 5", lambda t: t("a", x=1) < 5)
VALUES: Mapping[str, list[float]] = {
    "": [7.0, 8.0, 7.5, 7.2, 7.8],
    "repaired": [1.0, 2.0, 1.5, 1.2, 1.8],
    "same": [7.1, 8.1, 7.6, 7.3, 7.9],
    "split": [4.0, 6.0, 4.9, 5.1, 5.0],
    "few": [1.0, 2.0, 1.5],
    "single": [1.0],
}


def judged(ablation: Ablation) -> AblationResult:
    claim = Claim(LOW.identity, "", "", LOW.check, ablation=ablation)

    def runs(variant: str) -> Resamples:
        key: Key = ("a", 1)
        values = VALUES.get(variant)
        grid = Grid(FACTORS, ("a",), {} if values is None else {key: values})
        return Resamples(lambda study, metric: grid, 400)  # noqa: ARG005

    found = judge_ablation(claim, runs, "`this`")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("variant", "support"),
    [
        ("repaired", Support.SUPPORTED),
        ("same", Support.NOT_SUPPORTED),
        ("split", Support.OPEN),
        ("few", Support.OPEN),
        ("single", Support.NOT_RUN),
        ("absent", Support.NOT_RUN),
    ],
)
def test_the_claim_under_a_variant(variant: str, support: Support) -> None:
    assert judged(Ablation("it is removed", variant)).support is support


def test_reasons_name_what_is_missing_and_the_command() -> None:
    assert judged(Ablation("", "few")).reason == "3 runs; at least 5 are needed"
    assert judged(Ablation("", "absent")).reason == "a, 1 was not run or gave no value; `this` makes the runs"


def test_a_predicate_over_the_runs_with_and_without() -> None:
    found = judged(
        Ablation(
            "",
            check=lambda under: under("repaired")("a", x=1) < 0.5 * under("")("a", x=1),
            numbers=lambda under: {"without": under("repaired")("a", x=1)},
        )
    )
    assert (found.support, found.share_true) == (Support.SUPPORTED, 1.0)
    assert found.numbers == {"without": 1.5}
    wrong = Ablation("", check=lambda under: under("same")("a", x=1) < 0.5 * under("")("a", x=1))
    assert judged(wrong).support is Support.NOT_SUPPORTED


def test_a_sentence_with_a_value_that_is_missing_is_left_out() -> None:
    def missing() -> float:
        raise NotMeasuredError(("a", 1))

    names = {"T": lambda name: {"tcp": 12.345}[name], "missing": missing}
    text = "{{ T('tcp') | figures(1) }} Mbit/s, {{ (T('tcp') / 10 - 1) | percent(0) }}; {plain}."
    assert filled(text, names) == ("12.3 Mbit/s, +23 %; {plain}.", False)
    without = "Without it (`variant`, i.e. none) it is {{ missing() }} s, {{ T('tcp') | figures(0) }} with. "
    assert filled(f"{text} {without}(See T-2.) 5 are left.", names) == (
        "12.3 Mbit/s, +23 %; {plain}. (See T-2.) 5 are left.",
        True,
    )
    assert filled("{{ missing() }} and {{ missing() }}", names) == ("", True)


EXPLAINED = [
    (study, claim)
    for study in map(find, studies())
    for claim in study.measures.claims
    if claim.explanation or claim.ablation
]


@pytest.mark.parametrize(("study", "claim"), EXPLAINED, ids=lambda item: getattr(item, "identity", ""))
def test_explanations_and_ablations_read_what_their_studies_have(study, claim) -> None:  # type: ignore[no-untyped-def]
    """All names, settings and variants exist; nothing has to be run for that."""
    del study
    homes = [item for item in map(find, studies()) if claim.identity in {one.identity for one in item.measures.claims}]
    found = needed(homes)
    for (name, variant), settings in found.items():
        design = find(name).design
        assert variant in {"", *(item.name for item in design.variants)}, name
        points = list(find(name).points((design.default_engine,), 1, variants=()))
        known = {(point.configuration, tuple(point.values[one.column] for one in design.swept)) for point in points}
        assert {setting[1:] for setting in settings} <= known
    if claim.ablation is not None:
        assert claim.ablation.removed
        assert bool(claim.ablation.variant) != bool(claim.ablation.shows), "one of both"


#: Numbers of explanations that are not measured: parts of names, of standards, of programs, or of the set-up.
NOT_MEASURED = (
    r"`[^`]*`",  # names of options, variants and functions
    r"\b[A-Z]{2}-?\d+\b",  # identities of claims
    r"\bRFC \d+\b",
    r"\b(?:Linux|Chromium|HTTP|version|of|QUICv|gQUIC|quic)[ /]?\d+(?:\.\d+)*\b",  # releases and years
    r"\b(?:Table|Tables|Figure|Section|Figures|Sections) [A-Z\d.]+(?: and [A-Z\d.]+)*",
    r"\blink [12]\b",
    r"\b0-RTT\b",
    r"\b\d+th percentile\b",
)
#: Parameters of the set-up by claim: the scenario has them, no run gives them.
PARAMETERS = {
    "TN07": ("10 MB", "6 MB"),  # limit of the FIFO, and of TCP's receive buffer (tcp_rmem of Linux)
    "TN26": ("about 2",),  # read from a figure of the thesis
}


@pytest.mark.parametrize(("study", "claim"), EXPLAINED, ids=lambda item: getattr(item, "identity", ""))
def test_no_explanation_has_a_typed_number(study, claim) -> None:  # type: ignore[no-untyped-def]
    """Measured values are placeholders; published ones are those of the claim's own entry."""
    text = PLACEHOLDER.sub("", claim.explanation)
    for allowed in PARAMETERS.get(claim.identity, ()):
        assert allowed in text, f"{allowed} is not in the explanation of {claim.identity}"
        text = text.replace(allowed, "")
    for pattern in NOT_MEASURED:
        text = re.sub(pattern, "", text)
    group = study.name.partition("/")[0]
    file = ROOT / "studies/quiclab_studies" / group / "reference/claims.yaml"
    entry = read_entries(file)[claim.identity].values() if file.exists() else (claim.statement,)  # criteria have none
    # settings that placeholders and ablation name, and what the source says
    read = [*PLACEHOLDER.findall(claim.explanation), claim.ablation.shows if claim.ablation else ""]
    published = set(re.findall(r"\d+(?:\.\d+)?", " ".join([*map(str, entry), *read])))
    typed = [number for number in re.findall(r"\d+(?:\.\d+)?", text) if number not in published]
    assert typed == [], f"{claim.identity}: typed numbers {typed}; use placeholders over the claim's terms"


@pytest.mark.parametrize(("study", "claim"), EXPLAINED, ids=lambda item: getattr(item, "identity", ""))
def test_an_explanation_has_an_ablation_or_says_that_the_cause_is_not_known(study, claim) -> None:  # type: ignore[no-untyped-def]
    del study
    assert claim.ablation is not None or claim.explanation.startswith("The cause is not known"), claim.identity


TINY = '''"""Ablations on small studies (of nobody)."""

import types
from dataclasses import replace

from .tiny import RATE

from quiclab.study.ablation import Ablation
from quiclab.study.claims import Claim
from quiclab.study import Variant


def below(t):
    return t("near", rate=5) < 3.0


VARIANTS = (
    Variant("slower", "a slower link", "Less.", {"links.down1.rate": "2 Mbit/s"}, runs=5),
    Variant("tight", "queue of 10", "Another reading.", {"links.down1.queue.packets": 10}, runs=5),
)
CLAIMS = (
    Claim("AB-1", "", "Slow.", below, explanation="The link is too fast.", ablation=Ablation("a slow link", "slower")),
    Claim("AB-2", "", "Slow.", below, explanation="The queue is long.", ablation=Ablation("a short queue", "tight")),
    Claim("AB-3", "", "Slow.", below),
    Claim(
        "AB-4",
        "",
        "Slow.",
        below,
        explanation="It is {{ T() | figures(1) }} Mbit/s. With a slower link {{ under('slower').T() | figures(1) }}.",
        terms=lambda under: {
            "T": lambda: under("")("near", rate=5),
            "under": lambda name: types.SimpleNamespace(T=lambda: under(name)("near", rate=5)),
        },
        ablation=Ablation("a slow link", "slower"),
    ),
)
STUDIES = (
    replace(
        RATE,
        name="tiny/ablated",
        design=replace(RATE.design, engines=RATE.design.engines[:1], runs=5, variants=VARIANTS),
        measures=replace(RATE.measures, claims=CLAIMS),
    ),
)
'''


def test_the_command_makes_the_runs_that_verdicts_on_explanations_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "data" / "tiny", home)
    (home / "studies" / "ablated.py").write_text(TINY, encoding="utf-8")
    monkeypatch.setenv("QUICLAB_STUDIES", str(home / "studies"))
    name, out = "tiny/ablated", tmp_path / "out"
    assert cli.invoke(["study", "run", name, "--out", str(out)]) == 0
    capsys.readouterr()
    assert cli.invoke(["verify", name, "--out", str(out)]) == 0
    before = capsys.readouterr().out
    assert "explanation: The link is too fast." in before
    command = f"`quiclab study ablate {name} --out {out}`"
    why = "5 ms away, rate 5 Mbit/s was not run or gave no value"
    assert f"ablation: a slow link: not run ({why}; {command} makes the runs)" in before
    short = f"Mbit/s. Sentences with values of ablations that were not run are left out: {command} runs them.\n"
    assert short in before.partition("AB-4")[2]
    assert before.partition("AB-4")[2].count(command) == 1
    assert "not run)" not in before
    assert cli.invoke(["study", "ablate", name, "--out", str(out)]) == 0
    assert "15 of 15 runs complete, 10 of them new" in capsys.readouterr().err, "one setting, and with each variant"
    judgements = {item.claim.identity: item for item in Evaluation(find(name), out).judgements("quinn")}
    supports = {key: item.ablation and item.ablation.support for key, item in judgements.items()}
    assert supports == {"AB-1": "supported", "AB-2": "not_supported", "AB-3": None, "AB-4": "supported"}
    assert cli.invoke(["verify", name, "--out", str(out)]) == 0
    after = capsys.readouterr().out
    assert "ablation: a slow link: supported, as expected in 100.0 % of the resamples" in after
    assert "The queue is long" not in after, "its ablation does not support it"
    assert re.search(r"explanation: It is \d\.\d Mbit/s\. With a slower link \d\.\d\.\n", after)
    assert after.count("explanation: the cause is not known") == 2
    assert cli.invoke(["study", "report", name, "--out", str(out)]) == 0
    page = (out / name / "report.html").read_text(encoding="utf-8")
    assert "<strong>Explanation.</strong> The cause is not known." in page
    assert "<strong>Ablation.</strong> A slow link: supported" in page


def test_groups_without_ablations_need_no_runs() -> None:
    assert needed(find_all("validation/lanes")) == {}


def test_ablations_of_criteria_need_only_the_settings_that_they_name() -> None:
    found = needed(find_all("validation/lab_quic"))
    assert {variant for _, variant in found} == {"", "late_timers"}
    assert {name for name, _ in found} == {"validation/lab_quic/quinn"}
    settings = {str(setting) for some in found.values() for setting in some}
    assert len(settings) == 6
    assert all("20mbit_20ms" in setting and "jitter" in setting for setting in settings)


TIMES: Mapping[str, Mapping[Key, list[float]]] = {
    "": {("a", 1): [8.0, 8.2, 7.8, 8.1, 7.9], ("a", 2): [10.0, 10.1, 9.9, 10.0, 10.0]},
    "repaired": {("a", 1): [9.7, 9.9, 9.8, 9.6, 10.0]},
}


@pytest.mark.parametrize(
    ("shows", "support"),
    [
        ("under('repaired').distance('a', '1') < 0.5 * distance('a', '1')", Support.SUPPORTED),
        ("under('repaired').distance('a', '1') < 0.01 * distance('a', '1')", Support.NOT_SUPPORTED),
        (
            "abs(difference('a', 1)) > 0.1 > abs(difference('a', 2)) and deviation('a', 1) < reference('a', 1)",
            "supported",
        ),
        ("under('repaired').distance('a', '2') < distance('a', '2')", Support.NOT_RUN),
    ],
)
def test_criteria_have_ablations(shows: str, support: str) -> None:
    limits: Mapping[Key, float] = {("a", 1): 0.05, ("a", 2): 0.05}
    criterion = Criterion(
        "T-2",
        "within 5 %",
        dict.fromkeys(limits, 10.0),
        limits,
        explanation="{{ (100 * distance('a', '1')) | figures(0) }} %.",
        ablation=Ablation("it is removed", shows=shows),
    )
    claim = criterion.claim("test")

    def runs(variant: str) -> Resamples:
        grid = Grid({"x": (1, 2)}, ("a",), TIMES[variant])
        return Resamples(lambda study, metric: grid, 400)  # noqa: ARG005

    found = judge_ablation(claim, runs, "`this`")
    assert found is not None
    assert found.support == (Support.SUPPORTED if support == "true" else support)
    if support is Support.SUPPORTED:
        assert found.numbers == pytest.approx({"distance(a, 1)": 0.2, "distance(a, 1) under repaired": 0.02}, abs=1e-9)
    assert claim.terms is not None
    assert filled(claim.explanation, claim.terms(Worlds(claim, runs))) == ("20 %.", False)
