"""Trains a model of few steps on until a network can hardly tell what it makes from the drawings.

    python adversarial.py SHARDS OUT.pt --start FEW.pt --backbone TEACHER.pt --minutes 60 --cool 0.5 --share 256x256=0.85 --share other=0.15 --rate 0.1

A distilled model shows an average wherever it is not sure: what is small blurs, a sun is left out. Here each of its steps from noise to picture is to end
where a drawing with that caption and that much noise could be, also when it is lengthened towards the picture (`--ahead`), so that early steps already
decide. The discriminator is a frozen model (TEACHER.pt) with small heads on the states of some of its layers; they learn to tell the student's steps from
drawings, and a drawing's own caption from another's. The gradients of both, brought to `--force` and `--match`, are added to the pull back to the velocity of
FEW.pt, so that the student goes about so far from it. OUT-discriminator.csv holds its losses. Methods: A. Sauer et al., "Fast high-resolution image synthesis
with latent adversarial diffusion distillation" (2024), heads on a frozen diffusion model; Z. Xiao et al., "Tackling the generative learning trilemma with
denoising diffusion GANs" (2022), steps against noised data; S. Reed et al., "Generative adversarial text to image synthesis" (2016), captions that do not
match.
"""

import pathlib
import random

import torch
import torch._functorch.config
import torch.nn.functional as F
from torch import nn

import tokens
from model import PATCH
from sampling import sigmas
from train import Means, Run, load, options

TAPS = (1, 3, 5)  # layers whose states are judged
TRAJECTORIES = 8  # batches that are on their way from noise at one time
LEVELS = (0.1, 0.95)  # least and most noise on what is judged: with none the encoder's own traces tell a drawing
COLUMNS = ("drawing", "made", "own caption", "another caption", "away")  # losses of the discriminator, and how far velocities went from FEW.pt's
WARM = 60  # steps over which the force grows, while the heads learn


class Head(nn.Module):
    """Logits of one layer's states: of being a drawing for each patch with its neighbours and for the whole picture, and of the caption being its own."""

    def __init__(self, width: int, inner: int = 128):
        super().__init__()
        self.enter = nn.Sequential(nn.LayerNorm(width, elementwise_affine=False), nn.Linear(width, inner), nn.SiLU())
        self.near = nn.Sequential(nn.Conv2d(inner, inner, 3, padding=1), nn.SiLU())
        # Between patches that lie apart: a second sun is wrong although each looks right.
        self.far_norm, self.far = nn.LayerNorm(inner), nn.MultiheadAttention(inner, 4, batch_first=True)
        nn.init.zeros_(self.far.out_proj.weight)
        self.patch = nn.Linear(inner, 1)
        self.whole, self.match = (nn.Sequential(nn.Linear(2 * inner, inner), nn.SiLU(), nn.Linear(inner, 1)) for _ in range(2))

    def forward(self, states, rows: int, columns: int):
        grid = self.near(self.enter(states.float()).transpose(1, 2).unflatten(2, (rows, columns)))
        patches = grid.flatten(2).transpose(1, 2)
        normed = self.far_norm(patches)
        patches = patches + self.far(normed, normed, normed, need_weights=False)[0]
        pooled = torch.cat([patches.mean(1), patches.amax(1)], dim=1)
        return self.patch(patches)[..., 0], self.whole(pooled), self.match(pooled)


class Discriminator(nn.Module):
    """Judges pictures with noise and their captions, and learns to. `translate` brings latents to those of the backbone."""

    def __init__(self, backbone: nn.ModuleDict, run: Run, translate=nn.Identity()):
        super().__init__()
        self.heads = nn.ModuleList(Head(backbone["dit"].shape.width) for _ in TAPS)
        self.frozen = (backbone, run, translate)  # in a tuple, so that it is no part of what is trained and stored
        self.to(run.device)
        self.optimiser = torch.optim.Adam(self.parameters(), lr=1e-3, betas=(0.0, 0.99), fused=True)
        run.add_to_checkpoint("discriminator", self)
        run.add_to_checkpoint("discriminator's optimiser", self.optimiser)

    def states(self, x, noise: float, ids, lengths, others=()):
        """States of layers for latents x, which have this level of noise, with more noise added; and for the same with each of `others`, other captions."""
        backbone, run, translate = self.frozen
        level = levels_above(noise, len(x), run.device)
        with run.precise():
            noised = noisier(translate(x), noise, level)
            found = [
                run.quickest(backbone["dit"], x, words.shape[1])(noised, 1000 * (1 - level.flatten()), backbone["text"](words), count, None, TAPS)
                for words, count in ((ids, lengths), *others)
            ]
        return found if others else found[0]

    def forward(self, states, latents):
        """Logits [batch, any number], high for drawings, and [batch, 1], high where the caption is the picture's own."""
        rows, columns = (edge // PATCH for edge in latents.shape[2:])
        patch, whole, match = zip(*(head(state, rows, columns) for head, state in zip(self.heads, states)))
        # As many whole logits as patches, so that they count alike.
        return torch.cat([*patch, *(logit.expand(-1, rows * columns) for logit in whole)], dim=1), torch.stack(match).mean(0)

    def forces(self, after, noise: float, ids, lengths):
        """Where latents `after`, which have this level of noise and a gradient, should go: towards drawings, with a root mean square of 1; towards their
        captions, as far as they miss them; and the states that were judged."""
        states = self.states(after, noise, ids, lengths)
        true, match = self(states, after)
        (drawn,) = torch.autograd.grad(true.mean(), after, retain_graph=True)
        (matched,) = torch.autograd.grad(match.mean(), after)
        missed = torch.sigmoid(-match.detach())[..., None, None]
        return direction(drawn), missed * direction(matched), [state.detach() for state in states]

    def learn(self, made, drawing, noise: float, ids, lengths) -> list[torch.Tensor]:
        """One step with the states of what was made and with drawings and their captions. Its losses, the first four of COLUMNS."""
        with torch.no_grad():
            order = torch.arange(len(ids), device=ids.device).roll(1)
            right, wrong = self.states(drawing, noise, ids, lengths, [(ids[order], lengths[order])])
        # No caption at all fits every picture.
        wrong = [state[lengths[order] > len(tokens.tokens(""))] for state in wrong]
        seen, _ = self(made, drawing)
        true, own = self(right, drawing)
        _, another = self(wrong, drawing)
        parts = [F.relu(1 - true).mean(), F.relu(1 + seen).mean(), F.softplus(-own).mean(), F.softplus(another).mean()]
        self.optimiser.zero_grad()
        sum(parts).backward()
        self.optimiser.step()
        return parts


class Trajectory:
    """A batch on its way from noise to picture."""

    def __init__(self, latents, ids, lengths, steps: int):
        self.x, self.ids, self.lengths = torch.randn_like(latents), ids, lengths
        self.levels, self.index = sigmas(steps), 0

    def ended(self) -> bool:
        return self.index == len(self.levels) - 1


def direction(gradient):
    """The gradient of each picture brought to a root mean square of 1."""
    return gradient / (gradient.pow(2).mean((1, 2, 3), keepdim=True).sqrt() + 1e-12)


def pull(velocity, away, force):
    """Half the mean square whose gradient takes velocities back by how far they are `away`, and on by `force`."""
    return (velocity - (velocity.detach() - away + force)).pow(2).mean() / 2


def noisier(x, here: float, level):
    """x of noise level `here` brought to `level` [batch, 1, 1, 1], which is no lower, as if it had been noised once."""
    scale = (1 - level) / (1 - here)
    return scale * x + (level**2 - (scale * here) ** 2).clamp(min=0).sqrt() * torch.randn_like(x)


def levels_above(least: float, count: int, device: str):
    """Noise levels [count, 1, 1, 1] to judge at, mostly near the least."""
    least = max(least, LEVELS[0])
    return least + max(LEVELS[1] - least, 0.0) * torch.rand(count, 1, 1, 1, device=device) ** 2


def main():
    parser = options(__doc__)
    parser.add_argument("--backbone", type=pathlib.Path, required=True, help="a model trained on pictures with noise, not a distilled one")
    parser.add_argument("--force", type=float, default=0.15, help="on velocities towards drawings, root mean square")
    parser.add_argument("--match", type=float, default=0.3, help="on velocities towards the caption, where it is missed altogether")
    parser.add_argument("--ahead", type=float, default=0.7, help="share of the noise left after a step that its lengthening takes away at most")
    parser.add_argument("--least-steps", type=int, default=6, help="of the student's way from noise to picture")
    parser.add_argument("--most-steps", type=int, default=10)
    arguments = parser.parse_args()
    torch._functorch.config.donated_buffer = False  # two gradients are taken of one forward pass
    run = Run(arguments)
    anchor, backbone = (load(path)[0].eval().requires_grad_(False).to(run.device) for path in (arguments.start, arguments.backbone))
    discriminator = Discriminator(backbone, run)
    chance = random.Random(arguments.seed + run.step)
    trajectories, means = [], Means(run, "discriminator", COLUMNS)

    def loss_of(picture, ids, lengths, _shown):
        trajectories[:] = [trajectory for trajectory in trajectories if not trajectory.ended()]
        if len(trajectories) < TRAJECTORIES:
            trajectories.append(Trajectory(picture, ids, lengths, chance.randint(arguments.least_steps, arguments.most_steps)))
        trajectory = chance.choice(trajectories)
        here, following = trajectory.levels[trajectory.index : trajectory.index + 2]
        velocity = run.velocity(run.model, trajectory.x, here, trajectory.ids, trajectory.lengths)
        with torch.no_grad():
            away = velocity - run.velocity(anchor, trajectory.x, here, trajectory.ids, trajectory.lengths)
        aim = following * (1 - arguments.ahead * chance.random())
        after = (trajectory.x + (here - aim) * velocity).detach().requires_grad_()
        trajectory.x, trajectory.index = trajectory.x + (here - following) * velocity.detach(), trajectory.index + 1

        drawn, matched, states = discriminator.forces(after, aim, trajectory.ids, trajectory.lengths)
        force = min(1.0, run.step / WARM) * (arguments.force * drawn + arguments.match * matched)
        parts = discriminator.learn(states, picture, aim, ids, lengths)
        means.add(*parts, away.pow(2).mean().sqrt())
        return pull(velocity, away, force)

    run.go(loss_of)


if __name__ == "__main__":
    main()
