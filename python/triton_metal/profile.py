# SPDX-License-Identifier: MIT
"""Counters of launches on the virtual GPU, and what the performance model makes of them.

    with triton_metal.profile() as p:
        kernel[grid](...)
    p.table()              # with rich, when it is installed
    p.json()               # everything: totals, classes, source lines, model
    p.trace("trace.json")  # threadgroups on the chip's cores over model time, for Perfetto

TRITON_METAL_PROFILE=1 does the same for the whole process and prints the table at its end (another
value than 1 is a chip's name). Counted launches run a twin of the kernel that counts: slower, with the
same results."""
import atexit
import json
import os
import sys

from . import _core

CHIP_OF_FAMILY = {"apple7": "m1", "apple8": "m2", "apple9": "m3", "apple10": "m5"}


def default_chip():
    """The first chip of the family that kernels are compiled for."""
    return CHIP_OF_FAMILY.get(os.environ.get("TRITON_METAL_TARGET", "apple9"), "m1")


class Launch:
    """One launch: `data` is what `Counters.text("json")` tells, `totals`, `lines` and `model` parts of it."""

    def __init__(self, counters, chip):
        self.data = json.loads(counters.text("json", chip))
        self.counters = counters

    kernel = property(lambda self: self.data["kernel"])
    totals = property(lambda self: self.data["totals"])
    classes = property(lambda self: self.data["classes"])
    lines = property(lambda self: self.data["lines"])
    model = property(lambda self: self.data["model"][0])


def _short(n):
    """A number in at most six characters."""
    for unit in ("", "k", "M", "G"):
        if n < 10000:
            break
        n /= 1000
    return f"{n:.0f}{unit}"


def _add(into, more):
    for key, value in more.items():
        if isinstance(value, dict):
            _add(into.setdefault(key, {}), value)
        elif isinstance(value, (int, float)) and key != "line":
            into[key] = into.get(key, 0) + value
        else:
            into.setdefault(key, value)


class Kernel:
    """All launches of kernels of one name, summed."""

    def __init__(self, name):
        self.name, self.launches = name, 0
        self.totals, self.classes, self.places = {}, {}, {}
        self.low_us = self.high_us = self.expected_us = 0.0
        self.model = None

    def add(self, launch):
        self.launches += 1
        _add(self.totals, launch.totals)
        _add(self.classes, launch.classes)
        for line in launch.lines:
            if line["what"]:
                line = {**line, "what": line["what"].removeprefix("air.").split(".")[0]}
            _add(self.places.setdefault((line["file"], line["line"], line["what"]), {}), line)
        self.model = launch.model
        self.low_us += self.model["low_us"]
        self.high_us += self.model["high_us"]
        self.expected_us += self.model["expected_us"]

    @property
    def active_lanes(self):
        return self.totals["lane_instructions"] / (32 * (self.totals["instructions"] or 1))

    def as_dict(self):
        return {"kernel": self.name, "launches": self.launches, "active_lanes": self.active_lanes,
                "low_us": self.low_us, "high_us": self.high_us, "expected_us": self.expected_us,
                "totals": self.totals, "classes": self.classes, "model": self.model,
                "lines": sorted(self.places.values(), key=lambda line: -line["cycles"])}


class Profile:
    """The context manager behind `triton_metal.profile()`. With keep=False launches are summed by kernel
    and not kept, which is what a whole process wants."""

    def __init__(self, chip=None, keep=True, banks=(32, 4)):
        self.chip = chip or default_chip()
        self.banks = banks
        self.keep = keep
        self.launches = []
        self.kernels = {}
        self.expected_us = 0.0
        self._before = None

    def __enter__(self):
        self._before = _core.set_profile(self._launched, *self.banks)
        return self

    def __exit__(self, *exception):
        _core.set_profile(*self._before)

    def _launched(self, counters):
        launch = Launch(counters, self.chip)
        self.kernels.setdefault(launch.kernel, Kernel(launch.kernel)).add(launch)
        self.expected_us += launch.model["expected_us"]
        if self.keep:
            self.launches.append(launch)
        if self._before[0] is not None:
            self._before[0](counters)

    def json(self, path=None):
        """A dict of everything, written to `path` when there is one."""
        data = {"chip": self.chip, "kernels": [k.as_dict() for k in self.kernels.values()],
                "launches": [launch.data for launch in self.launches]}
        if path:
            with open(path, "w") as file:
                json.dump(data, file, indent=1)
        return data

    def trace(self, path):
        """Writes Chrome trace events: launches one after another, each with its threadgroups on the cores."""
        events, at = [], 0.0
        for launch in self.launches:
            one = json.loads(launch.counters.text("trace", self.chip))["traceEvents"]
            events += [e for e in one if e["ph"] == "M"] if not at else []
            for event in one:
                if event["ph"] == "X":
                    event["ts"] += at
                    event["args"]["kernel"] = launch.kernel
                    events.append(event)
            length = launch.model["expected_us"]
            events.append({"ph": "X", "name": launch.kernel, "cat": "launch", "pid": "launches", "tid": 0, "ts": at,
                           "dur": length, "args": {"bound": launch.model["bound"]}})
            at += length
        with open(path, "w") as file:
            json.dump({"displayTimeUnit": "ns", "traceEvents": events}, file)

    def table(self, lines=12, file=None):
        """Prints the counters by kernel and by source line."""
        try:
            from rich.console import Console
        except ImportError:
            return self._plain(lines, file or sys.stdout)
        console = Console(file=file)
        console.print(self._summary())
        for kernel in self.kernels.values():
            console.print(self._lines(kernel, lines))
        for model in {k.model["family"]: k.model for k in self.kernels.values()}.values():
            console.print(f"model of {self.chip} ({model['family']}): {model['confidence']}; banks are assumed")

    def _rows(self):
        for k in self.kernels.values():
            t = k.totals
            yield (k.name, k.launches, f"{t['instructions']:,}", f"{100 * k.active_lanes:.1f} %",
                   f"{t['divergent_branches']:,} of {t['branches']:,}",
                   f"{t['device_read_bytes'] + t['device_write_bytes']:,}",
                   f"{t['device_read_lines'] + t['device_write_lines']:,}",
                   f"{t['threadgroup_read_bytes'] + t['threadgroup_write_bytes']:,}",
                   f"{t['bank_conflict_cycles']:,}", f"{t['barriers']:,}", f"{t['matrix_ops']:,}",
                   "{:.0f}-{:.0f} %".format(*(100 * x for x in k.model["occupancy"])),
                   f"{k.low_us:.1f} - {k.high_us:.1f}", k.model["bound"])

    HEADS = ("kernel", "launches", "instructions", "active lanes", "branches diverged", "device bytes",
             "128-byte lines", "threadgroup bytes", "bank conflict cycles", "barriers", "matrix ops", "occupancy",
             "model time, us", "bound")

    def _summary(self):
        from rich.table import Table
        table = Table(title=f"virtual GPU, times of the {self.chip} model")
        for head, *cells in zip(self.HEADS, *self._rows()):
            if head == self.HEADS[0]:
                table.add_column(head)
                for name in cells:
                    table.add_column(name, justify="right")
            else:
                table.add_row(head, *map(str, cells))
        return table

    @staticmethod
    def _line_rows(kernel, most):
        places = sorted(kernel.places.values(), key=lambda line: -line["cycles"])[:most]
        for line in places:
            where = f"{os.path.basename(line['file'])}:{line['line']}" if line["file"] else line["what"][:24]
            lanes = 100 * line["lane_instructions"] / (32 * (line["instructions"] or 1))
            yield (where, _short(line["instructions"]), f"{lanes:.0f} %", _short(line["divergent_branches"]),
                   _short(line["device_bytes"]), _short(line["device_lines"]), _short(line["bank_conflict_cycles"]),
                   ", ".join(sorted(line["classes"], key=line["classes"].get, reverse=True)[:2]))

    LINE_HEADS = ("place", "instr", "lanes", "div", "bytes", "lines", "confl", "mostly")

    def _lines(self, kernel, most):
        from rich import box
        from rich.table import Table
        table = Table(title=f"{kernel.name}, by place, most cycles first", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
        for i, head in enumerate(self.LINE_HEADS):
            table.add_column(head, justify="left" if i in (0, 7) else "right", no_wrap=True)
        for row in self._line_rows(kernel, most):
            table.add_row(*row)
        return table

    def _plain(self, lines, file):
        print("\t".join(self.HEADS), file=file)
        for row in self._rows():
            print("\t".join(map(str, row)), file=file)
        for kernel in self.kernels.values():
            print(f"\n{kernel.name}\t" + "\t".join(self.LINE_HEADS), file=file)
            for row in self._line_rows(kernel, lines):
                print("\t".join(row), file=file)


def profile(chip=None, keep=True, banks=(32, 4)):
    """A context that counts every launch inside it. `chip` is the model's, "m1" to "m5-max"; `banks` is
    how many banks of how many bytes threadgroup memory is taken to have."""
    return Profile(chip, keep, banks)


def model_ms(call, chip=None):
    """Milliseconds that the launches inside call() take in the model."""
    with Profile(chip, keep=False) as p:
        call()
    return p.expected_us * 1e-3


def bench_chip():
    """TRITON_METAL_BENCH: None for wall time, else the chip whose model time benchmarks return."""
    setting = os.environ.get("TRITON_METAL_BENCH", "")
    kind, _, chip = setting.partition(":")
    if kind in ("", "wall"):
        return None
    if kind != "model":
        raise ValueError(f"TRITON_METAL_BENCH must be wall or model[:chip], not '{setting}'")
    return chip or default_chip()


def start_for_process():
    """What TRITON_METAL_PROFILE asks for."""
    wanted = os.environ.get("TRITON_METAL_PROFILE", "0")
    if wanted in ("", "0"):
        return
    whole = Profile(None if wanted == "1" else wanted, keep=False)
    whole.__enter__()

    def report():
        whole.__exit__()
        if whole.kernels:
            whole.table(file=sys.stderr)
    atexit.register(report)
