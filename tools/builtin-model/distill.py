"""Trains a model that paints in a few steps and without guidance to do in one step what its teacher does in several with guidance.

    python distill.py SHARDS OUT.pt --start TEACHER.pt --steps 6 --minutes 20 --share 256x256=0.8 --share other=0.2

The student sees what it will see when it paints: its own way from noise through a random number of the schedule's steps (or, for half of the batches, a
picture with that step's noise). The teacher goes from there to the next level in `--inner` smaller steps with guidance; the student learns the straight
line between the two ends. An empty caption is not guided. Method: T. Salimans and J. Ho, "Progressive distillation for fast sampling of diffusion models"
(2022), in one stage; C. Meng et al., "On distillation of guided diffusion models" (2023).
"""

import random

import torch

import tokens
from sampling import sigmas
from train import Run, load, options


def main():
    parser = options(__doc__)
    parser.add_argument("--steps", type=int, default=6, help="of the student's schedule")
    parser.add_argument("--inner", type=int, default=4, help="steps of the teacher for one of the student")
    parser.add_argument("--guidance", type=float, default=3.0)
    arguments = parser.parse_args()
    run = Run(arguments)
    teacher, _ = load(arguments.start)
    teacher.eval().requires_grad_(False).to(run.device)
    schedule = sigmas(arguments.steps)
    empty = tokens.tokens("")
    blank = torch.tensor(empty + [0] * (tokens.PADDING - len(empty)), device=run.device)
    chance = random.Random(arguments.seed + run.step)

    def ahead(x, now: float, following: float, text, lengths, without, without_lengths, guidance):
        """The teacher's way from one level to the next."""
        for n in range(arguments.inner):
            here, there = (now + (following - now) * (n + k) / arguments.inner for k in (0, 1))
            time = torch.full((len(x),), 1000 * (1 - here), device=x.device)
            guided = teacher["dit"](x, time, text, lengths).float()
            plain = teacher["dit"](x, time, without, without_lengths).float()
            x = x + (here - there) * (plain + guidance * (guided - plain))
        return x

    def loss_of(picture, ids, lengths):
        index = chance.randrange(arguments.steps)
        now, following = schedule[index], schedule[index + 1]
        noise = torch.randn_like(picture)
        guidance = torch.where(lengths == len(empty), 1.0, arguments.guidance)[:, None, None, None]
        dit = run.dit(picture, ids.shape[1])
        with run.precise(), torch.no_grad():
            x = noise
            if chance.random() < 0.5:
                x = torch.lerp(picture, noise, now)
            else:
                text = run.average["text"](ids)
                for here, there in zip(schedule[:index], schedule[1 : index + 1]):
                    time = torch.full((len(x),), 1000 * (1 - here), device=x.device)
                    x = x + (here - there) * run.average["dit"](x, time, text, lengths).float()
            without = teacher["text"](blank.expand(len(ids), -1))
            without_lengths = torch.full_like(lengths, len(empty))
            end = ahead(x, now, following, teacher["text"](ids), lengths, without, without_lengths, guidance)
            target = (end - x) / (now - following)
        time = torch.full((len(x),), 1000 * (1 - now), device=x.device)
        with run.precise():
            velocity = dit(x, time, run.model["text"](ids), lengths)
        return (velocity.float() - target).pow(2).mean()

    run.go(loss_of)


if __name__ == "__main__":
    main()
