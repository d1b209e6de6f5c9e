"""Replays the recorded cases through other builds of llama.cpp and tells which of them answer otherwise.

Every case of data/steps-*.jsonl that libllama b11192 has recorded is run once more by the libllama.so of each build, step by
step: names, sizes, `sorted`, the bits of ids, logits and p, tokens. With `--model`, also the cases that look into a
vocabulary, in builds whose structs are those of b11192. Where a build has a llama-server, also data/requests.jsonl: what it
reads from each body, or its refusal, word for word.

From the root of the repository, with folders that hold a build's libllama.so and, perhaps, its llama-server
(docs/builds.md says how they were made):
    python testing/compare_builds.py 11192=builds/11192 9093=builds/9093 [--model model/small-2048.gguf] [--json out.json]
Status 1 where the build named 11192 answers otherwise: then it is not the one that the files were recorded from.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import sys

import oracle_lib as oracle
from libllama import Libllama
from llama_model import Vocabulary
from llama_server import Server
from record_requests import record

DATA = pathlib.Path(__file__).parent / "data"
NEEDS_VOCABULARY = ("infill", "reasoning_budget")
NEEDS_COMMON = "reasoning_budget"


class BeforeVocabularySizes(Libllama):
    """Builds whose DRY is told the context's size, and whose penalties are not told the vocabulary's."""

    PENALTIES_KNOW_VOCABULARY = False
    DRY_CONTEXT = (1 << 20,)  # no recorded case has a longer history
    DRY_TESTING = "_Z30llama_sampler_init_dry_testingiffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"


def libllama(folder):
    path = str(folder / "libllama.so")
    try:
        return Libllama(path)
    except AttributeError:
        return BeforeVocabularySizes(path)


def recorded(pattern):
    def plain(path):
        return path.name.removesuffix(".gz")

    for path in sorted((*DATA.glob(pattern), *DATA.glob(pattern + ".gz")), key=plain):
        for line in oracle.read_lines(path):
            case = json.loads(line)
            if "head" not in case and case["source"].startswith(("libllama", "llama-server")):
                yield plain(path).removeprefix("steps-").removesuffix(".jsonl"), case


def difference(expected, got):
    """Where two results part: the first thing in the order in which it happens."""
    for draw, (old, new) in enumerate(zip(expected.get("steps", []), got.get("steps", []))):
        for step, (was, now) in enumerate(zip(old, new)):
            for key in ("step", "size", "sorted", "digest"):
                if was[key] != now[key]:
                    return f"draw {draw}, step {step} ({was['step']}): {key} was {was[key]}, is {now[key]}"
    for key in expected:
        if expected[key] != got.get(key):
            return f"{key}: was {json.dumps(expected[key])[:120]}, is {json.dumps(got.get(key))[:120]}"
    return None if expected.keys() == got.keys() else f"has {sorted(got)}, had {sorted(expected)}"


def replay_steps(folder, model, send):
    """The recorded chains. In a process of its own: each build has its own libllama, and may abort."""
    llama = libllama(folder)
    vocabulary = None
    if model and isinstance(llama, BeforeVocabularySizes):
        send.send(("note", "its structs are not those of b11192: the steps that look into a vocabulary are left out"))
    elif model:
        vocabulary = Vocabulary(llama, model).vocab
    has_common = (folder / "libllama-common.so").exists()
    if not has_common:
        send.send(("note", "it has no libllama-common: the reasoning budget is left out"))
    for file, case in recorded("steps-*.jsonl"):
        if (file in NEEDS_VOCABULARY and vocabulary is None) or (file == NEEDS_COMMON and not has_common):
            continue
        send.send(("begin", file, case["name"]))
        vocab = vocabulary if "vocab" in case else None
        try:
            got = llama.replay(case["chain"], case["prompt"], oracle.logits_rows(case["logits"]), vocab)
            send.send(("end", file, case["name"], difference(case["expect"], got)))
        except (ValueError, AttributeError) as error:
            send.send(("end", file, case["name"], f"not possible: {error}"))


def replay_requests(folder, model, send):
    vocabulary = type("Vocabulary", (), {"n_vocab": 2048, "encode": lambda self, text: None})()
    with Server(str(folder / "llama-server"), model) as server:
        for file, case in recorded("requests.jsonl"):
            send.send(("begin", file, case["name"]))
            got = record(server, vocabulary, "", case["request"])["expect"]
            send.send(("end", file, case["name"], difference(case["expect"], got)))


def followed(target, *arguments):
    """Runs `target` in a process and gives what it sends, until it ends or dies."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=target, args=(*arguments, send))
    process.start()
    send.close()
    running = None
    while True:
        try:
            message = receive.recv()
        except EOFError:
            break
        running = message[1:3] if message[0] == "begin" else None
        yield message
    process.join()
    if process.exitcode:
        yield ("end", *(running or ("", "")), f"ended with {process.exitcode}")


def compare(folder, model):
    """Of one build: equal cases and all cases by file, the differences, and remarks."""
    equal, total, differences, notes = collections.Counter(), collections.Counter(), [], []
    parts = [(replay_steps, (folder, model))]
    if model and (folder / "llama-server").exists():
        parts.append((replay_requests, (folder, model)))
    for target, arguments in parts:
        for kind, *message in followed(target, *arguments):
            if kind == "note":
                notes += message
            elif kind == "end":
                file, name, what = message
                total[file] += 1
                equal[file] += what is None
                if what:
                    differences.append((name, what))
    return {"equal": dict(equal), "total": dict(total), "differences": differences, "notes": notes}


def main():
    parser = argparse.ArgumentParser(description="Replays the recorded cases through other builds of llama.cpp.")
    parser.add_argument("builds", nargs="+", metavar="NUMBER=FOLDER")
    parser.add_argument("--model")
    parser.add_argument("--json")
    arguments = parser.parse_args()

    results = {}
    for build in arguments.builds:
        number, _, folder = build.partition("=")
        result = results[number] = compare(pathlib.Path(folder), arguments.model)
        print(f"{number}: {sum(result['equal'].values())} of {sum(result['total'].values())} are those of b11192")
        for file, total in result["total"].items():
            if result["equal"][file] != total:
                print(f"  {file}: {result['equal'][file]} of {total}")
        for note in result["notes"]:
            print(f"  {note}")
        for name, what in result["differences"]:
            print(f"  {name}: {what}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(bool(results.get("11192", {}).get("differences")))


if __name__ == "__main__":
    main()
