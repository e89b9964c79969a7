"""Muon for matrices and kernels, AdamW for the rest: about half the steps of AdamW alone on these small models.

Source of the method: K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024): the momentum of each matrix is
replaced by its nearest orthogonal matrix, found by Newton-Schulz iterations. The step is scaled to the size an Adam step would have
(0.2 * sqrt(larger side), J. Liu et al., "Muon is scalable for LLM training", 2025).
"""

import torch


def orthogonal(matrix: torch.Tensor, iterations: int = 5, kind: torch.dtype = torch.float32) -> torch.Tensor:
    """The orthogonal factor of matrices [..., rows, columns], to within the quintic iteration's tolerance (singular values 0.7..1.2).

    BF16 is precise enough for it, and faster where the machine multiplies it natively."""
    a, b, c = 3.4445, -4.7750, 2.0315
    turned = matrix.shape[-2] > matrix.shape[-1]
    x = matrix.mT if turned else matrix
    x = (x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)).to(kind)
    for _ in range(iterations):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if turned else x).to(matrix.dtype)


class Muon(torch.optim.Optimizer):
    """Steps matrices [rows, columns] and kernels [out, in, 3, 3] (as [out, in * 9]); matrices of one shape go through the iteration together."""

    def __init__(self, parameters, lr: float, momentum: float = 0.95, decay: float = 0.0, iterations: int = 5, split=None, kind=torch.float32):
        super().__init__(parameters, dict(lr=lr, momentum=momentum, decay=decay, iterations=iterations))
        self.kind = kind
        self.split = split or {}  # id of a parameter made of several matrices one below the other, to their number

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = {}
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(state["momentum"], group["momentum"])
                for part in update.flatten(1).chunk(self.split.get(id(parameter), 1)):
                    by_shape.setdefault(part.shape, []).append((parameter, part))
            steps = {}
            for shape, entries in by_shape.items():
                found = orthogonal(torch.stack([part for _, part in entries]), group["iterations"], self.kind)
                for (parameter, _), step in zip(entries, found * (0.2 * max(shape) ** 0.5)):
                    steps.setdefault(parameter, []).append(step)
            for parameter, parts in steps.items():
                # Not through a flattened view: of a kernel that lies channels last that would be a copy.
                if group["decay"]:
                    parameter.mul_(1 - group["lr"] * group["decay"])
                parameter.add_(torch.cat(parts).reshape(parameter.shape), alpha=-group["lr"])


def kernels_and_rest(parameters):
    """Kernels of convolutions that Muon steps, and the other parameters, of small ends among them, for Adam."""
    parameters = list(parameters)
    kernels = [p for p in parameters if p.ndim == 4 and min(p.shape[:2]) > 3]
    return kernels, [p for p in parameters if not any(p is k for k in kernels)]


def schedule(step: int, steps: int, warm: int, cool: float = 0.5) -> float:
    """Learning rate factor: a short ramp, flat, then down to nothing over the last `cool` part of the run."""
    rise = min(1.0, (step + 1) / warm)
    fall = min(1.0, (steps - step) / max(1.0, steps * cool))
    return rise * fall
