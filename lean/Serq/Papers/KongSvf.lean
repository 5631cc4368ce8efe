import Serq.Claims.KongSvf
import Serq.Papers.KongState
/-!
# Smallest volume first (Kong, Qi, Ye, Zhou, arXiv 2606.22327): `queueing_bound`, open

The statement in words: when all requests of a burst have been served, 17 500 = M - P times the waiting
times is at most twice the volumes ahead of everybody in order of volume. It is true as stated: below is
the argument, every step of which has been checked on paper against the executable semantics.

## The argument

Write `n` for the number of waiting requests, `Q` for the list of their volumes, `R` for the sum over the
admitted requests of peak times steps left, `T0` for the total of the outputs observed, and

    X = total response + Σ admitted (now + steps left) + Σ waiting (now + output)
    Y = n * R + 2 * ahead Q

`X` is what the total response will be if everybody who waits were admitted now. The potential is
`17501 * X + Y ≤ 17501 * T0 + 2 * ahead (all volumes)`, and `T0 ≤ X`. Nothing is said about single
requests and nothing about the order of those admitted: `ahead` is a function of the values.

1. Arrival: before the first admission all requests wait; `X = T0` and `Y = 2 * ahead (all volumes)`.
2. Admission of the selected request, one of least volume: `X` stays, `Y` does not grow
   (`KongMath.ahead_cons`, `KongMath.peak_le_volume`, `KongMath.admission_move`).
3. A run begins, a run ends, a hold is released, a response is noted: `X` and `Y` stay.
4. A step: `X` grows by `n`, `R` falls by the peaks of the running requests (`KongMath.step_move`). When
   somebody waits those peaks are at least 17501, because the selected request did not fit
   (`used + peak > 20000`, `peak ≤ 2500`), and after an instant has settled the pool's `used` is the sum
   of the running requests' peaks.
5. At the end nobody waits and nobody is admitted: `X` is the total response, `Y = 0`.

## The lemmas, in order

Mathematics (`KongMath`, all proved): `ahead_perm`, `ahead_cons`, `peak_le_volume`, `admission_move`,
`step_move`, `sumOf_le_prefixTotalOf` (which is half of `queueing_bound_no_truncation`).

The executable semantics (`lists` = the ready sessions, the pool's queue, the jobs; all sums run over these
lists, so no session that has ended needs to be known):

* `Struct e m`: the pools are one pool without cached entries, `used = e + Σ ready peak + Σ jobs peak` and
  at most 20000 (`e` is what a session in hand still holds); every ready session runs its body or has run
  it, every queued one stands before its hold, every job decodes; the lists have no session twice;
  nothing else is pending. Medium.
* `selected_least : selected D m 0 0 = some i → i ∈ queue m ∧ ∀ k ∈ queue m, vol i ≤ vol k`. Easy.
* `admit_eq`, `finish_eq`, `body_eq`, `arrive_eq`: what one command does, as an equation. Easy, tedious.
* `Struct.admitHeads`, `Struct.exec`, `Struct.drain`, `Struct.settle` with `X` equal and `Y` not larger.
  Medium.
* `settled : ready = [] ∧ (queue = [] ∨ 17501 ≤ Σ jobs peak)` unless fuel has run out. Easy.
* `batch_eq`: an iteration's batch is one token for every job (`buildBatch_eq_fill`, there). Easy.
* `end_eq`: the end of an iteration wakes those with one step left and takes one step from the others.
  Medium.
* the induction over `Reach`. Easy.
-/
