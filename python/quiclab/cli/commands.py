"""The commands: name, description, section, and the function that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Part:
    """A command.

    Attributes
    ----------
    function
        Where it is: `module:function`, of a module of this package.
    help
        Its description.
    section
        Its section in the list of commands.
    """

    function: str
    help: str
    section: str | None = None


@dataclass(frozen=True)
class Group:
    """A group of commands.

    Attributes
    ----------
    section, help
        As of `Part`.
    commands
        Its commands by their names.
    default
        The command where none is named; empty where one must be.
    """

    section: str
    help: str
    commands: dict[str, Part]
    default: str = ""


RUNS, ANALYSIS, STUDIES, INPUTS = "Runs", "Analysis", "Studies", "Networks, stacks and the machine"

COMMANDS: Final = {
    "run": Part("run:run_command", "Run a scenario once, and print its flows, delays and losses.", RUNS),
    "shell": Part(
        "shell:shell_command",
        "Run a command behind the scenario's network; its exit code is that of the command.",
        RUNS,
    ),
    "browse": Part(
        "browse:browse_command",
        "Load the page of a scenario with a real browser over HTTP/2 and HTTP/3, many times, and compare.",
        RUNS,
    ),
    "page": Part(
        "page:page_command",
        "Replay a recorded page load (HAR) over a network with several stacks, and write a report with waterfalls.",
        RUNS,
    ),
    "shard": Part(
        "shards:shard_command", "Run one shard of a plan of a sweep or a study, as a job of a cluster.", RUNS
    ),
    "diff": Part(
        "run:diff_command",
        "Show the first packet at which two runs differ, and their summaries side by side.",
        ANALYSIS,
    ),
    "inspect": Part(
        "inspect:inspect_command",
        "Write an HTML report about the packets of one run, or of two side by side; it works offline.",
        ANALYSIS,
    ),
    "demo": Part(
        "demo:demo_command", "Repeat a published finding in a minute or two: runs, verdicts, a page.", STUDIES
    ),
    "verify": Part("verify:verify_command", "Print claims and their verdicts, with numbers.", STUDIES),
}
GROUPS: Final = {
    "sweep": Group(
        RUNS,
        "Run a scenario over the levels of factors, with many seeds: a table, a figure, a page.",
        {
            "run": Part(
                "sweep:run_command",
                "Run a scenario over the levels of factors, with many seeds.\n\n"
                "`quiclab sweep plan`, `quiclab shard` and `quiclab sweep merge` do it on many machines.",
            ),
            "plan": Part(
                "sweep_shards:plan_command", "Check a sweep and write its plan, for `quiclab shard` on many machines."
            ),
            "merge": Part(
                "sweep_shards:merge_command",
                "Join the shards of a plan: table, figures and page; a shard that lacks runs is named.",
            ),
        },
        default="run",
    ),
    "pacing": Group(
        ANALYSIS,
        "Pacing and acknowledgements of captures from any source.",
        {
            "analyse": Part(
                "pacing:analyse_command",
                "Analyse packet spacing, acknowledgements and ACK clocking of captures (docs/pacing.md).",
            ),
        },
    ),
    "qlog": Group(
        ANALYSIS,
        "qlog files of runs.",
        {
            "export": Part(
                "scenario:qlog_export_command", "Convert qlog files to one file of qlog 0.3, which qvis opens."
            ),
        },
    ),
    "study": Group(
        STUDIES,
        "Published studies: run them and compare.",
        {
            "list": Part("study:list_command", "List the studies."),
            "table": Part(
                "study:table_command",
                "Print one row for each setting, in the columns of the publication if there is one.",
            ),
            "report": Part(
                "study_report:report_command",
                "Write the report of a study to its results directory, over an earlier one: a page, its figures "
                "as SVG and PNG.\n\n"
                "For a group also an overview.",
            ),
            "compare": Part(
                "study:compare_command",
                "Print published and measured results side by side, and the fidelity of each series.",
            ),
            "multiverse": Part(
                "study:multiverse_command",
                "Print which claims hold under every interpretation that was run, and on which the others depend.",
            ),
            "run": Part("study_run:run_command", "Run a study; completed runs are reused."),
            "plan": Part(
                "study_run:plan_command",
                "Write the plan of a study, for `quiclab shard` on many machines, and count its runs.",
            ),
            "merge": Part(
                "study_run:merge_command",
                "Join the shards of a plan in a results directory; a shard that lacks runs is named.",
            ),
            "decide": Part(
                "study_decide:decide_command",
                "Add runs to the settings that undecided claims read, until each claim is decided.",
            ),
            "ablate": Part(
                "study_decide:ablate_command",
                "Make the runs that explanations of refuted claims rest on; `quiclab verify` says what they support.",
            ),
            "inspect": Part(
                "study_inspect:study_inspect_command",
                "Run one setting again with recording on, and write an HTML report about its packets.",
            ),
            "scenario": Part(
                "study_setting:study_scenario_command",
                "Print one setting of a study as a scenario, to run and to vary it.\n\n"
                "`quiclab study scenario validation/blind --only case=3 > case.toml`, then `quiclab run`, "
                "`quiclab sweep` and all other commands that read scenarios.",
            ),
            "package": Part(
                "study_package:package_command",
                "Write one archive with everything needed to repeat a study to its results directory, over an "
                "earlier one.",
            ),
        },
    ),
    "store": Group(
        STUDIES,
        "Stored runs: list them, and remove those that nothing uses.",
        {
            "ls": Part(
                "store:ls_command",
                "List results directories: runs, those of other versions, size, builds, when they were last written.",
            ),
            "gc": Part(
                "store:gc_command",
                "Remove runs of other versions, documents that can be made again, and what killed writers left.",
            ),
        },
    ),
    "result": Group(
        ANALYSIS,
        "Schema of results, and the meaning of their metrics.",
        {
            "schema": Part("result:schema_command", "Print the JSON schema of results."),
            "metrics": Part(
                "result:metrics_command",
                "List the metrics of results and time series: name, kind, unit, element and meaning.",
            ),
        },
    ),
    "scenario": Group(
        INPUTS,
        "Write, print and describe scenarios.",
        {
            "list": Part("scenario:scenario_list", "List the examples."),
            "new": Part("scenario:scenario_new", "Print or write a commented scenario that can be run unchanged."),
            "show": Part(
                "scenario:scenario_show",
                "Print a scenario with every default filled in, and say what of it no flow uses.",
            ),
            "schema": Part("scenario:scenario_schema", "Print the JSON schema of scenario files."),
            "fields": Part(
                "scenario:scenario_fields",
                "Print type, default, meaning and limits of the fields at a path of scenario files.",
            ),
        },
    ),
    "path": Group(
        INPUTS,
        "Named paths: networks with a name and the source of each value.",
        {
            "list": Part("path:list_command", "List the named paths."),
            "show": Part(
                "path:show_command",
                "Print the links of a path with the source of each value, and draw what probes measure over it.",
            ),
        },
    ),
    "stack": Group(
        INPUTS,
        "Stacks and profiles, with the source of each value.",
        {
            "list": Part("scenario:stack_list", "List the stacks."),
            "show": Part("scenario:stack_show", "Print the options of a stack with the source of each default."),
        },
    ),
    "trace": Group(
        INPUTS,
        "Rates over time for links: make, import and show them.",
        {
            "generate": Part(
                "trace:generate_command", "Make a synthetic cellular trace (docs/traces.md has the model)."
            ),
            "import": Part("trace:import_command", "Turn a file of the 4G data set into a trace."),
            "show": Part("trace:show_command", "Print the statistics of a trace, and draw it."),
        },
    ),
    "kernel": Group(
        INPUTS,
        "Virtual-clock kernel, and kernel-lane features of this machine.",
        {
            "host": Part(
                "host:host_command",
                "Measure the cost of datagrams and system calls for a program, and write it as host templates for "
                "lane sim.",
            ),
            "calibrate": Part(
                "calibrate:calibrate_command",
                "Measure the network of a scenario with a ping, bursts of datagrams and TCP; compare it with the "
                "scenario.",
            ),
            "build": Part(
                "kernel:build_command",
                "Build the kernel with a virtual clock: about eight CPU minutes, and 2.5 GB of disk during the build.",
            ),
            "doctor": Part(
                "kernel:doctor_command",
                "Report which kernel-lane features this machine supports, and how to enable the others; changes "
                "nothing.",
            ),
        },
    ),
}
