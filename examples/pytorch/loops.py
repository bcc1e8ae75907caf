#!/usr/bin/env python3
"""Small loops of PyTorch, five with a habit that costs time and one without.

  item        loss.item() in every step, though the losses are only printed at the end
  same_batch  the same batch is moved to the GPU in every step
  pageable    the batch of each step is new, and is copied from memory that is not pinned
  mask        a tensor is indexed with a mask, whose size the CPU must know
  norm        the norm of the gradient is compared on the CPU
  clean       none of these: pinned batches, all results stay on the GPU until the end

--fixed: the same work with the habit corrected, which prints the same. --pairs N: runs original and fixed variant in turn,
N times in this process, and prints the seconds of each and the median of their differences, as JSON.
"""
import argparse
import dataclasses
import functools
import json
import math
import os
import statistics
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts: reproducible matrix products

import torch  # noqa: E402

FEATURES = 512
CLASSES = 10
SAMPLES = 20000
BATCH = 4096  # samples that are on the GPU
LOADED = 2048  # samples that the CPU collects for a step
TRAINED = (FEATURES, 1024, 1024, CLASSES)  # the CPU takes longer for a step than the GPU
WIDE = (FEATURES, 2560, 2560, CLASSES)  # the GPU takes longer
APPLIED = (FEATURES, 2048, 2048, 256)  # without training
THRESHOLD = 0.5
MAX_NORM = 0.25
STEPS = {"item": 250, "same_batch": 330, "pageable": 310, "mask": 620, "norm": 250, "clean": 280}
WIDTHS = {"item": WIDE, "norm": WIDE, "mask": APPLIED}  # of the model; others: TRAINED


@dataclasses.dataclass
class Data:
    features: torch.Tensor  # on the CPU
    targets: torch.Tensor
    batches: list  # on the GPU
    labels: torch.Tensor


@functools.cache
def make_data():
    torch.manual_seed(5)
    features = torch.randn(SAMPLES, FEATURES)
    targets = torch.randint(0, CLASSES, (SAMPLES,))
    batches = [features[first : first + BATCH].cuda() for first in range(0, SAMPLES - BATCH, BATCH)]
    return Data(features, targets, batches, targets[:BATCH].cuda())


def make_model(widths):
    torch.manual_seed(7)
    layers = []
    for width_in, width_out in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(width_in, width_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).cuda()


class Job:
    """What a loop works on; made anew for each run of a loop."""

    def __init__(self, name, steps):
        self.steps = steps
        self.data = make_data()
        self.model = make_model(WIDTHS.get(name, TRAINED))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.generator = torch.Generator().manual_seed(11)
        self.logged = 0

    def batch(self, step):
        return self.data.batches[step % len(self.data.batches)]

    def backward(self, features, labels):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(features), labels)
        loss.backward()
        return loss

    def train(self, features, labels):
        loss = self.backward(features, labels)
        self.optimizer.step()
        return loss

    def load(self, features, labels):
        """Collects the samples of the next step."""
        chosen = torch.randint(0, SAMPLES, (LOADED,), generator=self.generator)
        torch.index_select(self.data.features, 0, chosen, out=features)
        torch.index_select(self.data.targets, 0, chosen, out=labels)

    def log(self, step):
        """Work of the CPU in every step: a record of the step as text."""
        self.logged += len(json.dumps([math.sin(step + i) for i in range(600)]))


class Staging:
    """Pinned memory that is filled while earlier batches are copied and used."""

    def __init__(self):
        self.features = torch.empty(LOADED, FEATURES, pin_memory=True)
        self.labels = torch.empty(LOADED, dtype=torch.int64, pin_memory=True)
        self.copied = torch.cuda.Event()

    def next_batch(self, job):
        self.copied.synchronize()  # not filled before its last batch was copied
        job.load(self.features, self.labels)
        features = self.features.to("cuda", non_blocking=True)
        labels = self.labels.to("cuda", non_blocking=True)
        self.copied.record()
        return features, labels


def item(job):
    losses = []
    for step in range(job.steps):
        loss = job.train(job.batch(step), job.data.labels)
        losses.append(loss.item())  # PLANTED: item
        job.log(step)
    return losses


def item_fixed(job):
    losses = []
    for step in range(job.steps):
        loss = job.train(job.batch(step), job.data.labels)
        losses.append(loss.detach())
        job.log(step)
    return torch.stack(losses).tolist()


def same_batch(job):
    features, labels = job.data.features[:BATCH], job.data.targets[:BATCH]
    losses = []
    for step in range(job.steps):
        batch = features.to("cuda"), labels.to("cuda")  # PLANTED: same_batch
        losses.append(job.train(*batch).detach())
        job.log(step)
    return torch.stack(losses).tolist()


def same_batch_fixed(job):
    batch = job.data.features[:BATCH].to("cuda"), job.data.targets[:BATCH].to("cuda")
    losses = []
    for step in range(job.steps):
        losses.append(job.train(*batch).detach())
        job.log(step)
    return torch.stack(losses).tolist()


def pageable(job):
    features, labels = torch.empty(LOADED, FEATURES), torch.empty(LOADED, dtype=torch.int64)
    losses = []
    for step in range(job.steps):
        job.load(features, labels)
        batch = features.to("cuda"), labels.to("cuda")  # PLANTED: pageable
        losses.append(job.train(*batch).detach())
        job.log(step)
    return torch.stack(losses).tolist()


def pageable_fixed(job):
    ring = [Staging() for _ in range(3)]
    losses = []
    for step in range(job.steps):
        batch = ring[step % len(ring)].next_batch(job)
        losses.append(job.train(*batch).detach())
        job.log(step)
    return torch.stack(losses).tolist()


@torch.no_grad()
def mask(job):
    sums = []
    for step in range(job.steps):
        scores = job.model(job.batch(step)).sigmoid()
        kept = scores[scores > THRESHOLD]  # PLANTED: mask
        sums.append(kept.sum(dtype=torch.float64))
        job.log(step)
    return torch.stack(sums).tolist()


@torch.no_grad()
def mask_fixed(job):
    sums = []
    for step in range(job.steps):
        scores = job.model(job.batch(step)).sigmoid()
        kept = torch.where(scores > THRESHOLD, scores, 0.0)
        sums.append(kept.sum(dtype=torch.float64))
        job.log(step)
    return torch.stack(sums).tolist()


def norm(job):
    losses, clipped = [], 0
    for step in range(job.steps):
        losses.append(job.backward(job.batch(step), job.data.labels).detach())
        length = torch.nn.utils.clip_grad_norm_(job.model.parameters(), MAX_NORM)
        if length > MAX_NORM:  # PLANTED: norm
            clipped += 1
        job.optimizer.step()
        job.log(step)
    return torch.stack(losses).tolist() + [clipped]


def norm_fixed(job):
    losses, clipped = [], torch.zeros((), dtype=torch.int64, device="cuda")
    for step in range(job.steps):
        losses.append(job.backward(job.batch(step), job.data.labels).detach())
        length = torch.nn.utils.clip_grad_norm_(job.model.parameters(), MAX_NORM)
        clipped += length > MAX_NORM
        job.optimizer.step()
        job.log(step)
    return torch.stack(losses).tolist() + [clipped.item()]


def clean(job):
    ring = [Staging() for _ in range(3)]
    losses = []
    for step in range(job.steps):
        batch = ring[step % len(ring)].next_batch(job)
        losses.append(job.backward(*batch).detach())
        torch.nn.utils.clip_grad_norm_(job.model.parameters(), MAX_NORM)
        job.optimizer.step()
        job.log(step)
    return torch.stack(losses).tolist()


LOOPS = {
    "item": (item, item_fixed),
    "same_batch": (same_batch, same_batch_fixed),
    "pageable": (pageable, pageable_fixed),
    "mask": (mask, mask_fixed),
    "norm": (norm, norm_fixed),
    "clean": (clean, clean),
}


def result_of(name, fixed, steps):
    """What the loop prints, and the seconds that it took."""
    job = Job(name, steps)
    loop = LOOPS[name][fixed]
    torch.cuda.synchronize()
    begin = time.perf_counter()
    values = loop(job)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    lines = [f"step {step}: {values[step]:.9g}" for step in range(0, steps, max(1, steps // 10))]
    lines.append(f"{name}: {steps} steps, last {values[-1]:.9g}, sum {sum(values):.9g}, {job.logged} bytes logged")
    return "\n".join(lines), seconds


def measure_pairs(name, steps, pairs):
    for fixed in (False, True):
        result_of(name, fixed, max(1, steps // 5))
    seconds = {False: [], True: []}
    printed = set()
    for pair in range(pairs):
        for fixed in (pair % 2 == 1, pair % 2 == 0):  # by turns one first and the other
            text, took = result_of(name, fixed, steps)
            printed.add(text)
            seconds[fixed].append(took)
    differences = [original - fixed for original, fixed in zip(seconds[False], seconds[True])]
    return {
        "loop": name,
        "steps": steps,
        "same_results": len(printed) == 1,
        "loop_s": statistics.median(seconds[False]),
        "actual_s": statistics.median(differences),
        "original_s": seconds[False],
        "fixed_s": seconds[True],
    }


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", nargs="+", choices=list(LOOPS), default=list(LOOPS), metavar="NAME", help="default: all")
    parser.add_argument("--fixed", action="store_true", help="the same work with the habit corrected")
    parser.add_argument("--steps", type=int, help="default: of each loop as many as take 1.2 s on an H200")
    parser.add_argument("--pairs", type=int, default=0, metavar="N")
    return parser.parse_args()


def main():
    options = parse_options()
    if not torch.cuda.is_available():
        print("loops.py: PyTorch sees no GPU", file=sys.stderr)
        return 1
    torch.set_num_threads(1)  # the CPU's part takes equally long each time
    same = True
    for name in options.loop:
        steps = options.steps or STEPS[name]
        if options.pairs:
            measured = measure_pairs(name, steps, options.pairs)
            same = same and measured["same_results"]
            print(json.dumps(measured), flush=True)
        else:
            print(result_of(name, options.fixed, steps)[0])
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
