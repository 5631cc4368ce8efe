import Serq.Papers.KongFuel
/-!
# Smallest Volume First: every burst is served

What is still to be served, weighed with the peaks, falls with every step, admissions do not change it, and
while anything is left somebody is served: when nobody runs, the pool is free and the next request fits. So
every path comes to its end, and what the claim says of an end is said of every path.
-/

namespace Serq.Papers.KongSvf

open KongMath

variable {q : Requests} {m : Machine} {n : Nat}

/-- Between events, when nobody is served, everybody has ended. -/
theorem Between.ended (h : Between q n m) (hj : m.jobs = []) :
    ∀ i, i < m.sess.size → (m.at_ i).status = .ended := by
  have hq : que m = [] := by
    rcases h.settled.blocked with hb | hb
    · exact hb
    · obtain ⟨st, hpool, _, hu, _⟩ := h.struct.pool
      rw [pool_of hpool, hu] at hb
      simp [taken, h.settled.ready, hj, sumBy] at hb
  intro i hi
  rcases h.home i hi with g | g | g | ⟨j, g, _⟩ | g
  · exact g
  · rw [h.settled.ready] at g; simp at g
  · rw [hq] at g; simp at g
  · rw [hj] at g; simp at g
  · exact absurd g id

/-- An event takes something off what is still to be served, or everybody has ended. -/
theorem Between.progress (h : Between q n m) :
    (∀ i, i < m.sess.size → (m.at_ i).status = .ended) ∨
      owed q (Serq.step deployment m) < owed q m := by
  cases hj : m.jobs with
  | nil => exact Or.inl (h.ended hj)
  | cons j js =>
    right
    rcases h.engine with ⟨k, hi, hb⟩ | ⟨_, hn⟩
    · have hn : nextEvent m = some (m.now + 1, k, .iterEnd) := by
        simp [nextEvent, pendingIter, pendingArrival, pendingDue, hi, h.struct.dues, h.struct.arrival,
          earlier]
      have hpos : m.jobs.length ≤ sumBy (fun j => q.peak j.owner) m.jobs := by
        refine length_le_sumBy fun x hx => ?_
        have := (h.struct.small _ (h.struct.jobs x hx).1.lt).2
        unfold Requests.peak
        omega
      rw [hj, List.length_cons, ← hj] at hpos
      unfold Serq.step
      simp only [hn]
      generalize hM : handle deployment (m.now + 1) .iterEnd m = M
      obtain ⟨e1, e2, _, _, _, _, e7, _⟩ := h.struct.endIteration h.settled.ready hb rfl
        h.settled.blocked hM.symm
      obtain ⟨s1, s2, _⟩ := e1.settle instantFuel M
      have hc : (settle deployment instantFuel M).clock = M.clock :=
        (same_settle deployment instantFuel M).clock
      have hsi : (settle deployment instantFuel M).clock.iterEnd = none := by rw [hc]; exact e2
      have heq : afterEvent deployment M =
          startIteration deployment (settle deployment instantFuel M) := by
        unfold afterEvent
        simp only [hsi, pendingNow, nothing_pending s1 hsi, Bool.false_eq_true, if_false]
      have hs : owed q (startIteration deployment (settle deployment instantFuel M)) =
          owed q (settle deployment instantFuel M) := by
        rcases start_cases s1 hsi with ⟨_, h2⟩ | ⟨pl, ne, last, it, se, h1, _⟩
        · rw [h2]
        · rw [h1]; rfl
      rw [heq, hs, s2.owed]
      omega
    · rw [hn] at hj
      simp at hj

/-- Every path of the family comes to an end: every burst is served. -/
theorem every_path_ends {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w) :
    ∃ m, Reach Claims.KongSvf.deployment w Claims.KongSvf.prog m ∧
      ∀ i, i < m.sess.size → (m.at_ i).status = .ended := by
  have key : ∀ k m, Reach deployment w prog m → owed (requestsOf w) m ≤ k →
      ∃ m', Reach deployment w prog m' ∧ ∀ i, i < m'.sess.size → (m'.at_ i).status = .ended := by
    intro k
    induction k with
    | zero =>
      intro m hm hk
      rcases (between_reach hw hm (noFuelOut w hw m hm)).progress with h | h
      · exact ⟨m, hm, h⟩
      · omega
    | succ k ih =>
      intro m hm hk
      rcases (between_reach hw hm (noFuelOut w hw m hm)).progress with h | h
      · exact ⟨m, hm, h⟩
      · exact ih _ hm.step (by omega)
  exact key _ _ .start (Nat.le_refl _)

/-- Theorem 3.2 of every burst: it is served to its end, and then the total completion time is at most
57 500 / 17 500 times that of any schedule of the same requests that fits into the memory. -/
theorem every_burst_competitive {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w) :
    ∃ m, Reach Claims.KongSvf.deployment w Claims.KongSvf.prog m ∧
      (∀ i, i < m.sess.size → (m.at_ i).status = .ended) ∧
      ∀ x, Feasible 20000 (scheduleOf w x) →
        17500 * total m 2 ≤ 57500 * totalCompletion (scheduleOf w x) := by
  obtain ⟨m, hm, hend⟩ := every_path_ends hw
  exact ⟨m, hm, hend, fun x hx => competitive_ratio hw hm (noFuelOut w hw m hm) hend x hx⟩

end Serq.Papers.KongSvf
