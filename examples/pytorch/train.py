#!/usr/bin/env python3
"""A small PyTorch training loop with two habits that cost time.

- loss.item() in every step waits for the GPU, though the value is only printed later;
- the same batch is moved to the GPU in every step.

--fixed: the losses stay on the GPU until they are printed, and the batch is moved once. Prints the same.
"""
import argparse
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts: reproducible matrix products

import torch  # noqa: E402


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixed", action="store_true", help="the same work with its problems corrected by hand")
    parser.add_argument("--steps", type=int, default=1500)
    return parser.parse_args()


def make_deterministic():
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = False


def make_model():
    layers = []
    for width_in, width_out in ((512, 1024), (1024, 1024), (1024, 1024), (1024, 10)):
        layers += [torch.nn.Linear(width_in, width_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def augment(step):
    """Work of the CPU in every step: which learning rate, and a little bookkeeping."""
    total = 0
    for i in range(20000):
        total = (total * 31 + i + step) % 1000003
    return 0.01 + 1e-8 * (total % 7)


def train(steps, fixed, device):
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(256, 512)
    labels = torch.randint(0, 10, (256,))
    if fixed:
        batch_on_device, labels_on_device = batch.to(device), labels.to(device)
    losses = []
    for step in range(steps):
        if not fixed:
            batch_on_device, labels_on_device = batch.to(device), labels.to(device)
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(model(batch_on_device), labels_on_device)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach() if fixed else loss.item())
        for group in optimizer.param_groups:
            group["lr"] = augment(step)
    if fixed:
        losses = torch.stack(losses).tolist()
    return model, losses


def main():
    options = parse_options()
    if not torch.cuda.is_available():
        print("train.py: PyTorch sees no GPU", file=sys.stderr)
        return 1
    make_deterministic()
    model, losses = train(options.steps, options.fixed, torch.device("cuda"))
    for step in range(0, options.steps, max(1, options.steps // 10)):
        print(f"step {step}: loss {losses[step]:.9g}")
    total = sum(parameter.double().abs().sum().item() for parameter in model.parameters())
    print(f"train: {options.steps} steps, last loss {losses[-1]:.9g}, sum of parameters {total:.9g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
