"""Every causal claim with its limit. A limit is written here before the branches that it judges are looked at."""

from __future__ import annotations

from headwise.paper.causal import competition, cooperation
from headwise.paper.causal.claim import CausalClaim

CLAIMS = (
    CausalClaim(
        "noise-decides",
        "who leaves the first group is decided by noise: with the leaving head held, another one leaves",
        "change of the waiting time, as a share of it",
        f"another head takes group 2 up, and its waiting time since group 1 was learned changes by "
        f"{competition.SAME_WAIT} of it; the sham shows how far other batches alone move it",
        competition.SAME_WAIT,
        competition.judge_noise,
    ),
    CausalClaim(
        "symmetry-barrier",
        "symmetry is the barrier: tied heads stay on the plateau, and leave after being untied as log² of 1/σ predicts",
        "R² of the waiting time against log²(1/σ)",
        f"no head leaves in {competition.TIED_UNTIL - competition.TIED_FROM} tied steps, where the untied run leaves; "
        f"the waiting time rises with log²(1/σ) with R² {competition.STRAIGHT}",
        competition.STRAIGHT,
        competition.judge_symmetry,
    ),
    CausalClaim(
        "compensation-matters",
        "compensation matters: with the values of the heads that stay frozen, the offshoot costs more and takes longer",
        "rise of the excess loss after the offshoot, over that between run and sham",
        f"the loss rises by {cooperation.MORE_THAN_SHAM} times the difference between run and sham, and group 2 is "
        "taken up later than in the run",
        cooperation.MORE_THAN_SHAM,
        cooperation.judge_compensation,
    ),
    CausalClaim(
        "order-needs-importance",
        "order follows importance: with the norms of groups 2 and 3 exchanged on the plateau, the next head goes to 3",
        "group that the next head takes up",
        "the next head takes group 3 up, the sham's takes group 2",
        None,
        cooperation.judge_order,
    ),
    CausalClaim(
        "kept",
        "what is learned is kept: with the head of group 2 ablated, a fourth takes it up faster than it was learned",
        "time until another head takes group 2 up, over the time it took first",
        f"another head takes it up in {cooperation.FASTER} of the first time, in the sham none does",
        cooperation.FASTER,
        cooperation.judge_kept,
    ),
    CausalClaim(
        "late-start",
        "a head released late takes the next pattern not yet held, not the most important one",
        "group on which the released head ends",
        "the first group that the released head takes up is the first that no other head holds at its release",
        None,
        cooperation.judge_late,
    ),
    CausalClaim(
        "sparsity-is-free",
        "sparsity is free: with specialised heads clamped to their ideal patterns the excess loss falls",
        "gain in excess loss, over what training to step 4000 brings",
        f"the gain after {cooperation.CLAMPED_FOR} steps is {cooperation.HALF} of what training on brings, or, where "
        "that brings nothing, larger than the sham's",
        cooperation.HALF,
        cooperation.judge_sparsity,
    ),
)
"""In the order in which they are judged."""
