"""Trains a model that does without guidance in one evaluation what its teacher does with guidance in two.

    python distill.py SHARDS OUT.pt --start TEACHER.pt --guidance 4 --minutes 40 --cool 0.5 --share 256x256=0.8 --share other=0.2

The student learns the teacher's guided velocity at every noise level, so that it can be asked for any number of steps and go on from any picture. Half of the
batches are pictures with noise on them, the others are where its own average comes to on its way from noise, in a random number of steps: with guidance it
leaves the pictures that it was trained on. An empty caption is not guided. Method: C. Meng et al., "On distillation of guided diffusion models" (2023),
its first stage, for one guidance.
"""

import random

import torch

import tokens
from sampling import sigmas, token_batch
from train import Run, levels, load, options


def main():
    parser = options(__doc__)
    parser.add_argument("--guidance", type=float, default=4.0)
    parser.add_argument("--own", type=float, default=0.5, help="share of the batches that are on the student's own way")
    parser.add_argument("--least-steps", type=int, default=6, help="of the student's own way from noise to picture")
    parser.add_argument("--most-steps", type=int, default=12)
    arguments = parser.parse_args()
    run = Run(arguments)
    teacher, _ = load(arguments.start)
    teacher.eval().requires_grad_(False).to(run.device)
    empty = tokens.tokens("")
    blank, _ = token_batch([empty], run.device)
    chance = random.Random(arguments.seed + run.step)

    def own_way(x, text, lengths):
        """Where the student's average comes to from noise x, and the noise level there."""
        dit = run.quickest(run.average["dit"], x, text.shape[1])
        schedule = sigmas(chance.randint(arguments.least_steps, arguments.most_steps))
        index = chance.randrange(len(schedule) - 1)
        for here, following in zip(schedule[:index], schedule[1 : index + 1]):
            time = torch.full((len(x),), 1000 * (1 - here), device=x.device)
            x = x + (here - following) * dit(x, time, text, lengths).float()
        return x, torch.full((len(x),), schedule[index], device=x.device)

    def loss_of(picture, ids, lengths, _shown):
        noise = torch.randn_like(picture)
        with run.precise(), torch.no_grad():
            if chance.random() < arguments.own:
                x, sigma = own_way(noise, run.average["text"](ids), lengths)
            else:
                sigma = levels(len(picture), picture.shape[2] * picture.shape[3] // 4, run.device)
                x = torch.lerp(picture, noise, sigma[:, None, None, None])
            guided = run.quickest(teacher["dit"], x, ids.shape[1])(x, 1000 * (1 - sigma), teacher["text"](ids), lengths).float()
            plain_lengths = torch.full_like(lengths, len(empty))
            plain_text = teacher["text"](blank.expand(len(ids), -1))
            plain = run.quickest(teacher["dit"], x, tokens.PADDING)(x, 1000 * (1 - sigma), plain_text, plain_lengths).float()
            guidance = torch.where(lengths == len(empty), 1.0, arguments.guidance)[:, None, None, None]
            target = plain + guidance * (guided - plain)
        with run.precise():
            velocity = run.quickest(run.model["dit"], x, ids.shape[1])(x, 1000 * (1 - sigma), run.model["text"](ids), lengths)
        return (velocity.float() - target).pow(2).mean()

    run.go(loss_of)


if __name__ == "__main__":
    main()
