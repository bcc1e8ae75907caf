"""Waits that nobody needs, in a training step and in a function that the autograd engine calls on its own thread."""
import torch


class WaitsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        torch.cuda.synchronize()  # PLANTED: backward
        return gradient


def step(model, optimizer, x):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()  # PLANTED: step


def main():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 256, device="cuda")
    for i in range(60):
        step(model, optimizer, x)
        if i % 10 == 0:
            z = torch.ones(8, device="cuda", requires_grad=True)
            WaitsInBackward.apply(z).sum().backward()  # PLANTED: waiter


main()
