"""Trains a model of few steps on until its pictures hold what their captions say, as much of it as drawings do.

    python reward.py SHARDS OUT.pt --start FEW.pt --teacher TEACHER.pt --ranges RANGES.pt --minutes 12 --cool 0.5 --share 256x256=1 --rate 0.15

A picture is made from noise; how far its contents lie outside the bounds that ranges.py learnt for its caption (no sun where one was asked for, or two; no
lake) is the penalty, and its gradient, brought to `--force`, is added to the pull back to the velocity of FEW.pt in some of the steps that led there, so that
the student goes about so far from it. As if these steps alone had been moved: what is where is settled in the first ones, where no loss on single steps sees it.
Source of the idea: X. Wu et al., "Deep reward supervisions for tuning text-to-image diffusion models" (2024), whose reward is a network's taste; here it is
what a drawing with the caption has.
"""

import pathlib
import random

import torch

from adversarial import direction, pull
from ranges import Contents, load_ranges
from sampling import sigmas
from train import Means, Run, load, options
from translator import load_translator

COLUMNS = ("deviations outside", "share of the contents", "away")


def main():
    parser = options(__doc__)
    parser.add_argument("--teacher", type=pathlib.Path, required=True, help="a model trained on pictures with noise and to name their parts")
    parser.add_argument("--ranges", type=pathlib.Path, required=True)
    parser.add_argument("--force", type=float, default=0.3, help="on velocities, root mean square")
    parser.add_argument("--moved", type=int, default=2, help="steps of the first half of a picture's way that are moved")
    parser.add_argument("--translator", type=pathlib.Path, help="of translator.py, where the student's latents are not the teacher's")
    parser.add_argument("--least-steps", type=int, default=5, help="of the student's way from noise to picture")
    parser.add_argument("--most-steps", type=int, default=9)
    arguments = parser.parse_args()
    run = Run(arguments, new_words=False)
    anchor = load(arguments.start)[0].eval().requires_grad_(False).to(run.device)
    contents, ranges = Contents(arguments.teacher).to(run.device), load_ranges(arguments.ranges).to(run.device)
    translator = load_translator(arguments.translator).to(run.device) if arguments.translator else torch.nn.Identity()
    chance = random.Random(arguments.seed + run.step)
    means = Means(run, "reward", COLUMNS)

    def loss_of(picture, ids, lengths, _shown):
        levels = sigmas(chance.randint(arguments.least_steps, arguments.most_steps))
        x, way = torch.randn_like(picture), []

        def velocity_of(model, x, level: float):
            time = torch.full((len(x),), 1000 * (1 - level), device=run.device)
            with run.precise():
                return run.quickest(model["dit"], x, ids.shape[1])(x, time, model["text"](ids), lengths).float()

        with torch.no_grad():
            for here, following in zip(levels, levels[1:]):
                way.append((x, here))
                x = x + (here - following) * velocity_of(run.model, x, here)
        x.requires_grad_()
        with run.precise():
            shown = contents(translator(x), run.quickest(contents.model["dit"], x, contents.blank.shape[1]))
        outside = ranges.outside(shown.float(), ids, lengths)
        penalty = outside.sum(1)
        (gradient,) = torch.autograd.grad(penalty.sum(), x)
        force = -arguments.force * penalty.detach().clamp(max=1)[:, None, None, None] * direction(gradient)

        loss = 0.0
        for before, here in chance.sample(way[: (len(way) + 1) // 2], arguments.moved):
            velocity = velocity_of(run.model, before, here)
            with torch.no_grad():
                away = velocity - velocity_of(anchor, before, here)
            loss = loss + pull(velocity, away, force) / arguments.moved
        means.add(penalty.mean(), (outside > 0).float().mean(), away.pow(2).mean().sqrt())
        return loss

    run.go(loss_of)


if __name__ == "__main__":
    main()
