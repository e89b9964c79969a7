"""Trains a model of few steps on until its pictures hold what their captions say, as much of it as drawings do.

    python reward.py SHARDS OUT.pt --start FEW.pt --teacher TEACHER.pt --ranges RANGES.pt --minutes 12 --cool 0.5 --share 256x256=1 --rate 0.15

A picture is made from noise; how far its contents lie outside the bounds that ranges.py learnt for its caption (no sun where one was asked for, or two; no
lake) is the penalty, and its gradient, brought to `--force`, is added to the pull back to the velocity of FEW.pt in some of the steps that led there, so that
the student goes about so far from it. As if these steps alone had been moved: what is where is settled in the first ones, where no loss on single steps sees it.
With `--drawn` and `--match` the finished picture is also judged by a discriminator as adversarial.py has it, whose heads learn to tell it from SHARDS's drawings
and a drawing's own caption from another's; its gradients move all steps. Source of the idea: X. Wu et al., "Deep reward supervisions for tuning text-to-image
diffusion models" (2024), whose reward is a network's taste; here it is what a drawing with the caption has.
"""

import pathlib
import random

import torch
import torch._functorch.config

import adversarial
from adversarial import WARM, Discriminator, direction, pull
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
    parser.add_argument("--drawn", type=float, default=0.0, help="force on velocities towards drawings")
    parser.add_argument("--match", type=float, default=0.0, help="force on velocities towards the caption, where it is missed altogether")
    parser.add_argument("--moved", type=int, default=2, help="steps of the first half of a picture's way that are moved")
    parser.add_argument("--moved-late", type=int, default=1, help="steps of the second half that are moved, where a discriminator judges")
    parser.add_argument("--translator", type=pathlib.Path, help="of translator.py, where the student's latents are not the teacher's")
    parser.add_argument("--least-steps", type=int, default=5, help="of the student's way from noise to picture")
    parser.add_argument("--most-steps", type=int, default=9)
    arguments = parser.parse_args()
    torch._functorch.config.donated_buffer = False  # two gradients are taken of one forward pass
    run = Run(arguments, new_words=False)
    anchor = load(arguments.start)[0].eval().requires_grad_(False).to(run.device)
    contents, ranges = Contents(arguments.teacher).to(run.device), load_ranges(arguments.ranges).to(run.device)
    translator = load_translator(arguments.translator).to(run.device) if arguments.translator else torch.nn.Identity()
    discriminator = Discriminator(contents.model, run, translator) if arguments.drawn or arguments.match else None
    chance = random.Random(arguments.seed + run.step)
    means = Means(run, "reward", COLUMNS + adversarial.COLUMNS[:4] if discriminator else COLUMNS)

    def loss_of(picture, ids, lengths, _shown):
        levels = sigmas(chance.randint(arguments.least_steps, arguments.most_steps))
        x, way = torch.randn_like(picture), []

        with torch.no_grad():
            for here, following in zip(levels, levels[1:]):
                way.append((x, here))
                x = x + (here - following) * run.velocity(run.model, x, here, ids, lengths)
        x.requires_grad_()
        with run.precise():
            shown = contents(translator(x), run.quickest(contents.model["dit"], x, contents.blank.shape[1]))
        outside = ranges.outside(shown.float(), ids, lengths)
        penalty = outside.sum(1)
        (gradient,) = torch.autograd.grad(penalty.sum(), x)
        early = -arguments.force * penalty.detach().clamp(max=1)[:, None, None, None] * direction(gradient)
        late, parts = torch.zeros_like(early), []
        if discriminator:
            drawn, matched, states = discriminator.forces(x, 0.0, ids, lengths)
            late = min(1.0, run.step / WARM) * (arguments.drawn * drawn + arguments.match * matched)
            parts = discriminator.learn(states, picture, 0.0, ids, lengths)

        middle, loss = (len(way) + 1) // 2, 0.0
        moved = [(step, early + late) for step in chance.sample(way[:middle], arguments.moved)]
        if discriminator:
            moved += [(step, late) for step in chance.sample(way[middle:], arguments.moved_late)]
        for (before, here), force in moved:
            velocity = run.velocity(run.model, before, here, ids, lengths)
            with torch.no_grad():
                away = velocity - run.velocity(anchor, before, here, ids, lengths)
            loss = loss + pull(velocity, away, force) / len(moved)
        means.add(penalty.mean(), (outside > 0).float().mean(), away.pow(2).mean().sqrt(), *parts)
        return loss

    run.go(loss_of)


if __name__ == "__main__":
    main()
