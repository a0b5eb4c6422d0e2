#!/usr/bin/env python3
"""Generated requests to the reference and to ours, answers compared.

    differential.py record --reference URL --keystone URL   asks the reference and writes golden.jsonl
    differential.py replay --target URL                     asks ours, which takes identities from headers, and compares with golden.jsonl
    differential.py both --target URL --reference URL --keystone URL --seeds 1000:1040
                                                            new scenarios to both, nothing kept

Compared are status, type of a fault, and every attribute of the answer, but for what chance decides. `deviations.py` lists what differs on
purpose; each entry stands in docs/compat.md with its reason. Both servers have the agents of agents.sql.
"""

import argparse
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import deviations
import generator
from runner import Run, differences
from servers import Plain, Tokens

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.jsonl")
SEEDS = range(40)


def record(server, path):
    """One line for each step; the first of a scenario has its seed."""
    kinds = {}
    with open(path + ".new", "w") as file:
        for seed in SEEDS:
            run, steps = Run(server), generator.scenario(seed)
            for number, step in enumerate(steps):
                answer = run.step(step)
                if "answer" in answer:
                    answer["answer"] = pack(deviations.without_later(answer["answer"]), kinds)
                line = dict({"seed": seed} if number == 0 else {}, **step, **answer)
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            left = run.clean()
            print("%3d: %d steps%s" % (seed, len(steps), ", left behind: %s" % left if left else ""), flush=True)
    os.replace(path + ".new", path)


def pack(value, kinds):
    """Objects by what differs from the first of their kind, to keep the file small."""
    if isinstance(value, list):
        return [pack(item, kinds) for item in value]
    if not isinstance(value, dict):
        return value
    if "id" not in value or len(value) < 8:
        return {name: pack(item, kinds) for name, item in value.items()}
    kind = ",".join(sorted(value))
    if kind not in kinds:
        kinds[kind] = ("=%d" % len(kinds), value)
        return {"=": kinds[kind][0], **value}
    name, first = kinds[kind]
    return {"~": name, **{key: item for key, item in value.items() if item != first[key]}}


def unpack(value, kinds):
    if isinstance(value, list):
        return [unpack(item, kinds) for item in value]
    if not isinstance(value, dict):
        return value
    if "=" in value:
        whole = {key: item for key, item in value.items() if key != "="}
        kinds[value["="]] = whole
        return whole
    if "~" in value:
        return {**kinds[value["~"]], **{key: item for key, item in value.items() if key != "~"}}
    return {key: unpack(item, kinds) for key, item in value.items()}


def recorded(path):
    """Scenarios of the file: seed, steps with the reference's answers."""
    kinds, scenarios = {}, []
    for line in open(path):
        step = json.loads(line)
        if "seed" in step:
            scenarios.append((step["seed"], []))
        if "answer" in step:
            step["answer"] = unpack(step["answer"], kinds)
        scenarios[-1][1].append(step)
    return scenarios


class Report:
    def __init__(self, verbose):
        self.verbose = verbose
        self.steps = self.different = 0
        self.excused = collections.Counter()

    def compare(self, seed, step, want, got):
        self.steps += 1
        want, got = deviations.cut(want, step), deviations.cut(got, step)
        found = list(differences(want, got))
        if not found:
            return
        why = deviations.excuse(step, want, got, found)
        if why:
            self.excused[why] += 1
            return
        self.different += 1
        print("seed %s: %s %s %s %s" % (seed, step["role"], step["method"], step["path"], json.dumps(step.get("body", step.get("raw", "")))[:600]))
        for path, one, other in found[:6]:
            print("    %s: reference %s, ours %s" % (path, json.dumps(one)[:200], json.dumps(other)[:200]))

    def end(self, path=None):
        if self.verbose:
            for why, count in self.excused.most_common():
                print("%5d  %s" % (count, why))
        equal = self.steps - self.different - sum(self.excused.values())
        print("differential: %d requests, %d equal, %d differ on purpose, %d differ" % (self.steps, equal, sum(self.excused.values()), self.different))
        return 1 if self.different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "replay", "both"])
    parser.add_argument("--target", default="http://127.0.0.1:9696")
    parser.add_argument("--reference", default="http://127.0.0.1:19696")
    parser.add_argument("--keystone", default="http://127.0.0.1:5000/v3")
    parser.add_argument("--password", default="secret")
    parser.add_argument("--golden", default=GOLDEN)
    parser.add_argument("--seeds", default="1000:1010", help="for both: first and one past the last")
    parser.add_argument("--verbose", action="store_true", help="count what differs on purpose by reason")
    options = parser.parse_args()
    if options.what == "record":
        record(Tokens(options.reference, options.keystone, options.password), options.golden)
        return 0
    ours, report = Plain(options.target), Report(options.verbose)
    if options.what == "replay":
        for seed, steps in recorded(options.golden):
            run = Run(ours)
            for step in steps:
                want = {name: step[name] for name in ("status", "type", "answer") if name in step}
                report.compare(seed, step, want, run.step(step))
            left = run.clean()
            if left:
                print("seed %s: could not remove %s" % (seed, left))
        return report.end()
    reference = Tokens(options.reference, options.keystone, options.password)
    first, last = map(int, options.seeds.split(":"))
    for seed in range(first, last):
        runs = Run(reference), Run(ours)
        for step in generator.scenario(seed):
            report.compare(seed, step, *(run.step(step) for run in runs))
        for run in runs:
            left = run.clean()
            if left:
                print("seed %s: could not remove %s" % (seed, left))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
