"""The MCP server, driven by the SDK's own client: the answers of the command line, cut short, with their sources."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from click.testing import CliRunner
from small_dataset import CROSS, write, write_operators

from caniexport import api
from caniexport.agents import Agent, make_server, shorten
from caniexport.cli import main
from caniexport.cli.mcp import WholeCharacters
from caniexport.settings import ProjectSettings


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "cases").mkdir()
    write(folder / "results")
    write_operators(folder)
    return folder


@pytest.fixture
def printed(home, monkeypatch):
    """``printed("why", "cross")``: what the command prints as JSON, cut as for an agent."""
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))

    def run(*words):
        found = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
        return shorten({"answers": found} if isinstance(found, list) else found)

    return run


@pytest.fixture(scope="module")
def dataset(home):
    return api.open(home / "results")


@pytest.fixture(scope="module")
def mcp():
    return pytest.importorskip("mcp", reason="the server needs the extra mcp")


def ask(server, tool, **arguments):
    """What the SDK's client gets; a failure as text."""
    import mcp

    async def call():
        async with mcp.Client(server) as client:
            return await client.call_tool(tool, arguments)

    reply = asyncio.run(call())
    return reply.content[0].text if reply.is_error else reply.structured_content


def test_each_tool_gives_the_answer_of_its_command(mcp, dataset, printed, tmp_path):
    server = make_server(dataset, tmp_path)
    point = {"torch": "1.12.1", "exporter": "trace", "opset": "14"}
    options = ("--torch", "1.12.1", "--exporter", "trace", "--opset", "14")
    asked = {
        "case": ({"case": "cross", **point}, ("case", "cross", *options)),
        "explain_error": ({"text": CROSS, **point}, ("why", CROSS, *options)),
        "workaround": ({"case": "cross", **point}, ("workaround", "cross", *options)),
        "op": ({"op": "torch.linalg.cross"}, ("op", "torch.linalg.cross")),
        "upgrade": ({"before": "2.0.1", "after": "1.12.1"}, ("upgrade", "--from", "2.0.1", "--to", "1.12.1")),
    }

    for tool, (arguments, words) in asked.items():
        answer, mine = ask(server, tool, **arguments), printed(*words)
        assert {name: answer[name] for name in mine} == mine, tool
        assert answer["more"].startswith(f"caniexport {'why' if tool == 'explain_error' else words[0]} ")


def test_the_tools_say_that_they_only_read_and_what_they_take(mcp, dataset, tmp_path):
    async def listed():
        async with mcp.Client(make_server(dataset, tmp_path)) as client:
            return (await client.list_tools()).tools, client.instructions

    tools, instructions = asyncio.run(listed())

    assert [tool.name for tool in tools] == ["explain_error", "search", "case", "workaround", "upgrade", "op"]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert "never fine" in instructions


def test_an_unknown_name_is_an_error_that_names_the_nearest(mcp, dataset, tmp_path):
    server = make_server(dataset, tmp_path)

    assert "unknown case 'corss' (nearest: cross)" in ask(server, "case", case="corss")
    assert "torch 2.9 has not been measured" in ask(server, "case", case="cross", torch="2.9")
    assert "name the point that you upgrade from" in ask(server, "upgrade", after="2.15")


def test_what_is_left_out_is_what_the_project_says_and_the_answer_says_so(dataset):
    agent = Agent(dataset, ProjectSettings(torch=">=1.12,<2.9", opset="14", source="pyproject.toml"))

    cell, whole = agent.case("cross", exporter="trace"), agent.case("cross")
    moved = agent.upgrade("2.15.0")

    assert cell["verdict"] == "Works (torch 2.8.0, dynamo=False, opset_version=14)."
    assert "settings" not in whole
    assert moved["settings"] == "torch >=1.12,<2.9, opset 14: [tool.caniexport] of pyproject.toml"
    assert moved["notes"][0] == "From torch 2.8.0, dynamo=False, opset_version=14 to torch 2.15.0."
    assert "settings" not in agent.upgrade("2.15.0", before="2.0.1")


def test_of_a_long_chain_of_errors_the_last_is_told():
    chain = f"ConversionError: outer\n{'steps ' * 400}\ncaused by ValueError: why"

    assert shorten({"message": chain})["message"] == "ConversionError: outer\n…\ncaused by ValueError: why"


def test_a_long_answer_is_cut_and_counted():
    groups = [{"torch": str(number), "empty": "", "none": None, "no": False} for number in range(20)]

    cut = shorten({"groups": groups, "names": list("abcdefghijklmnop"), "text": "x" * 2000, "nothing": []})

    assert [group["torch"] for group in cut["groups"]] == [str(number) for number in range(12)]
    assert cut["groups"][0] == {"torch": "0", "no": False}
    assert (cut["names"][-1], cut["left_out"]) == ("l", {"groups": 8, "names": 4})
    assert len(cut["text"]) == 1200
    assert len(shorten({"groups": [{"torch": "2.9.1" * 200}] * 20})["groups"]) == 6


def test_the_command_serves_over_stdio(mcp, home):
    """As an agent starts it."""
    here = {"CANIEXPORT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    own = Path(sys.executable).with_name("caniexport")
    start = mcp.StdioServerParameters(command=str(own), args=["mcp"], env=here, cwd=str(home))

    answer = ask(start, "case", case="cross", torch="1.12.1", exporter="trace", opset="14")

    assert answer["verdict"].startswith("Fails at export")


def test_half_of_a_surrogate_pair_is_spelled_out():
    """The text of an error that Python decoded with surrogateescape, as JSON has it."""
    line = rb'{"case": "\ud800"} {"case": "\ud83d\ude00\\ud800"}'

    spelled = rb'{"case": "\\ud800"} {"case": "\ud83d\ude00\\ud800"}'
    assert io.BufferedReader(WholeCharacters(io.BytesIO(line))).read() == spelled


def test_a_case_at_a_point_that_was_not_measured_says_so(dataset):
    agent = Agent(dataset)

    assert agent.case("cross", torch="1.12.1")["verdict"].startswith("Fails at export")
    assert agent.case("cross", torch="1.10.2", opset="20")["outcome"] == "not measured"


def test_the_server_answers_a_call_with_half_of_a_surrogate_pair(mcp, home):
    """The text of an error that Python decoded with surrogateescape, as JSON has it."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "case", "arguments": {"case": "cross\ud800"}}},
    ]
    command = [str(Path(sys.executable).with_name("caniexport")), "mcp"]
    environ = {"CANIEXPORT_HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environ, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL) as server:
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
            server.stdin.flush()
        replies = {reply["id"]: reply for reply in (json.loads(server.stdout.readline()) for _ in range(2))}
        server.stdin.close()

    assert replies[2]["result"]["isError"]
    assert "unknown case" in replies[2]["result"]["content"][0]["text"]
